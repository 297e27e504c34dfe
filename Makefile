# Everything a checkout can do. `make quick` is the everyday loop, `make test` the gate that CI runs, `make test-all`
# everything else as well. CONTRIBUTING.md says what each of them holds.

CARGO ?= cargo

# Which program the targets below run: the one that is shipped, or with PROGRAM=tested the one that `make unit` has
# built for the tests anyway, in which overflow is checked.
PROGRAM ?= shipped
ifeq ($(PROGRAM),tested)
SSDLAB = target/debug/ssdlab
else
SSDLAB = target/release/ssdlab
endif

.PHONY: build tested shipped test test-all linted built-and-linted long check unit properties claims claims-all repeatable theory page \
	quick-against-full reference-drives samples keys transcripts predictions house ecc ecc-tables reference bench instructions \
	instructions-tested instructions-update valgrind \
	torture power-cuts mutants fuzz fio fio-tools sweep clients databases python-env wheel python python-quick python-all quick clean

build:
	$(CARGO) build --release --locked

shipped: build

tested:
	$(CARGO) test --workspace --locked --no-run

## The everyday loop: format, lints, unit, property, timing and command-line tests.
quick: check unit

check:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --exclude ssdlab-python --all-targets --locked -- -D warnings

# The same cases each time; `properties` has thousands more.
unit: export PROPTEST_RNG_SEED = 1
unit:
	$(CARGO) test --workspace --locked

## The property tests again, with thousands of drives, translation layers, power cuts and saved drives that are nonsense; torture of
## devices of devices, and of drives that map blocks, alone.
properties:
	$(CARGO) test --locked -p ssdlab-contents -p ssdlab-ftl -p ssdlab-ssd -p ssdlab-torture --test it -- --ignored thousands_more

## Published figures beside ours, at full length: fails if one is missed and the catalog gives no reason. This drive takes a
## quarter of a minute; `make claims-all` checks every drive, and the orders among them: an hour and a half of processor time
## (docs/published-figures.md).
CLAIMED ?= memorycorp-mf4-64gb
claims: $(PROGRAM)
	$(SSDLAB) claims --strict $(CLAIMED)

claims-all: $(PROGRAM)
	$(SSDLAB) claims --strict --out target/claims

## Review pages as pictures at three widths, light and dark, with a headless browser (Debian: apt-get install chromium).
page: $(PROGRAM)
	tests/page.sh $(SSDLAB)

## A quick run ranks the drives of the catalog as a full one does: about an hour of processor time.
quick-against-full:
	$(CARGO) test --release --locked -p ssdlab --test it -- --ignored --nocapture quick_run

## Measures the drives anew that a review of one is set beside; writes crates/report/data/reference-drives.json.
REFERENCES = jmf667h-toshiba-256gb m600-256gb bx100-500gb x25-m-80gb spinpoint-f1-1tb
reference-drives: build
	target/release/ssdlab review $(REFERENCES) --out target/reference-drives --only \
		sequential-read,sequential-write,random-read,random-write,consistency,analyzedisk,fileserver,heavy,storagemark-desktop
	$(CARGO) run --locked -p ssdlab-report --example reference_drives -- target/reference-drives > target/reference-drives.json
	mv target/reference-drives.json crates/report/data/reference-drives.json

## The sample pages: docs/sample-review and docs/sample-comparison, each with a picture of its first screen, and the timeline
## of docs/timelines.md. A minute, and a headless browser, as for `make page`.
SAMPLED = consistency,sequential-write,sequential-read,random-read,random-write
CHROMIUM ?= chromium
samples: build
	target/release/ssdlab review jmf667h-imft-256gb --quick --only $(SAMPLED),fileserver --out target/samples/review --force
	target/release/ssdlab review jmf667h-imft-256gb m600-256gb --quick --only $(SAMPLED) --out target/samples/comparison --force
	for page in review comparison; do \
		mkdir -p docs/sample-$$page && cp target/samples/$$page/index.html docs/sample-$$page/ && \
		$(CHROMIUM) --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1440,1000 \
			--screenshot=docs/sample-$$page/first-screen.png file://$(CURDIR)/docs/sample-$$page/index.html || exit 1; \
	done
	target/release/ssdlab run examples/jobs/full-cache.fio 600p-128gb --prefill drive --timeline target/samples/slow.svg > target/samples/slow.txt
	mv target/samples/slow.svg docs/timelines.svg

