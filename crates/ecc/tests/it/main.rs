//! Codes, the retry ladder and the table of LDPC results.

mod ladder;
mod table;
mod theory;
