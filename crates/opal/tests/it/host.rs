//! A host: it writes packets by itself, and reads answers byte by byte, so that a mistake of the crate is not made twice.

use ssdlab_core::Nanos;
use ssdlab_opal::{Erased, Geometry, Identity, Tper};
pub use ssdlab_testkit::opal::*;

pub const GEOMETRY: Geometry = Geometry { sectors: 1 << 21, sector_bytes: 512, alignment_sectors: 8 };
/// A drive with a host.
pub struct Host {
    pub tper: Tper,
    pub now: Nanos,
    /// What was erased, in order.
    pub erased: Vec<Erased>,
    /// How long an erase takes.
    pub erase: Nanos,
    session: (u32, u32),
}

pub fn identity() -> Identity {
    Identity { msid: "MSID-OF-THE-DRIVE-0000000000001".into(), psid: "PSID-ON-THE-LABEL-0000000000001".into() }
}

impl Host {
    pub fn new() -> Host {
        Host { tper: Tper::new(identity(), GEOMETRY), now: 0, erased: Vec::new(), erase: 0, session: (0, 0) }
    }

    /// Sends tokens and returns those of the answer; an empty answer if there is none.
    pub fn exchange(&mut self, numbers: (u32, u32), tokens: &[u8]) -> Vec<u8> {
        let erased = self.tper.send(self.now, 1, COM_ID, &packet(numbers.0, numbers.1, tokens)).expect("it is taken");
        if erased != Erased::Nothing {
            self.erased.push(erased);
            self.tper.erased(self.now + self.erase);
            self.now += self.erase;
        }
        self.fetch(numbers)
    }

    pub fn fetch(&mut self, numbers: (u32, u32)) -> Vec<u8> {
        let answer = self.tper.receive(self.now, 1, COM_ID, 65_536).expect("it is given");
        let u32_at = |at: usize| u32::from_be_bytes(answer[at..at + 4].try_into().unwrap());
        if u32_at(16) == 0 {
            return Vec::new();
        }
        assert_eq!(answer.len(), 20 + u32_at(16) as usize);
        assert_eq!((u32_at(20), u32_at(24)), numbers);
        let tokens = u32_at(52) as usize;
        assert!(56 + tokens <= answer.len());
        answer[56..56 + tokens].to_vec()
    }

    /// Those of the session.
    pub fn numbers(&self) -> (u32, u32) {
        self.session
    }

    /// Begins a session; the status if that is refused.
    pub fn begin_as(&mut self, sp: u64, authority: Option<(u64, &[u8])>) -> Result<(), u8> {
        self.begin_with(sp, authority, 1)
    }

    pub fn begin_with(&mut self, sp: u64, authority: Option<(u64, &[u8])>, writes: u64) -> Result<(), u8> {
        let mut parameters = vec![n(0x41), u(sp), n(writes)];
        if let Some((authority, pin)) = authority {
            parameters.push(name(n(0), b(pin)));
            parameters.push(name(n(3), u(authority)));
        }
        let answer = self.exchange((0, 0), &call(0xff, 0xff02, &parameters));
        let status = status(&answer);
        if status != 0 {
            return Err(status);
        }
        // F8, the session manager, SyncSession, F0, 81 41, 82 xx xx.
        assert_eq!(answer[..19], [vec![0xf8], u(0xff), u(0xff03)].concat());
        assert_eq!(answer[19..22], [0xf0, 0x81, 0x41]);
        assert_eq!(answer[22], 0x82);
        self.session = (u32::from(u16::from_be_bytes([answer[23], answer[24]])), 0x41);
        Ok(())
    }

    pub fn end(&mut self) {
        let session = self.session;
        assert_eq!(self.exchange(session, &[0xfa]), [0xfa]);
        self.session = (0, 0);
    }

    /// Says something in the session.
    pub fn say(&mut self, tokens: &[u8]) -> Vec<u8> {
        let session = self.session;
        self.exchange(session, tokens)
    }

    /// Invokes a method: its results as tokens, without the outer list; or its status.
    pub fn invoke(&mut self, object: u64, method: u64, parameters: &[Vec<u8>]) -> Result<Vec<u8>, u8> {
        let answer = self.say(&call(object, method, parameters));
        match status(&answer) {
            0 => Ok(answer[1..answer.len() - 7].to_vec()),
            status => Err(status),
        }
    }

    pub fn set(&mut self, object: u64, columns: &[(u64, Vec<u8>)]) -> Result<(), u8> {
        self.invoke(object, SET, &[values(columns)]).map(|results| assert!(results.is_empty()))
    }

    /// The row of an object, columns from and to, as tokens.
    pub fn get(&mut self, object: u64, from: u64, to: u64) -> Result<Vec<u8>, u8> {
        self.invoke(object, GET, &[list(&[name(n(3), n(from)), name(n(4), n(to))])])
    }

    /// A column that is a number.
    pub fn number(&mut self, object: u64, column: u64) -> u64 {
        let row = self.get(object, column, column).expect("it may be read");
        assert_eq!((row[0], row[1], row[2]), (0xf0, 0xf2, column as u8));
        match row[3] {
            0..=0x3f => u64::from(row[3]),
            atom => row[4..4 + usize::from(atom & 0xf)].iter().fold(0, |number, &byte| number << 8 | u64::from(byte)),
        }
    }

    pub fn msid(&mut self) -> Vec<u8> {
        self.begin_as(ADMIN_SP, None).unwrap();
        let row = self.get(PIN_MSID, 3, 3).unwrap();
        self.end();
        assert_eq!(row[..4], [0xf0, 0xf2, 3, 0xd0], "a medium atom");
        row[5..5 + usize::from(row[4])].to_vec()
    }

    /// Takes the drive into possession: the SID has a PIN of its own, the Locking SP is activated.
    pub fn take_ownership(&mut self, pin: &[u8]) {
        let msid = self.msid();
        self.begin_as(ADMIN_SP, Some((SID, &msid))).unwrap();
        self.set(PIN_SID, &[(3, b(pin))]).unwrap();
        self.invoke(LOCKING_SP, ACTIVATE, &[]).unwrap();
        self.end();
    }

    /// In a session of somebody.
    pub fn with<T>(&mut self, sp: u64, authority: u64, pin: &[u8], doing: impl FnOnce(&mut Host) -> T) -> T {
        self.begin_as(sp, Some((authority, pin))).expect("a session");
        let result = doing(self);
        self.end();
        result
    }

    /// The power goes and comes back, and all that is left is what was kept.
    pub fn cycle_power(&mut self, kept: &mut std::collections::BTreeMap<u32, Vec<u8>>) {
        for (number, page) in self.tper.take_changed() {
            match page {
                Some(bytes) => drop(kept.insert(number, bytes)),
                None => drop(kept.remove(&number)),
            }
        }
        self.tper = Tper::new(identity(), GEOMETRY);
        self.tper.load(kept.iter().map(|(number, page)| (*number, page.clone()))).expect("what was kept can be loaded");
        self.session = (0, 0);
    }
}
