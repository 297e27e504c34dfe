//! Expressions of authorities: for whom an access control element opens what it opens.

use serde::{Deserialize, Serialize};

use crate::status::Status;
use crate::tokens::Value;
use crate::uid::{AUTHORITY_REFERENCE, OPERATOR, Uid};

/// Terms of an expression: all authorities of the Locking SP, with an operator each.
const MOST_TERMS: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Term {
    Authority(Uid),
    And,
    Or,
    Not,
}

/// An expression of authorities, operands before operators.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expression(Vec<Term>);

impl Expression {
    /// One of these suffices.
    #[must_use]
    pub fn any_of(authorities: &[Uid]) -> Expression {
        let mut terms = Vec::new();
        for &authority in authorities {
            terms.push(Term::Authority(authority));
            if terms.len() > 1 {
                terms.push(Term::Or);
            }
        }
        Expression(terms)
    }

    /// As a host writes it.
    ///
    /// # Errors
    /// If it is none, if an authority is none of the SP, or if it is too long.
    pub fn read(value: &Value, exists: impl Fn(Uid) -> bool) -> Result<Expression, Status> {
        let wrong = Status::InvalidParameter;
        let list = value.list().ok_or(wrong)?;
        if list.len() > MOST_TERMS {
            return Err(Status::InsufficientSpace);
        }
        let mut terms = Vec::new();
        let mut depth = 0_usize;
        for term in list {
            let Value::Named(kind, term) = term else { return Err(wrong) };
            let kind = kind.bytes().ok_or(wrong)?;
            if kind == AUTHORITY_REFERENCE {
                let authority =
                    term.bytes().and_then(|bytes| bytes.try_into().ok()).map(Uid::from_be_bytes).ok_or(wrong)?;
                if !exists(authority) {
                    return Err(wrong);
                }
                depth += 1;
                terms.push(Term::Authority(authority));
                continue;
            }
            let (term, operands) = match term.number() {
                Some(0) => (Term::And, 2),
                Some(1) => (Term::Or, 2),
                Some(2) => (Term::Not, 1),
                _ => return Err(wrong),
            };
            if kind != OPERATOR || depth < operands {
                return Err(wrong);
            }
            depth -= operands - 1;
            terms.push(term);
        }
        // Linux writes an operator for each authority but one; nothing may be left over.
        if depth == 1 { Ok(Expression(terms)) } else { Err(wrong) }
    }

    /// Whether every operator has its operands, and nothing is left over.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let after = self.0.iter().try_fold(0_usize, |depth, term| match term {
            Term::Authority(_) => Some(depth + 1),
            Term::Not => (depth >= 1).then_some(depth),
            Term::And | Term::Or => (depth >= 2).then(|| depth - 1),
        });
        after == Some(1) && self.0.len() <= MOST_TERMS
    }

    /// As a host reads it.
    #[must_use]
    pub fn value(&self) -> Value {
        let operator = |number: u64| Value::named(&OPERATOR[..], number);
        let term = |term: &Term| match term {
            Term::Authority(authority) => Value::named(&AUTHORITY_REFERENCE[..], &authority.to_be_bytes()[..]),
            Term::And => operator(0),
            Term::Or => operator(1),
            Term::Not => operator(2),
        };
        Value::List(self.0.iter().map(term).collect())
    }

    /// Whether it is true for a session for which these authorities are.
    #[must_use]
    pub fn holds(&self, is: impl Fn(Uid) -> bool) -> bool {
        let mut stack = Vec::new();
        for term in &self.0 {
            let value = match term {
                Term::Authority(authority) => is(*authority),
                Term::Not => !pop(&mut stack),
                Term::And => pop(&mut stack) & pop(&mut stack),
                Term::Or => pop(&mut stack) | pop(&mut stack),
            };
            stack.push(value);
        }
        pop(&mut stack)
    }
}

fn pop(stack: &mut Vec<bool>) -> bool {
    stack.pop().expect("an operator has its operands: that was looked at when the expression was made")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(authority: Uid) -> Value {
        Value::named(&AUTHORITY_REFERENCE[..], &authority.to_be_bytes()[..])
    }

    fn operator(number: u64) -> Value {
        Value::named(&OPERATOR[..], number)
    }

    #[test]
    fn expressions_come_back_as_they_were_written_and_hold_for_whom_they_say() {
        let terms = vec![reference(1), reference(2), operator(1), reference(3), operator(2), operator(0)];
        let expression = Expression::read(&Value::List(terms.clone()), |_| true).expect("an expression");
        assert_eq!(expression.value(), Value::List(terms));
        // (1 or 2) and not 3
        for (who, holds) in [(&[1][..], true), (&[2], true), (&[1, 3], false), (&[3], false), (&[], false)] {
            assert_eq!(expression.holds(|authority| who.contains(&authority)), holds, "{who:?}");
        }
    }

    #[test]
    fn what_is_no_expression_is_refused() {
        let read = |terms: Vec<Value>| Expression::read(&Value::List(terms), |authority| authority < 10);
        let wrong = Err(Status::InvalidParameter);
        assert_eq!(read(vec![]), wrong);
        assert_eq!(read(vec![operator(1)]), wrong);
        assert_eq!(read(vec![reference(1), operator(0)]), wrong);
        assert_eq!(read(vec![reference(1), reference(2)]), wrong);
        assert_eq!(read(vec![reference(1), reference(2), operator(3)]), wrong);
        assert_eq!(read(vec![reference(10)]), wrong);
        assert_eq!(read(vec![Value::Number(1)]), wrong);
        assert_eq!(read(vec![reference(1); 40]), Err(Status::InsufficientSpace));
        assert!(read(vec![reference(1), reference(2), operator(1)]).is_ok());
    }
}
