# Everything a checkout can do. `make test` is what CI runs.

CARGO ?= cargo
SSDLAB = target/release/ssdlab

.PHONY: build test check unit claims claims-all repeatable theory keys ecc ecc-tables bench instructions instructions-update valgrind torture fuzz sweep quick clean

build:
	$(CARGO) build --release --locked

## The everyday loop: format, lints, unit, property, timing and command-line tests.
quick: check unit

check:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

unit:
	$(CARGO) test --workspace --locked

## Published figures beside ours, at full length: fails if one is missed and the catalog gives no reason. These drives take
## a few minutes; `make claims-all` checks every drive, and the orders among them: 22 minutes of
## processor time (docs/published-figures.md).
CLAIMED = jmf667h-toshiba-128gb jmf667h-toshiba-256gb jmf667h-imft-128gb jmf667h-imft-256gb wd-black2-120gb \
	m600-128gb
claims: build
	$(SSDLAB) claims --strict $(CLAIMED)

claims-all: build
	$(SSDLAB) claims --strict

## Two runs, and runs with one and two threads, give the same bytes.
repeatable: build
	tests/repeatable.sh $(SSDLAB)

## Closed forms and mean-field results beside the simulator's; writes docs/theory.md.
theory:
	$(CARGO) run --release --locked -p ssdlab-validation --bin theory > docs/theory.md.new
	mv docs/theory.md.new docs/theory.md

## What follows from the declarations of the keys: writes the tables of docs/drive-files.md, and docs/schema.
keys:
	$(CARGO) run --locked -p ssdlab-catalog --example key_documents -- docs

## Errors and their correction: writes docs/error-correction.md and its figure; seconds.
ecc:
	$(CARGO) run --release --locked -p ssdlab-validation --bin ecc_page -- docs

## Decodes the LDPC tables anew (the same counts on any machine); about ten minutes of processor time.
ecc-tables:
	$(CARGO) run --release --locked -p ssdlab-validation --bin ldpc_tables > crates/ecc/data/ldpc.csv.new
	mv crates/ecc/data/ldpc.csv.new crates/ecc/data/ldpc.csv

## Speed: the share of a bare mapping loop that the full simulation reaches.
bench:
	$(CARGO) bench --locked -p ssdlab-speed --bench steady_state

## Instructions of the five hot paths, counted by callgrind, against the counts in the repository.
instructions: valgrind
	$(CARGO) bench --locked -p ssdlab-speed --bench instructions

## Writes those counts anew.
instructions-update: valgrind
	$(CARGO) bench --locked -p ssdlab-speed --bench instructions -- --update

valgrind:
	@command -v valgrind >/dev/null || { \
		sudo=; [ "$$(id -u)" = 0 ] || sudo="sudo -n"; \
		{ $$sudo apt-get update -q && $$sudo apt-get install -qy --no-install-recommends valgrind; } \
		|| { echo "valgrind is missing and could not be installed: as root, apt-get install valgrind" >&2; exit 1; }; \
	}

## Drives, hosts and faults drawn from a seed, against a plain oracle: a few hundred runs. Ten thousand: RUNS=10000.
RUNS ?= 500
torture: build
	$(SSDLAB) torture --runs $(RUNS)

## Millions of spoiled files for every parser, and hundreds of thousands of absurd drives. Ten minutes.
fuzz:
	$(CARGO) test --locked -p ssdlab-fuzz -- --ignored

## Two hundred drives in their steady state, resumable: over-provisioning x collection policy x block size.
sweep: build
	$(SSDLAB) sweep examples/sweeps/over-provisioning.toml --out sweep

# Everything is built once here: what would speed up a second build only costs time.
test: export CARGO_INCREMENTAL = 0
test: check unit build repeatable torture claims instructions

clean:
	$(CARGO) clean
