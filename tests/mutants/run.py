#!/usr/bin/env python3
"""Deliberate faults: what share of them the tests catch, and which layer does (docs/torture.md, "Deliberate faults").

    tests/mutants/run.py [--drawn N] [--seed S] [--jobs J] [--fresh] [--list] [NAME ...]

Faults are those of faults.toml, and N that cargo-mutants finds, drawn by a seed. Each is put into a copy of the tracked
tree, alone; the tests are built and run layer by layer, cheapest first, until one fails. A fault that does not compile does
not count: of drawn ones the next in line takes its place, a written one is an error of the list. With names only these
faults are run, and no results are written. Results come to target/mutants/results.tsv as they are known; a run that is begun
again goes on where it was. Where only tests have changed since, survivors are run again, and what was caught counts as
caught; where sources of the drive have changed, everything is. A fault that has changed in faults.toml is run again.

Exit code 0: at least 95 % of the faults that are not excused were caught; 1: fewer; 2: no answer.
"""

import argparse
import collections
import hashlib
import itertools
import json
import os
import pathlib
import queue
import re
import resource
import signal
import subprocess
import sys
import threading
import time
import tomllib
import traceback

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WORK = ROOT / "target" / "mutants"
CARGO = os.environ.get("CARGO", "cargo")
CARGO_MUTANTS = os.environ.get("CARGO_MUTANTS", str(ROOT / "target/tools/bin/cargo-mutants"))
PACKAGES = ["ssdlab-ecc", "ssdlab-nand", "ssdlab-ftl", "ssdlab-ssd"]
ENOUGH_PERCENT = 95.0
MEMORY_BYTES = 8 << 30
# Quick to build again after a change, and optimised enough that tests do not take longer than that.
PROFILE = {"opt-level": "1", "debug": "false", "incremental": "true", "codegen-units": "256", "lto": '"off"'}

# What is built at once, in the order of the layers; and what each crate's sources are part of.
STAGES = [["ssdlab-device", "ssdlab-ecc", "ssdlab-nand", "ssdlab-ftl"], ["ssdlab-ssd"], ["ssdlab-torture"]]
PART_OF = {
    "device": {"ssdlab-device", "ssdlab-ssd", "ssdlab-torture"},
    "ecc": {"ssdlab-ecc", "ssdlab-ssd", "ssdlab-torture"},
    "nand": {"ssdlab-nand", "ssdlab-ecc", "ssdlab-ftl", "ssdlab-ssd", "ssdlab-torture"},
    "ftl": {"ssdlab-ftl", "ssdlab-ssd", "ssdlab-torture"},
    "ssd": {"ssdlab-ssd", "ssdlab-torture"},
}
# Layer, and its test programs: package, whether it is the library's own tests, and arguments. Unit tests of the drive come
# after the translation layer's property tests, as it takes longer to build.
LAYERS = [
    ("unit", [(f"ssdlab-{crate}", "lib", []) for crate in ("device", "ecc", "nand", "ftl")] + [("ssdlab-nand", "it", [])]),
    ("theory", [("ssdlab-ecc", "it", [])]),
    ("properties", [("ssdlab-ftl", "it", [])]),
    ("unit", [("ssdlab-ssd", "lib", [])]),
    ("timing", [("ssdlab-ssd", "it", ["timing::"])]),
    ("drive", [("ssdlab-ssd", "it", ["--skip", "timing::"])]),
    ("torture", [("ssdlab-torture", "it", ["--ignored", "--exact", "until_one_fails::torture_until_one_fails"])]),
    ("power cuts", [("ssdlab-torture", "it", ["--ignored", "--exact", "until_one_fails::power_cuts_until_one_fails"])]),
]


class Fault:
    """`apply` gives the text of `file` with the fault in it; `change` says what it does there, and a result counts for that
    alone."""

    def __init__(self, name, group, file, apply, written, change):
        self.name, self.group, self.file, self.apply, self.written = name, group, file, apply, written
        self.change = hashlib.sha256("\0".join((file, *change)).encode()).hexdigest()[:16]


