#!/usr/bin/env python3
"""Compiles a crate, and lints it if it is ours: cargo's `RUSTC_WRAPPER`.

`cargo clippy` reads every crate of others a second time before it comes to ours. Here the lints see those that the tests have
been built with. Like a compiler error, a lint fails the crate, which is compiled and linted again the next time.
"""

import os
import subprocess
import sys
import tempfile


def main() -> int:
    compile_it = sys.argv[1:]
    # Cargo's job server is open to both.
    done = subprocess.run(compile_it, close_fds=False).returncode
    ours = "CARGO_PRIMARY_PACKAGE" in os.environ and "--crate-name" in compile_it
    if done or not ours:
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