## Two runs, and runs with one and two threads, give the same bytes.
repeatable: $(PROGRAM)
	tests/repeatable.sh $(SSDLAB)

## Closed forms and mean-field results beside the simulator's; writes docs/theory.md.
theory:
	$(CARGO) run --release --locked -p ssdlab-validation --bin theory > docs/theory.md.new
	mv docs/theory.md.new docs/theory.md

## What follows from the declarations of the keys: writes the tables of docs/drive-files.md, and docs/schema.
keys:
	$(CARGO) run --locked -p ssdlab-catalog --example key_documents -- docs

## What the command line says now, written into its transcripts; look at the diff, since figures take the place of `[..]`.
transcripts:
	TRYCMD=overwrite $(CARGO) test --locked -p ssdlab --test it transcripts

## Predictions beside published figures: writes the table of docs/blind-predictions.md.
predictions:
	$(CARGO) run --locked -p ssdlab-forecast --example predictions -- predictions docs/blind-predictions.md

## What depends on what: writes the drawing and the table of docs/architecture.md; checks the rules of the house.
house:
	$(CARGO) run --locked -p ssdlab-validation --bin house

## Errors and their correction: writes docs/error-correction.md and its figure; seconds.
ecc:
	$(CARGO) run --release --locked -p ssdlab-validation --bin ecc_page -- docs

## Decodes the LDPC tables anew (the same counts on any machine); about ten minutes of processor time.
ecc-tables:
	$(CARGO) run --release --locked -p ssdlab-validation --bin ldpc_tables > crates/ecc/data/ldpc.csv.new
	mv crates/ecc/data/ldpc.csv.new crates/ecc/data/ldpc.csv

## Makes those pages and tables anew beside the repository's, and fails if a byte differs.
reference:
	mkdir -p target/reference
	$(CARGO) run --release --locked -p ssdlab-validation --bin theory > target/reference/theory.md
	$(CARGO) run --release --locked -p ssdlab-validation --bin ecc_page -- target/reference
	$(CARGO) run --release --locked -p ssdlab-validation --bin ldpc_tables > target/reference/ldpc.csv
	cmp target/reference/theory.md docs/theory.md
	cmp target/reference/error-correction.md docs/error-correction.md
	cmp target/reference/error-correction.svg docs/error-correction.svg
	cmp target/reference/ldpc.csv crates/ecc/data/ldpc.csv

## Speed: the share of a bare mapping loop that the full simulation reaches.
bench:
	$(CARGO) bench --locked -p ssdlab-speed --bench steady_state

## Instructions of the six hot paths, counted by callgrind, against the counts in the repository: nearly as they are shipped.
instructions: valgrind
	$(CARGO) bench --locked --profile counted -p ssdlab-instructions

# The same as the tests build them, so that nothing else has to be compiled for it.
COUNT_TESTED = $(CARGO) bench --workspace --locked --profile dev --bench instructions
instructions-tested: valgrind
	$(COUNT_TESTED)

## Writes both counts anew.
instructions-update: valgrind
	$(CARGO) bench --locked --profile counted -p ssdlab-instructions -- --update
	$(COUNT_TESTED) -- --update

valgrind:
	@command -v valgrind >/dev/null || { \
		sudo=; [ "$$(id -u)" = 0 ] || sudo="sudo -n"; \
		{ $$sudo apt-get update -q && $$sudo apt-get install -qy --no-install-recommends valgrind; } \
		|| { echo "valgrind is missing and could not be installed: as root, apt-get install valgrind" >&2; exit 1; }; \
	}

## Drives, hosts and faults drawn from a seed, against a plain oracle.
RUNS ?= 250
torture: $(PROGRAM)
	$(SSDLAB) torture --runs $(RUNS)

## Some 340,000 power cuts, half of them of small drives of every kind and half of small drives with the keys of the catalog's,
## and twenty of each drive of the catalog at full size.
CUT_RUNS ?= 6000
power-cuts: $(PROGRAM)
	$(SSDLAB) torture --power-cuts --runs $(CUT_RUNS)
	$(SSDLAB) torture --power-cuts --of catalog --runs $(CUT_RUNS)
	tests/power-cuts.sh $(SSDLAB)