def fail(message):
    print(f"mutants: {message}", file=sys.stderr)
    sys.exit(2)


def written_faults():
    faults = []
    for entry in tomllib.loads((HERE / "faults.toml").read_text())["fault"]:
        def apply(text, find=entry["find"], replace=entry["replace"], name=entry["name"]):
            if text.count(find) != 1:
                fail(f"{name}: `find` occurs {text.count(find)} times in the file, not once")
            return text.replace(find, replace)
        faults.append(Fault(entry["name"], entry["group"], entry["file"], apply, True, (entry["find"], entry["replace"])))
    for fault in faults:
        fault.apply((ROOT / fault.file).read_text())
        if fault.file.split("/")[1] not in PART_OF:
            fail(f"{fault.name}: nothing is known of the tests of {fault.file}")
    if len({fault.name for fault in faults}) != len(faults):
        fail("two faults have the same name")
    return faults


def drawn_faults(tree, seed):
    """All that cargo-mutants finds, in an order that follows from the seed and from names without line numbers, so that a
    change elsewhere draws the same faults again."""
    command = [CARGO_MUTANTS, "mutants", "--list", "--json"] + [w for p in PACKAGES for w in ("-p", p)]
    listed = subprocess.run(command, cwd=tree, capture_output=True, text=True)
    if listed.returncode != 0:
        fail(f"cargo-mutants: {listed.stderr.strip()}")
    seen, faults = collections.Counter(), []
    for mutant in sorted(json.loads(listed.stdout), key=lambda m: (m["file"], position(m["span"]["start"]), m["name"])):
        name = re.sub(r":\d+:\d+: ", ": ", mutant["name"], count=1)
        seen[name] += 1
        if seen[name] > 1:
            name += f" #{seen[name]}"
        def apply(text, span=mutant["span"], replacement=mutant["replacement"]):
            lines = text.splitlines(keepends=True)
            at = [sum(map(len, lines[:p["line"] - 1])) + p["column"] - 1 for p in (span["start"], span["end"])]
            return text[:at[0]] + replacement + text[at[1]:]
        group = "drawn: " + mutant["package"].removeprefix("ssdlab-")
        faults.append(Fault(name, group, mutant["file"], apply, False, (name, mutant["replacement"])))
    faults.sort(key=lambda fault: hashlib.sha256(f"{seed} {fault.name}".encode()).digest())
    return faults


def position(p):
    return (p["line"], p["column"])


def tracked():
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    files = [pathlib.Path(name.decode()) for name in names.split(b"\0") if name]
    return [file for file in files if (ROOT / file).is_file()]


