//! The login: who comes, to which target, and how they are to speak.

use super::keys::{NOT_UNDERSTOOD, OWN_SEGMENT_BYTES, Parameters, Reply, TextInput, in_order, put};
use super::pdu::{Header, Pdu};
use super::words::*;

/// PDUs of one login.
const MOST_EXCHANGES: u32 = 32;
const MOST_NAME_BYTES: usize = 223;

const SECURITY: u8 = 0;
const OPERATIONAL: u8 = 1;
const FULL_FEATURE: u8 = 3;

/// What has been agreed on when a login is over.
#[derive(Debug)]
pub struct LoggedIn {
    pub parameters: Parameters,
    /// The session is for questions about targets only.
    pub discovery: bool,
    /// Initiator and session, as the initiator knows it.
    pub session: Vec<u8>,
    /// The initiator's number of the connection.
    pub connection: u16,
}

/// How far a login is; there is an answer in any case.
#[derive(Debug)]
pub enum LoginStep {
    Goes,
    Done(LoggedIn),
    Failed,
}

/// Whether a key can be one of a login.
#[must_use]
pub fn is_key(key: &str) -> bool {
    matches!(key, "InitiatorName" | "SessionType" | "TargetName" | "AuthMethod")
        || Parameters::default().agree(key, "") != Reply::Unknown
}

/// See the module's own page.
pub struct Login {
    exchanges: u32,
    text: TextInput,
    parameters: Parameters,
    initiator: Option<String>,
    session_kind: Option<String>,
    target_asked: Option<String>,
    isid: [u8; 6],
    connection: u16,
    stage: Option<u8>,
    said_target: bool,
    said_segment: bool,
    pub stat_sn: u32,
    pub cmd_sn: u32,
}

impl Login {
    #[must_use]
    pub fn new() -> Self {
        Login {
            exchanges: 0,
            text: TextInput::default(),
            parameters: Parameters::default(),
            initiator: None,
            session_kind: None,
            target_asked: None,
            isid: [0; 6],
            connection: 0,
            stage: None,
            said_target: false,
            said_segment: false,
            stat_sn: 1,
            cmd_sn: 0,
        }
    }

    /// Takes a PDU of a login; its answer goes to `out`. `target`: the one that there is. `window`: commands that may be under way. `handle`: of the new session.
    pub fn step(&mut self, pdu: &Pdu, target: &str, window: u32, handle: u16, out: &mut Vec<u8>) -> LoginStep {
        self.exchanges += 1;
        let (flags, header) = (pdu.header.flags(), &pdu.header);
        self.cmd_sn = header.u32_at(24);
        let (stage, next) = (flags >> 2 & 3, flags & 3);
        let (transit, goes_on) = (flags & TRANSIT != 0, flags & CONTINUE != 0);
        let mut text = Vec::new();
        let judged = self.judge(pdu, target, (stage, next), transit, goes_on, &mut text);
        let mut answer = Header::new(LOGIN_RESPONSE, 0, header.task_tag());
        answer.0[8..14].copy_from_slice(&header.0[8..14]);
        answer.put_u32(24, self.stat_sn);
        answer.put_u32(28, self.cmd_sn);
        answer.put_u32(32, self.cmd_sn.wrapping_add(window - 1));
        self.stat_sn = self.stat_sn.wrapping_add(1);
        match judged {
            Err(status) => {
                answer.0[36..38].copy_from_slice(&status.to_be_bytes());
                *out = answer.bytes(&[]);
                LoginStep::Failed
            }
            Ok(()) => {
                let transit = transit && !goes_on;
                answer.0[1] = stage << 2 | if transit { TRANSIT | next } else { 0 };
                let done = transit && next == FULL_FEATURE;
                if done {
                    answer.0[14..16].copy_from_slice(&handle.to_be_bytes());
                }
                *out = answer.bytes(&text);
                if done { LoginStep::Done(self.conclude()) } else { LoginStep::Goes }
            }
        }
    }

    fn conclude(&mut self) -> LoggedIn {
        let mut parameters = self.parameters.clone();
        parameters.settle();
        let mut session = self.isid.to_vec();
        session.extend_from_slice(self.initiator.as_deref().unwrap_or_default().as_bytes());
        LoggedIn { parameters, discovery: self.is_discovery(), session, connection: self.connection }
    }

