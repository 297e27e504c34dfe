"""Every test runs on the installed package; the command is the one that is installed with it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest


def command(*words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    ran = subprocess.run([sys.executable, "-m", "ssdlab", *words], capture_output=True, text=True)
    if check:
        assert ran.returncode == 0, ran.stderr
    return ran


@pytest.fixture
def cli() -> Any:
    return command


@pytest.fixture
def cli_json() -> Any:
    return lambda *words: json.loads(command(*words).stdout)


SMALL_SWEEP = """
title = "two policies"
drive = "ideal-32die"
[set]
[grid]
test.queue_depth = [1, 4]
[[test]]
name = "random-write"
[test.set]
seconds = 1
span_bytes = "64MB"
"""

#: Forty points that take some hundredths of a second each.
FORTY = """
title = "forty"
drive = "ideal-32die"
[grid]
test.queue_depth = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32]
test.block_size = [4096, 8192, 16384, 32768]
[[test]]
name = "random-write"
[test.set]
seconds = 1
span_bytes = "64MB"
"""
