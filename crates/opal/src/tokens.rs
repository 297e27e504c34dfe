//! The stream encoding of TCG Storage (Core Specification 2.01, section 3.2.2): atoms, lists, names, and tokens of control.

use thiserror::Error;

/// Lists and names within each other. What Opal needs has 6.
const DEEPEST: usize = 16;

const START_LIST: u8 = 0xf0;
const END_LIST: u8 = 0xf1;
const START_NAME: u8 = 0xf2;
const END_NAME: u8 = 0xf3;
const CALL: u8 = 0xf8;
const END_OF_DATA: u8 = 0xf9;
const END_OF_SESSION: u8 = 0xfa;
const START_TRANSACTION: u8 = 0xfb;
const END_TRANSACTION: u8 = 0xfc;
const EMPTY: u8 = 0xff;

/// A value of the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Number(u64),
    Bytes(Vec<u8>),
    List(Vec<Value>),
    /// A name and its value.
    Named(Box<Value>, Box<Value>),
}

impl Value {
    #[must_use]
    pub fn named(name: impl Into<Value>, value: impl Into<Value>) -> Value {
        Value::Named(Box::new(name.into()), Box::new(value.into()))
    }

    #[must_use]
    pub fn number(&self) -> Option<u64> {
        if let Value::Number(number) = self { Some(*number) } else { None }
    }

    #[must_use]
    pub fn bytes(&self) -> Option<&[u8]> {
        if let Value::Bytes(bytes) = self { Some(bytes) } else { None }
    }

    #[must_use]
    pub fn list(&self) -> Option<&[Value]> {
        if let Value::List(list) = self { Some(list) } else { None }
    }

    /// 0 and 1 are the words of the stream for it.
    #[must_use]
    pub fn truth(&self) -> Option<bool> {
        match self {
            Value::Number(0) => Some(false),
            Value::Number(1) => Some(true),
            _ => None,
        }
    }

    /// What a list says by this number; a list without it has `None`.
    #[must_use]
    pub fn of_name(list: &[Value], name: u64) -> Option<&Value> {
        list.iter().find_map(|value| match value {
            Value::Named(found, value) if found.number() == Some(name) => Some(&**value),
            _ => None,
        })
    }

    /// Appends it as tokens.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Value::Number(number) => write_number(out, *number),
            Value::Bytes(bytes) => write_bytes(out, bytes),
            Value::List(list) => {
                out.push(START_LIST);
                list.iter().for_each(|value| value.write(out));
                out.push(END_LIST);
            }
            Value::Named(name, value) => {
                out.push(START_NAME);
                name.write(out);
                value.write(out);
                out.push(END_NAME);
            }
        }
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Value {
        Value::Number(number)
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Value {
        Value::Number(truth.into())
    }
}

impl From<&[u8]> for Value {
    fn from(bytes: &[u8]) -> Value {
        Value::Bytes(bytes.to_vec())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        text.as_bytes().into()
    }
}

impl From<Vec<Value>> for Value {
    fn from(list: Vec<Value>) -> Value {
        Value::List(list)
    }
}

/// The shortest atom that holds it.
fn write_number(out: &mut Vec<u8>, number: u64) {
    if number < 0x40 {
        return out.push(number as u8);
    }
    let length = (8 - number.leading_zeros() as usize / 8).next_power_of_two();
    out.push(0x80 | length as u8);
    out.extend_from_slice(&number.to_be_bytes()[8 - length..]);
}

fn write_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    let length = bytes.len();
    match length {
        0..0x10 => out.push(0xa0 | length as u8),
        0x10..0x800 => out.extend_from_slice(&[0xd0 | (length >> 8) as u8, length as u8]),
        _ => {
            assert!(length < 1 << 24, "an atom of {length} bytes");
            out.extend_from_slice(&[0xe2, (length >> 16) as u8, (length >> 8) as u8, length as u8]);
        }
    }
    out.extend_from_slice(bytes);
}