def crates_concerned():
    """Folders of our crates that the drive is made of, and of those that its tests are made of as well."""
    command = [CARGO, "metadata", "--format-version", "1", "--locked"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if listed.returncode != 0:
        fail(f"cargo metadata: {listed.stderr.strip()}")
    metadata = json.loads(listed.stdout)
    ours = {p["id"]: p for p in metadata["packages"] if p["source"] is None}
    nodes = {node["id"]: node["deps"] for node in metadata["resolve"]["nodes"]}

    def closure(names, kinds):
        left, found = [i for i, p in ours.items() if p["name"] in names], set()
        while left:
            if (package := left.pop()) not in found:
                found.add(package)
                needed = (d for d in nodes[package] if any(kind["kind"] in kinds for kind in d["dep_kinds"]))
                left += [d["pkg"] for d in needed if d["pkg"] in ours]
        return {pathlib.Path(ours[package]["manifest_path"]).parent.name for package in found}

    return closure(PACKAGES, [None, "build"]), closure([p for stage in STAGES for p in stage], [None, "build", "dev"])


def fingerprints(files, what):
    """Of what faults are put into, and of what is to catch them. Unit tests stand at the end of their file. What a fault is has
    a digest of its own in its result."""
    sources, tests = hashlib.sha256(what.encode()), hashlib.sha256(what.encode())
    of_drive, of_tests = crates_concerned()
    for file in files:
        of_crate = file.parts[0] == "crates" and file.parts[1] in of_tests
        # Drive files, which tests take from the crate of this name.
        of_catalog = file.parts[0] == "catalog" and "catalog" in of_tests
        if not (of_crate or of_catalog) and str(file) not in ("Cargo.toml", "Cargo.lock"):
            continue
        content = (ROOT / file).read_bytes()
        product = "tests" not in file.parts and not of_catalog and (not of_crate or file.parts[1] in of_drive)
        before_tests = re.split(rb"^#\[cfg\(test\)\]\nmod ", content, maxsplit=1, flags=re.M)[0] if product else b""
        for digest, part in ((sources, before_tests), (tests, content)):
            if part:
                digest.update(str(file).encode() + b"\0" + hashlib.sha256(part).digest())
    return sources.hexdigest()[:16], tests.hexdigest()[:16]


def copy_tree(files, tree):
    """Only what differs is written, so that what has been built stays."""
    for file in files:
        content, to = (ROOT / file).read_bytes(), tree / file
        if not to.is_file() or to.read_bytes() != content:
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(content)
    known = set(files)
    for file in list(tree.rglob("*.rs")):
        if file.relative_to(tree) not in known:
            file.unlink()


class Job:
    """One copy of the tree, with what has been built of it."""

    def __init__(self, number, files):
        self.tree, self.target = WORK / f"tree-{number}", WORK / f"build-{number}"
        copy_tree(files, self.tree)
        self.limits = {}
        self.build_s = self.test_s = 0.0

    def build(self, packages):
        """Test programs by package and kind; `None` if they do not compile."""
        begin = time.monotonic()
        profile = [w for key, value in PROFILE.items() for w in ("--config", f"profile.dev.{key}={value}")]
        command = [CARGO, "test", "--no-run", "--locked", "--lib", "--tests", "--message-format=json"] + profile
        command += [w for p in packages for w in ("-p", p)]
        env = dict(os.environ, CARGO_TARGET_DIR=str(self.target), RUSTFLAGS="--cap-lints=warn")
        env.pop("CARGO_INCREMENTAL", None)
        built = subprocess.run(command, cwd=self.tree, env=env, capture_output=True, text=True)
        self.build_s += time.monotonic() - begin
        if built.returncode != 0:
            self.error = built.stderr
            return None
        programs = {}
        for line in built.stdout.splitlines():
            message = json.loads(line)
            if message.get("executable"):
                package = "ssdlab-" + pathlib.Path(message["manifest_path"]).parent.name
                programs[package, "lib" if "lib" in message["target"]["kind"] else "it"] = message["executable"]
        return programs

    def run_layers(self, concerned):
        """Builds and runs the tests of the packages concerned. Outcome, the first layer that catches, and what did: a test, a
        time-out, a signal."""
        self.build_s = self.test_s = 0.0
        built = {}
        for layer, runs in LAYERS:
            for package, kind, arguments in (run for run in runs if run[0] in concerned):
                if (package, kind) not in built:
                    stage = next(stage for stage in STAGES if package in stage)
                    programs = self.build([p for p in stage if p in concerned])
                    if programs is None:
                        return "compiler", "-", "-"
                    built |= programs
                begin = time.monotonic()
                by = self.run_tests(layer, package, built[package, kind], arguments)
                self.test_s += time.monotonic() - begin
                if by:
                    return "caught", layer, by
        return "survived", "-", "-"

    def run_tests(self, layer, package, program, arguments):
        """What fails first, if anything does. Processor time is limited, not time by the clock, which others may delay."""
        key = (layer, package, program.rsplit("-", 1)[0])
        limit = int(30 + 5 * self.limits[key]) if key in self.limits else 600

        def limited():
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        env = dict(os.environ, RUST_TEST_THREADS="1", PROPTEST_RNG_SEED="1", RUST_BACKTRACE="0")
        before = time.monotonic()
        process = subprocess.Popen([program] + arguments, cwd=self.tree / "crates" / package.removeprefix("ssdlab-"), env=env,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, preexec_fn=limited)
        by_clock = threading.Timer(20 * limit, process.kill)
        by_clock.start()
        current, failed, ended, passed = "", None, False, 0
        for line in process.stdout:
            test = re.match(r"test (\S+)(?: - should panic)? \.\.\. ?(.*)", line)
            if test:
                current = test[1]
                passed += test[2].startswith("ok")
            if re.match(r"test \S+.* \.\.\. FAILED", line) or line.strip() == "FAILED":
                failed = current
                break
            ended |= line.startswith("test result:")
        if failed:
            process.kill()
        code = process.wait()
        by_clock.cancel()
        if failed:
            return failed
        if code == 0 and ended:
            if passed == 0:
                fail(f"no test ran in layer {layer}: {program} {arguments}")
            self.limits.setdefault(key, time.monotonic() - before)
            return None
        if code in (-signal.SIGXCPU, -signal.SIGKILL):
            return f"time-out: after {limit} s of processor time"
        return f"ended by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"

    def sound(self):
        """The tree without a fault passes; and how long that takes."""
        outcome, layer, by = self.run_layers({package for stage in STAGES for package in stage})
        if outcome != "survived":
            fail(f"the tree without a fault fails in layer {layer}: {by}{getattr(self, 'error', '')}")

    def run_fault(self, fault):
        """Outcome, layer, what caught it."""
        path = self.tree / fault.file
        sound = path.read_bytes().decode()
        try:
            path.write_bytes(fault.apply(sound).encode())
            return self.run_layers(PART_OF[pathlib.Path(fault.file).parts[1]])
        finally:
            path.write_bytes(sound.encode())


def still_valid(lines, faults, same_tests):
    """Lines of earlier results that count: whole ones, not of faults that have changed; of survivors, where tests are the same.
    Those of faults that are not listed this time are kept for a run that does."""
    changes = {fault.name: fault.change for fault in faults}
    rows = [line.split("\t") for line in lines if line.count("\t") == 7]
    of_this = [row for row in rows if changes.get(row[1], row[7]) == row[7]]
    return ["\t".join(row) for row in of_this if same_tests or row[2] != "survived"]


class Campaign:
    def __init__(self, args, faults, results, known):
        self.faults, self.results, self.known = faults, results, known
        self.lock, self.drawn_left = threading.Lock(), args.drawn
        self.rows, self.broken = {}, []
        self.line = iter(faults)

    def next_fault(self):
        """The next fault that has no result yet. A drawn one takes a place, which is given back if it does not compile."""
        with self.lock:
            for fault in self.line:
                if not fault.written:
                    if self.drawn_left == 0:
                        # It is the next in line, should another not compile.
                        self.line = itertools.chain([fault], self.line)
                        return None
                    self.drawn_left -= 1
                if fault.name not in self.known:
                    return fault
                self.note(fault, self.known[fault.name])
            return None

    def note(self, fault, row):
        self.rows[fault.name] = (fault, row)
        if row[0] == "compiler":
            if fault.written:
                self.broken.append(fault.name)
            else:
                self.drawn_left += 1

    def work(self, job):
        while fault := self.next_fault():
            row = (*job.run_fault(fault), f"{job.build_s:.1f}", f"{job.test_s:.1f}")
            with self.lock:
                self.note(fault, row)
                line = "\t".join((fault.group, fault.name) + row + (fault.change,))
                print(line, flush=True)
                if self.results:
                    self.results.write(line + "\n")
                    self.results.flush()


def table(campaign, excused):
    """Shares by group and layers; returns whether enough were caught."""
    counted = [(fault, row) for fault, row in campaign.rows.values() if row[0] != "compiler"]
    survivors = [fault.name for fault, row in counted if row[0] == "survived"]
    kinds = ["written", "drawn"]
    print("\n| faults | run | caught | excused | share |\n|---|---|---|---|---|")

    def share(title, rows):
        caught = sum(row[0] == "caught" for _, row in rows)
        free = sum(row[0] == "survived" and fault.name in excused for fault, row in rows)
        percent = 100.0 * caught / max(1, len(rows) - free)
        print(f"| {title} | {len(rows)} | {caught} | {free} | {percent:.1f} % |")
        return percent

    for group in dict.fromkeys(fault.group for fault, _ in counted):
        share(group, [r for r in counted if r[0].group == group])
    for kind, written in zip(kinds, (True, False)):
        share(f"all {kind}", [r for r in counted if r[0].written == written])
    percent = share("all", counted)
    print("\n| layer | caught first |\n|---|---|")
    for layer in dict.fromkeys(layer for layer, _ in LAYERS):
        print(f"| {layer} | {sum(row[1] == layer for _, row in counted)} |")
    print(f"\nof these by a time-out: {sum(row[2].startswith('time-out') for _, row in counted)}")
    print(f"did not compile, and did not count: {len(campaign.rows) - len(counted)}")
    seconds = [[float(row[k]) for _, row in counted] for k in (3, 4)]
    if counted:
        print(f"seconds for each: {sum(seconds[0]) / len(counted):.1f} to build, {sum(seconds[1]) / len(counted):.1f} of tests")
    for name in survivors:
        print(f"survived{' (excused)' if name in excused else ''}: {name}")
    return percent >= ENOUGH_PERCENT


def main():
    parser = argparse.ArgumentParser(description="Deliberate faults, and which layer of tests catches them.")
    parser.add_argument("names", nargs="*", help="only faults whose name holds one of these")
    parser.add_argument("--drawn", type=int, default=100, help="faults that are drawn from cargo-mutants (100)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    parser.add_argument("--list", action="store_true", help="print the faults, run nothing")
    args = parser.parse_args()
    begin = time.monotonic()
    files = tracked()
    WORK.mkdir(parents=True, exist_ok=True)
    jobs = [Job(number, files) for number in range(max(1, args.jobs))]
    faults = written_faults() + (drawn_faults(jobs[0].tree, args.seed) if args.drawn else [])
    excused = {}
    if (HERE / "excused.toml").exists():
        listed = tomllib.loads((HERE / "excused.toml").read_text()).get("excused", [])
        excused = {entry["name"]: entry["proof"] for entry in listed}
        if unknown := set(excused) - {fault.name for fault in faults} if args.drawn else set():
            fail(f"excused, but no such fault: {', '.join(sorted(unknown))}")
    if args.names:
        faults = [fault for fault in faults if any(name in fault.name for name in args.names)]
        args.drawn = len(faults)
    if args.list:
        for fault in faults:
            print(f"{fault.group}\t{fault.name}\t{fault.file}")
        return 0
    path, known, kept = WORK / "results.tsv", {}, []
    prints = fingerprints(files, f"{LAYERS} {PROFILE}")
    if path.exists() and not args.fresh and not args.names:
        first, *lines = path.read_text().splitlines() or [""]
        sources, _, tests = first.partition("\t")
        if sources == prints[0]:
            kept = still_valid(lines, faults, tests == prints[1])
            known = {row[1]: tuple(row[2:-1]) for row in (line.split("\t") for line in kept)}
    results = None
    if not args.names:
        path.write_text("\n".join(["\t".join(prints)] + kept) + "\n")
        results = path.open("a")
    campaign = Campaign(args, faults, results, known)
    errors = queue.Queue()

    def work(job):
        try:
            job.sound()
            print(f"# without a fault: {job.build_s:.0f} s to build, {job.test_s:.0f} s of tests", flush=True)
            campaign.work(job)
        except (SystemExit, Exception) as error:  # handed to the main thread, which ends the program
            errors.put(error)

    threads = [threading.Thread(target=work, args=(job,), daemon=True) for job in jobs]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    if not errors.empty():
        error = errors.get()
        if not isinstance(error, SystemExit):
            traceback.print_exception(error)
            sys.exit(2)
        raise error
    enough = table(campaign, excused)
    print(f"{(time.monotonic() - begin) / 60:.0f} minutes by the clock, {args.jobs} jobs")
    if campaign.broken:
        fail(f"these do not compile: {', '.join(campaign.broken)}")
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main())
