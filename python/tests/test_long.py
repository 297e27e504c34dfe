"""What takes minutes: a fleet beside drives that live through it, speed, the tutorial, the search."""

from __future__ import annotations

import pathlib
import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import ssdlab

pytestmark = pytest.mark.slow

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "python"


def test_twenty_drives_lived_through_agree_with_what_is_told():
    work = [
        ssdlab.Workload("office", drive_writes_per_day=0.01, hot_percent=20),
        ssdlab.Workload("log", drive_writes_per_day=0.02, random_percent=10, weight=0.5),
    ]
    fleet = ssdlab.fleet("ultra-ii-240gb", work, drives=2000, years=5, small=64)
    drawn = random.Random(1).sample(range(2000), 20)
    with ThreadPoolExecutor(2) as pool:
        checks = list(pool.map(lambda d: fleet.check(d, days=5 * 365.25, progress=False), drawn))
    for name, allowed in (("wear", 0.03), ("waf", 0.03), ("write_p99_us", 0.10), ("read_p99_us", 0.10)):
        for klass in ("office", "log"):
            of_class = [c for c in checks if c["class"] == klass]
            off = [c["told"][name] / c["lived"][name] - 1 for c in of_class]
            writes = [c["drive_writes"] for c in of_class]
            print(f"{klass}, {len(off)} drives, {min(writes):.0f} to {max(writes):.0f} drive writes: {name}", end=" ")
            print(f"mean {np.mean(off):+.2%}, {min(off):+.2%} to {max(off):+.2%}")
            assert max(map(abs, off)) <= allowed, (name, off)


def test_two_thousand_drives_over_five_years_take_minutes():
    began = time.perf_counter()
    work = [ssdlab.Workload("office", hot_percent=20), ssdlab.Workload("log", random_percent=10)]
    fleet = ssdlab.fleet({"ultra-ii-240gb": 2, "bx100-500gb": 1}, work, drives=2000, years=5, ambient=(35, 4))
    fleet.report()
    assert time.perf_counter() - began < 600


def test_batches_run_at_two_million_a_second():
    drive = ssdlab.Drive("m600-256gb")
    drive.submit("write", np.arange(0, 8 << 30, 131_072), 131_072, queue_depth=32)
    drive.advance()
    offsets = np.random.default_rng(1).integers(0, (8 << 30) // 4096, 1_000_000) * 4096
    best = 0.0
    for _ in range(5):
        began = time.perf_counter()
        drive.submit("write", offsets, 4096, queue_depth=32)
        drive.advance()["completed"]
        best = max(best, len(offsets) / (time.perf_counter() - began))
    print(f"{best / 1e6:.1f} million commands a second")
    assert best > 2e6


def test_the_tutorial_runs():
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    notebook = nbformat.read(EXAMPLES / "tutorial.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=600).execute()
    shown = [o["data"] for c in notebook.cells if c.cell_type == "code" for o in c.outputs if "data" in o]
    assert any("vega" in kind or "vega" in str(what) for data in shown for kind, what in data.items()), "a chart was drawn"


def test_the_search_finds_trade_offs():
    pytest.importorskip("optuna")
    ran = subprocess.run([sys.executable, EXAMPLES / "optuna_search.py", "8"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "gc.policy" in ran.stdout


def test_the_model_of_scaling_runs():
    ran = subprocess.run([sys.executable, EXAMPLES / "scaling.py", "--measure", "--points", "10000"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "results a second" in ran.stdout