    fn is_discovery(&self) -> bool {
        self.session_kind.as_deref() == Some("Discovery")
    }

    /// # Errors
    /// The status of the login's end.
    fn judge(
        &mut self,
        pdu: &Pdu,
        target: &str,
        (stage, next): (u8, u8),
        transit: bool,
        goes_on: bool,
        text: &mut Vec<u8>,
    ) -> Result<(), u16> {
        let header = &pdu.header;
        // Version 0 is the only one.
        if header.0[3] > 0 {
            return Err(LOGIN_UNSUPPORTED_VERSION);
        }
        let handle = u16::from_be_bytes([header.0[14], header.0[15]]);
        if handle != 0 {
            return Err(LOGIN_NO_SUCH_SESSION);
        }
        let first = self.stage.is_none();
        let goes_back = self.stage.is_some_and(|before| stage != before);
        let wrong_next =
            transit && !matches!((stage, next), (SECURITY, OPERATIONAL | FULL_FEATURE) | (OPERATIONAL, FULL_FEATURE));
        if self.exchanges > MOST_EXCHANGES
            || stage > OPERATIONAL
            || goes_back
            || wrong_next
            || transit && goes_on
            || pdu.has_additional
            || !first && self.isid[..] != header.0[8..14]
        {
            return Err(LOGIN_INVALID_REQUEST);
        }
        self.isid.copy_from_slice(&header.0[8..14]);
        self.connection = header.connection();
        self.stage = Some(if transit { next } else { stage });
        if !self.text.add(&pdu.data) {
            return Err(LOGIN_INITIATOR_ERROR);
        }
        if goes_on {
            return Ok(());
        }
        let mut pairs = self.text.take().ok_or(LOGIN_INITIATOR_ERROR)?;
        in_order(&mut pairs);
        for (key, value) in &pairs {
            self.take_pair(key, value, stage, text)?;
        }
        self.check_names(target)?;
        if !self.said_target && self.target_asked.is_some() {
            self.said_target = true;
            put(text, "TargetPortalGroupTag", "1");
        }
        if stage == OPERATIONAL && !self.said_segment {
            self.said_segment = true;
            put(text, "MaxRecvDataSegmentLength", &OWN_SEGMENT_BYTES.to_string());
        }
        Ok(())
    }

    fn take_pair(&mut self, key: &str, value: &str, stage: u8, text: &mut Vec<u8>) -> Result<(), u16> {
        let declared = match key {
            "InitiatorName" => Some(&mut self.initiator),
            "SessionType" => Some(&mut self.session_kind),
            "TargetName" => Some(&mut self.target_asked),
            _ => None,
        };
        if let Some(place) = declared {
            if value.is_empty() || value.len() > MOST_NAME_BYTES || place.as_deref().is_some_and(|said| said != value) {
                return Err(LOGIN_INITIATOR_ERROR);
            }
            *place = Some(value.to_owned());
            return Ok(());
        }
        if key == "AuthMethod" {
            if stage != SECURITY || !value.split(',').any(|method| method == "None") {
                return Err(LOGIN_AUTHENTICATION_FAILED);
            }
            put(text, key, "None");
            return Ok(());
        }
        match self.parameters.agree(key, value) {
            Reply::Nothing => Ok(()),
            Reply::Value(value) => {
                put(text, key, &value);
                Ok(())
            }
            Reply::Unknown => {
                put(text, key, NOT_UNDERSTOOD);
                Ok(())
            }
            Reply::Wrong => Err(LOGIN_INITIATOR_ERROR),
        }
    }

    fn check_names(&self, target: &str) -> Result<(), u16> {
        if self.initiator.is_none() {
            return Err(LOGIN_MISSING_PARAMETER);
        }
        match (self.session_kind.as_deref(), self.target_asked.as_deref()) {
            (Some("Discovery"), _) => Ok(()),
            (None | Some("Normal"), None) => Err(LOGIN_MISSING_PARAMETER),
            (None | Some("Normal"), Some(asked)) if asked == target => Ok(()),
            (None | Some("Normal"), Some(_)) => Err(LOGIN_TARGET_NOT_FOUND),
            _ => Err(LOGIN_SESSION_TYPE),
        }
    }
}
