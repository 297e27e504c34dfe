//! Runs the command lines in `tests/cmd/*.md` and compares what they print and how they end.
//!
//! `TRYCMD=overwrite cargo test -p ssdlab --test it transcripts` writes what they print now into the files.

#[test]
fn the_command_line_behaves_as_its_transcripts_say() {
    trycmd::TestCases::new().case("../../tests/cmd/*.md");
}