/// What a host sends, and what it is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// A method of an object. The status list of a request says whether the host goes through with it.
    Call {
        object: [u8; 8],
        method: [u8; 8],
        parameters: Vec<Value>,
        status: u64,
    },
    EndOfSession,
    /// Their status: 0.
    StartTransaction(u64),
    /// 0: what was done since holds; 1: it does not.
    EndTransaction(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TokenError {
    #[error("the stream ends within a token")]
    Short,
    #[error("a token that is not expected there")]
    Unexpected,
    #[error("lists within lists, too deep")]
    Deep,
}

/// Reads the tokens of one message; nothing but empty tokens may follow it.
///
/// # Errors
/// If it is none.
pub fn read_message(bytes: &[u8]) -> Result<Message, TokenError> {
    let mut reader = Reader { bytes };
    let message = match reader.token()? {
        Token::Control(CALL) => {
            let object = reader.uid()?;
            let method = reader.uid()?;
            let parameters = reader.list()?;
            if reader.token()? != Token::Control(END_OF_DATA) {
                return Err(TokenError::Unexpected);
            }
            let status = reader.list()?;
            let status = status.first().and_then(Value::number).ok_or(TokenError::Unexpected)?;
            Message::Call { object, method, parameters, status }
        }
        Token::Control(END_OF_SESSION) => Message::EndOfSession,
        Token::Control(START_TRANSACTION) => Message::StartTransaction(reader.number()?),
        Token::Control(END_TRANSACTION) => Message::EndTransaction(reader.number()?),
        _ => return Err(TokenError::Unexpected),
    };
    reader.skip_empty();
    if reader.bytes.is_empty() { Ok(message) } else { Err(TokenError::Unexpected) }
}

/// The answer to a method: its results, and its status.
pub fn write_results(out: &mut Vec<u8>, results: &[Value], status: u64) {
    out.push(START_LIST);
    results.iter().for_each(|value| value.write(out));
    out.push(END_LIST);
    write_status(out, status);
}

fn write_status(out: &mut Vec<u8>, status: u64) {
    out.push(END_OF_DATA);
    Value::List(vec![Value::Number(status), Value::Number(0), Value::Number(0)]).write(out);
}

/// A method that the drive calls at the host: those of the session manager.
pub fn write_call(out: &mut Vec<u8>, object: [u8; 8], method: [u8; 8], parameters: &[Value], status: u64) {
    out.push(CALL);
    write_bytes(out, &object);
    write_bytes(out, &method);
    write_results(out, parameters, status);
}

pub fn write_end_of_session(out: &mut Vec<u8>) {
    out.push(END_OF_SESSION);
}

/// `begins`: the answer to the begin of a transaction, or to its end.
pub fn write_transaction(out: &mut Vec<u8>, begins: bool, status: u64) {
    out.push(if begins { START_TRANSACTION } else { END_TRANSACTION });
    write_number(out, status);
}

#[derive(Debug, PartialEq, Eq)]
enum Token<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    Control(u8),
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], TokenError> {
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or(TokenError::Short)?;
        self.bytes = rest;
        Ok(taken)
    }

    fn skip_empty(&mut self) {
        while let [EMPTY, rest @ ..] = self.bytes {
            self.bytes = rest;
        }
    }

    fn token(&mut self) -> Result<Token<'a>, TokenError> {
        self.skip_empty();
        let first = self.take(1)?[0];
        let (is_bytes, is_signed, length) = match first {
            // Negative numbers have no place in Opal.
            0x00..=0x3f => return Ok(Token::Number(first.into())),
            0x40..=0x7f => return Err(TokenError::Unexpected),
            0x80..=0xbf => (first & 0x20 != 0, first & 0x10 != 0, usize::from(first & 0x0f)),
            0xc0..=0xdf => {
                let low = self.take(1)?[0];
                (first & 0x10 != 0, first & 0x08 != 0, usize::from(first & 0x07) << 8 | usize::from(low))
            }
            0xe0..=0xe3 => {
                let length = self.take(3)?.iter().fold(0, |length, &byte| length << 8 | usize::from(byte));
                (first & 0x02 != 0, first & 0x01 != 0, length)
            }
            START_LIST | END_LIST | START_NAME | END_NAME | CALL..=END_TRANSACTION => {
                return Ok(Token::Control(first));
            }
            _ => return Err(TokenError::Unexpected),
        };
        let bytes = self.take(length)?;
        if is_bytes {
            // Bytes that go on in another atom have no place in Opal either.
            return if is_signed { Err(TokenError::Unexpected) } else { Ok(Token::Bytes(bytes)) };
        }
        let digits = bytes.iter().position(|&byte| byte != 0).map_or(&bytes[..0], |at| &bytes[at..]);
        if is_signed || digits.len() > 8 {
            return Err(TokenError::Unexpected);
        }
        Ok(Token::Number(digits.iter().fold(0, |number, &byte| number << 8 | u64::from(byte))))
    }

    fn uid(&mut self) -> Result<[u8; 8], TokenError> {
        match self.token()? {
            Token::Bytes(bytes) => bytes.try_into().map_err(|_| TokenError::Unexpected),
            _ => Err(TokenError::Unexpected),
        }
    }

    fn number(&mut self) -> Result<u64, TokenError> {
        if let Token::Number(number) = self.token()? { Ok(number) } else { Err(TokenError::Unexpected) }
    }

    fn list(&mut self) -> Result<Vec<Value>, TokenError> {
        match self.token()? {
            Token::Control(START_LIST) => self.rest_of_list(1),
            _ => Err(TokenError::Unexpected),
        }
    }

    fn rest_of_list(&mut self, depth: usize) -> Result<Vec<Value>, TokenError> {
        let mut list = Vec::new();
        loop {
            match self.token()? {
                Token::Control(END_LIST) => return Ok(list),
                token => list.push(self.value(token, depth)?),
            }
        }
    }

    fn value(&mut self, token: Token<'a>, depth: usize) -> Result<Value, TokenError> {
        if depth == DEEPEST {
            return Err(TokenError::Deep);
        }
        match token {
            Token::Number(number) => Ok(Value::Number(number)),
            Token::Bytes(bytes) => Ok(bytes.into()),
            Token::Control(START_LIST) => Ok(Value::List(self.rest_of_list(depth + 1)?)),
            Token::Control(START_NAME) => {
                let (name, value) = (self.token()?, self.token()?);
                // The value follows its name at once: names are atoms.
                let name = match name {
                    Token::Number(number) => Value::Number(number),
                    Token::Bytes(bytes) => bytes.into(),
                    Token::Control(_) => return Err(TokenError::Unexpected),
                };
                let value = self.value(value, depth + 1)?;
                match self.token()? {
                    Token::Control(END_NAME) => Ok(Value::named(name, value)),
                    _ => Err(TokenError::Unexpected),
                }
            }
            Token::Control(_) => Err(TokenError::Unexpected),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: &Value) -> Vec<u8> {
        let mut out = Vec::new();
        value.write(&mut out);
        out
    }

    #[test]
    fn numbers_take_the_shortest_atom() {
        let atoms: [(u64, &[u8]); 6] = [
            (0, &[0x00]),
            (0x3f, &[0x3f]),
            (0x40, &[0x81, 0x40]),
            (0x0100, &[0x82, 1, 0]),
            (0x01_0000, &[0x84, 0, 1, 0, 0]),
            (u64::MAX, &[0x88, 255, 255, 255, 255, 255, 255, 255, 255]),
        ];
        for (number, atom) in atoms {
            assert_eq!(written(&Value::Number(number)), atom, "{number}");
        }
    }

    #[test]
    fn bytes_take_the_shortest_atom_and_come_back() {
        for length in [0, 1, 15, 16, 0x7ff, 0x800, 70_000] {
            let list = Value::List(vec![Value::Bytes(vec![7; length])]);
            let atom = written(&list);
            let head = if length < 16 {
                1
            } else if length < 0x800 {
                2
            } else {
                4
            };
            assert_eq!(atom.len(), head + length + 2);
            let mut message = vec![CALL];
            write_bytes(&mut message, &[1; 8]);
            write_bytes(&mut message, &[2; 8]);
            message.extend(atom);
            write_status(&mut message, 0);
            let Ok(Message::Call { parameters, .. }) = read_message(&message) else { panic!("{length}") };
            assert_eq!(Value::List(parameters), list);
        }
    }

    #[test]
    fn what_is_no_message_is_refused() {
        assert_eq!(read_message(&[]), Err(TokenError::Short));
        assert_eq!(read_message(&[0xf8, 0xa8, 0, 0]), Err(TokenError::Short));
        assert_eq!(read_message(&[0xfb]), Err(TokenError::Short));
        // Two messages, and tokens that are reserved.
        assert_eq!(read_message(&[0xfa, 0xfa]), Err(TokenError::Unexpected));
        assert_eq!(read_message(&[0xf5]), Err(TokenError::Unexpected));
        assert_eq!(read_message(&[0xfa, 0xff, 0xff]), Ok(Message::EndOfSession));
        let mut deep = vec![CALL];
        write_bytes(&mut deep, &[1; 8]);
        write_bytes(&mut deep, &[2; 8]);
        deep.extend([START_LIST; 40]);
        assert_eq!(read_message(&deep), Err(TokenError::Deep));
        // A name without an end, and one that is a list.
        let call = |parameters: &[u8]| {
            let mut call = deep[..19].to_vec();
            call.extend_from_slice(parameters);
            write_status(&mut call, 0);
            read_message(&call)
        };
        assert_eq!(call(&[0xf0, 0xf2, 0, 0, 0xf1]), Err(TokenError::Unexpected));
        assert_eq!(call(&[0xf0, 0xf2, 0xf0, 0xf1, 0, 0xf3, 0xf1]), Err(TokenError::Unexpected));
        assert!(call(&[0xf0, 0xf2, 0, 0, 0xf3, 0xf1]).is_ok());
    }
}