## What share of deliberate faults the tests catch, and which layer of them does: those written down in tests/mutants, and
## so many that cargo-mutants finds, drawn by a seed. Fails below 95 %. Goes on where it was; `MUTANTS=0` without cargo-mutants.
MUTANTS ?= 100
MUTANTS_SEED ?= 1
mutants:
	@test $(MUTANTS) = 0 || test -x target/tools/bin/cargo-mutants || \
		$(CARGO) install -q cargo-mutants --version 27.1.0 --locked --root target/tools
	tests/mutants/run.py --drawn $(MUTANTS) --seed $(MUTANTS_SEED)

## Millions of spoiled files for parsers, hundreds of thousands of absurd drives, and a million flipped bits of images. A quarter
## of an hour.
fuzz:
	$(CARGO) test --locked -p ssdlab-fuzz -- --ignored
	$(CARGO) test --release --locked -p ssdlab-contents --test it -- --ignored a_million

## Against fio itself: its own examples run, its options are all known, and the tools that read its logs and JSON read
## ours. Installs fio, its examples and fio-plot.
fio: build fio-tools
	$(CARGO) test --locked -p ssdlab --test it -- --ignored fio::
	tests/fio-tools.sh $(SSDLAB) target/fio-plot/bin

fio-tools:
	@{ command -v fio && command -v fio2gnuplot && test -d /usr/share/doc/fio/examples; } >/dev/null || { \
		sudo=; [ "$$(id -u)" = 0 ] || sudo="sudo -n"; \
		{ $$sudo apt-get update -q && $$sudo apt-get install -qy --no-install-recommends fio fio-examples python3-venv; } \
		|| { echo "as root, apt-get install fio fio-examples python3-venv" >&2; exit 1; }; \
	}
	@test -x target/fio-plot/bin/fio-plot || { python3 -m venv target/fio-plot && target/fio-plot/bin/pip install -q fio-plot; }

## Two hundred drives in their steady state, resumable: over-provisioning x collection policy x block size.
sweep: build
	$(SSDLAB) sweep examples/sweeps/over-provisioning.toml --out sweep

## Real clients against attached drives: nbdinfo, nbdcopy, qemu-img, libnbd, fio, ext4 and xfs on a loop device, SQLite and
## PostgreSQL with a few power cuts, libiscsi's conformance tests, a Linux guest, sedutil; and a served disk tested as a real one, and
## a file beside fio. Debian's packages nbdkit libnbd-bin
## python3-libnbd nbdfuse qemu-utils fio xfsprogs postgresql libiscsi-bin qemu-block-extra qemu-system-x86 sg3-utils smartmontools
## busybox-static cpio kmod; what is missing is left out, and what mounts if not run as root. About fourteen minutes.
clients: build
	tests/clients/run-all.sh target/release/ssdlab

## SQLite and PostgreSQL on ext4 through hundreds of power cuts, on a drive that keeps its promises and on one that lies, and through
## cuts during their recovery; ten minutes of fio with verification. As root; nbdfuse, e2fsprogs, postgresql, fio. Half an hour.
databases: build
	examples/attach/sqlite-power-cuts.sh $(SSDLAB) m600-256gb 200
	examples/attach/postgresql-power-cuts.sh $(SSDLAB) m600-256gb 50
	AGAIN_MS=400 examples/attach/sqlite-power-cuts.sh $(SSDLAB) m600-256gb 50
	AGAIN_MS=1500 examples/attach/postgresql-power-cuts.sh $(SSDLAB) m600-256gb 25
	examples/attach/sqlite-power-cuts.sh --expect-losses $(SSDLAB) examples/attach/m600-256gb-lying-flush.toml 20
	examples/attach/postgresql-power-cuts.sh --expect-losses $(SSDLAB) examples/attach/m600-256gb-lying-flush.toml 20
	SECONDS_OF_LOAD=600 tests/clients/fio-verify.sh $(SSDLAB)

## The Python package: a wheel, its quick tests and its types, in an environment of its own (Debian: python3-venv). PYTHON
## names the interpreter, WHEEL_PROFILE how the extension is compiled. `make python-quick` is the part that `make test` has.
PYTHON ?= python3
WHEEL_PROFILE ?= release
PY = target/python/bin/python
WHEELS = target/wheels/$(WHEEL_PROFILE)

