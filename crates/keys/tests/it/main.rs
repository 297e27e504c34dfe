//! Keys of drive and die files: each is declared once, where it is used.

mod declared_once;
