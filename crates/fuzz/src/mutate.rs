//! Ways to spoil a file.

use ssdlab_core::Rng;

/// Numbers at which arithmetic and limits tend to break.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "3",
    "7",
    "255",
    "256",
    "4095",
    "4096",
    "4097",
    "65535",
    "65536",
    "1000000",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "1099511627776",
    "4398046511104",
    "8796093022208",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "340282366920938463463374607431768211456",
    "-9223372036854775808",
    "0.0",
    "-0.0",
    "0.1",
    "1e-300",
    "1e-9",
    "1e300",
    "1e999",
    "nan",
    "inf",
    "-inf",
    "0x10",
    "1_000",
    "1k",
    "1P",
    "99999999999999999999g",
    "100%",
    "1e6",
];

/// Text that tends to be forgotten.
const WORDS: &[&str] = &[
    "\0",
    "\u{feff}",
    "ä",
    "\u{1F4BE}",
    "\u{202E}",
    "\u{301}",
    "\t",
    "\r\n",
    "\r",
    "\n\n",
    " ",
    "\"",
    "\"\"\"",
    "'",
    "[",
    "[[",
    "]",
    "{",
    "}",
    "=",
    "#",
    ",",
    ".",
    ":",
    "/",
    "-",
    "%",
    "true",
    "false",
    "\\u0000",
    "\\",
    ";",
];

/// One mutant of the corpus: a member of it, spoiled in one to four ways.
///
/// # Panics
/// If the corpus is empty.
#[must_use]
pub fn mutate(corpus: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    let mut input = pick(corpus, rng).clone();
    for _ in 0..1 + rng.below(4) {
        match rng.below(12) {
            0 => flip(&mut input, rng),
            1 => input.truncate(rng.below(input.len() as u64 + 1) as usize),
            2 => splice(&mut input, pick::<Vec<u8>>(corpus, rng), rng),
            3 => repeat_line(&mut input, rng),
            4 => drop_line(&mut input, rng),
            5 => swap_lines(&mut input, rng),
            6 => insert(&mut input, pick(WORDS, rng).as_bytes(), rng),
            7 => insert_bytes(&mut input, rng),
            8 => transplant_line(&mut input, pick::<Vec<u8>>(corpus, rng), rng),
            _ => replace_number(&mut input, rng),
        }
    }
    input
}

fn pick<'a, T>(of: &'a [T], rng: &mut Rng) -> &'a T {
    &of[rng.below(of.len() as u64) as usize]
}

fn at(input: &[u8], rng: &mut Rng) -> usize {
    rng.below(input.len() as u64 + 1) as usize
}

fn flip(input: &mut [u8], rng: &mut Rng) {
    if !input.is_empty() {
        let k = rng.below(input.len() as u64) as usize;
        input[k] ^= 1 << rng.below(8);
    }
}

fn insert(input: &mut Vec<u8>, what: &[u8], rng: &mut Rng) {
    let place = at(input, rng);
    input.splice(place..place, what.iter().copied());
}

fn insert_bytes(input: &mut Vec<u8>, rng: &mut Rng) {
    let bytes: Vec<u8> = (0..1 + rng.below(64)).map(|_| rng.below(256) as u8).collect();
    if rng.chance(1, 2) {
        let from = at(input, rng);
        let to = (from + bytes.len()).min(input.len());
        input.splice(from..to, bytes);
    } else {
        insert(input, &bytes, rng);
    }
}

/// The front of one file and the back of another.
fn splice(input: &mut Vec<u8>, other: &[u8], rng: &mut Rng) {
    input.truncate(at(input, rng));
    input.extend(&other[at(other, rng)..]);
}

fn lines(input: &[u8]) -> Vec<&[u8]> {
    input.split_inclusive(|&b| b == b'\n').collect()
}

fn repeat_line(input: &mut Vec<u8>, rng: &mut Rng) {
    let mut all = lines(input);
    if all.is_empty() {
        return;
    }
    let line = *pick(&all, rng);
    // Mostly twice, as duplicated keys are; now and then very often.
    let times = if rng.chance(1, 50) { 500 } else { 1 };
    let place = rng.below(all.len() as u64 + 1) as usize;
    all.splice(place..place, std::iter::repeat_n(line, times));
    *input = all.concat();
}

fn drop_line(input: &mut Vec<u8>, rng: &mut Rng) {
    let mut all = lines(input);
    if !all.is_empty() {
        all.remove(rng.below(all.len() as u64) as usize);
        *input = all.concat();
    }
}

fn swap_lines(input: &mut Vec<u8>, rng: &mut Rng) {
    let mut all = lines(input);
    if !all.is_empty() {
        let (a, b) = (rng.below(all.len() as u64), rng.below(all.len() as u64));
        all.swap(a as usize, b as usize);
        *input = all.concat();
    }
}

fn transplant_line(input: &mut Vec<u8>, other: &[u8], rng: &mut Rng) {
    let (mut all, theirs) = (lines(input), lines(other));
    if !theirs.is_empty() {
        let line = *pick(&theirs, rng);
        all.insert(rng.below(all.len() as u64 + 1) as usize, line);
        *input = all.concat();
    }
}

/// Puts another number, or another word, where one stands.
fn replace_number(input: &mut Vec<u8>, rng: &mut Rng) {
    let number = |b: &u8| b.is_ascii_digit();
    let starts: Vec<usize> = (0..input.len())
        .filter(|&k| number(&input[k]) && (k == 0 || !number(&input[k - 1]) && input[k - 1] != b'.'))
        .collect();
    if starts.is_empty() {
        return insert(input, pick(NUMBERS, rng).as_bytes(), rng);
    }
    let from = *pick(&starts, rng);
    let to = from + input[from..].iter().take_while(|b| number(b) || **b == b'.').count();
    let new = match rng.below(4) {
        0 => rng.next_u64().to_string(),
        1 => rng.below(100_000).to_string(),
        _ => (*pick(NUMBERS, rng)).to_owned(),
    };
    input.splice(from..to, new.bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutants_differ_from_their_corpus_and_come_out_the_same_again() {
        let corpus = vec![b"[a]\nb = 12\nc = 3.5\n".to_vec(), b"".to_vec()];
        let mutants = || {
            let mut rng = Rng::new(1);
            (0..1000).map(|_| mutate(&corpus, &mut rng)).collect::<Vec<_>>()
        };
        let first = mutants();
        assert_eq!(first, mutants());
        let spoiled = first.iter().filter(|m| !corpus.contains(m)).count();
        assert!(spoiled > 800, "{spoiled}");
        let has = |what: &[u8]| first.iter().any(|m| m.windows(what.len()).any(|w| w == what));
        assert!(has(b"\0") && has(b"18446744073709551615") && has("ä".as_bytes()) && has(b"c = 3.5\nc = 3.5\n"));
    }
}
