#!/usr/bin/env python3
"""Compiles a crate, and lints it if it is ours: cargo's `RUSTC_WRAPPER`.

`cargo clippy` reads every crate of others a second time before it comes to ours. Here the lints see those that the tests have
been built with. Like a compiler error, a lint fails the crate, which is compiled and linted again the next time. A library that
is compiled a second time with its unit tests is linted then; the first time the compiler's own warnings are errors, so that what
only tests use is found. What stands behind `cfg(not(test))` is linted by `make check` alone.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path


def has_unit_tests() -> bool:
    """Whether the tests of this package compile its library once more."""
    manifest = Path(os.environ["CARGO_MANIFEST_DIR"], "Cargo.toml").read_text()
    library = manifest.partition("[lib]")[2].partition("\n[")[0]
    return "test = false" not in library.splitlines()


def main() -> int:
    compile_it = sys.argv[1:]
    ours = "CARGO_PRIMARY_PACKAGE" in os.environ and "--crate-name" in compile_it
    is_library = ours and "lib" in compile_it and "--test" not in compile_it
    linted_with_its_tests = is_library and has_unit_tests()
    # Cargo's job server is open to both.
    deny = ["-D", "warnings"] if linted_with_its_tests else []
    done = subprocess.run(compile_it + deny, close_fds=False).returncode
    if done or not ours or linted_with_its_tests:
        return done
    with tempfile.TemporaryDirectory() as scratch:
        lint = ["clippy-driver"]
        words = iter(compile_it)
        for word in words:
            if word == "--out-dir":
                next(words)
            elif word == "-C":
                value = next(words)
                if not value.startswith("incremental="):
                    lint += [word, value]
            elif word.startswith("--json="):
                # Of what is compiled cargo hears from the compiler alone.
                kinds = word.removeprefix("--json=").split(",")
                lint.append("--json=" + ",".join(kind for kind in kinds if kind != "artifacts"))
            elif not word.startswith("--emit="):
                lint.append(word)
        lint += ["--emit=metadata", "--out-dir", scratch, "-D", "warnings"]
        return subprocess.run(lint, close_fds=False).returncode


sys.exit(main())