python-env:
	@test -x target/python/bin/maturin || { \
		$(PYTHON) -m venv target/python && $(PY) -m pip install -q --upgrade pip && \
		$(PY) -m pip install -q -r python/requirements-test.txt; }

wheel: python-env
	rm -rf $(WHEELS)
	cd python && CARGO_TARGET_DIR=$(CURDIR)/target ../target/python/bin/maturin build --profile $(WHEEL_PROFILE) --locked \
		--interpreter $(CURDIR)/$(PY) --out $(CURDIR)/$(WHEELS)
	$(PY) -m pip install -q --force-reinstall --no-deps $(WHEELS)/*.whl

# A fresh environment each time. The extension is what the tests of the workspace are, so that their crates are not compiled
# again: pyo3, Arrow and it alone are.
QUICK = $(CURDIR)/target/python-quick
python-quick:
	rm -rf $(QUICK)
	$(PYTHON) -m venv $(QUICK)
	$(QUICK)/bin/python -m pip install -q --disable-pip-version-check -r python/requirements-quick.txt
	cd python && CARGO_TARGET_DIR=$(CURDIR)/target $(QUICK)/bin/maturin build --profile dev --features as-tested --locked \
		--interpreter $(QUICK)/bin/python --out $(QUICK)/wheels
	$(QUICK)/bin/python -m pip install -q --disable-pip-version-check --no-deps $(QUICK)/wheels/*.whl
	cd python/tests && $(QUICK)/bin/python -m pytest -q -rs -m "not slow" .

python: wheel
	$(CARGO) clippy -p ssdlab-python --all-targets --locked -- -D warnings
	cd python && ../$(PY) -m mypy -p ssdlab && ../$(PY) -m pyright --pythonpath ../$(PY)
	cd python/tests && PATH=$(CURDIR)/target/python/bin:$$PATH pyright --verifytypes ssdlab --ignoreexternal
	cd python/tests && ../../$(PY) -m pytest -q -rs -x -m "not slow" .

## All of its tests: executors of four kinds, a fleet beside drives simulated in full, the tutorial; the wheel against
## the stable ABI, and on every Python of this machine; misuse under valgrind. Some twenty-five minutes.
python-all: python valgrind
	tests/python-memcheck.sh $(PY)
	$(PY) -m pip install -q -r python/requirements-all.txt
	$(PY) -m abi3audit --strict $(WHEELS)/*.whl
	tests/python-versions.sh $(WHEELS)/*.whl
	cd python/tests && ../../$(PY) -m pytest -q -rs .

# Everything is built once: what would speed up a second build only costs time. Once all is built, three at a time: the longest test
# of a crate would leave a core idle.
test: export CARGO_INCREMENTAL = 0
test: export PROGRAM = tested
test:
	$(MAKE) built-and-linted
	$(MAKE) -j3 --output-sync=target unit python-quick instructions-tested repeatable torture claims

# Where nothing has been built yet, each crate of ours is linted when it is compiled, and those of others are read once; benches are
# then linted by `make check` alone, which is in `make test-all`. What was built already was built without lints.
built-and-linted: $(if $(wildcard target/debug),check tested,linted)

linted:
	$(CARGO) fmt --all --check
	@command -v clippy-driver >/dev/null || { echo "clippy is missing: rustup component add clippy" >&2; exit 1; }
	RUSTC_WRAPPER="$(CURDIR)/tests/lint-as-built.py" $(CARGO) test --workspace --locked --no-run

## The gate, and then all that takes longer: less than three hours. First what keeps every core busy, and the clients, whose rates are
## measured in the machine's time; then two by two what has parts that keep one core. `make mutants` and `make databases` are not in it.
test-all: test
	$(MAKE) long RUNS=10000

# Built as `make test` builds, so that nothing is compiled anew.
long: export CARGO_INCREMENTAL = 0
long: build
	$(MAKE) check instructions torture claims-all quick-against-full clients
	$(MAKE) -j2 --output-sync=target repeatable properties power-cuts fuzz reference fio page python-all

clean:
	$(CARGO) clean
