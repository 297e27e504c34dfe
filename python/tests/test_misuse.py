"""What nobody should do: an exception with words, and everything as it was before."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from datetime import datetime

import numpy as np
import pytest
import ssdlab
from ssdlab import _native
from test_policies import PAGES, greedy, overwrite, small

NAN, INF = float("nan"), float("inf")
SHORT = {"seconds": 1, "span_bytes": "64MB"}
TABLE = {"time": [0, 1000], "offset": [0, 4096], "length": [4096, 4096], "op": ["read", "write"]}


class Lengthy:
    """Says that it is longer than it is."""

    def __len__(self):
        return 5

    def __array__(self, dtype=None, copy=None):
        return np.arange(3) * 4096


class Broken:
    def __len__(self):
        return 1

    def __array__(self, dtype=None, copy=None):
        raise LookupError("no array")


def itself():
    listed: list[object] = []
    listed.append(listed)
    return listed


def settings(**params):
    return lambda d: d.test("random-write", **{**SHORT, **params})


def table(**columns):
    return lambda d: d.replay({**TABLE, **columns}, prefill=False, time_unit="us")


def replay(**words):
    return lambda d: d.replay(TABLE, **{"time_unit": "us", "prefill": False, **words})


def dates(unit, *values):
    return lambda d: d.replay({**TABLE, "time": np.array(values, dtype=f"M8[{unit}]")}, prefill=False)


CALLS = [
    # Wrong units, and numbers that are none.
    (settings(seconds=NAN), ssdlab.ParameterError),
    (settings(seconds=INF), ssdlab.ParameterError),
    (settings(seconds=-1), ssdlab.ParameterError),
    (settings(seconds=10**400), ssdlab.ParameterError),
    (settings(seconds="8GB"), ssdlab.ParameterError),
    (settings(span_bytes="5 parsecs"), ssdlab.ParameterError),
    (replay(time_unit="minutes"), ValueError),
    (replay(time_unit=3), ValueError),
    (replay(speed="warp"), ValueError),
    (replay(speed="nanx"), ValueError),
    (replay(speed="-1x"), ValueError),
    (table(time=np.array([0, 1], dtype="M8[s]")), ValueError),
    (dates("s", 0, "NaT"), ValueError),
    (dates("s", 0, 2**62), ValueError),
    (dates("s", -(2**63) + 1, 2**63 - 1), ValueError),
    (dates("Y", 0, 2**40), ValueError),
    (dates("ps", 0, 1), TypeError),
    (table(time=[0.0, 1e300]), ValueError),
    (table(time=[0, 2**63]), ValueError),
    (replay(time_unit="s", queue_depth=0), ValueError),
    (replay(queue_depth=65_537), ValueError),
    (lambda d: ssdlab.raid0("ideal-32die", "ideal-32die", stripe="-4KiB"), ssdlab.DriveFileError),
    # Wrong types.
    (settings(seconds=b"1"), TypeError),
    (settings(seconds=None), TypeError),
    (settings(seconds={}), TypeError),
    (settings(seconds=itself()), RecursionError),
    (settings(quick="no"), TypeError),
    (settings(quick=0), TypeError),
    (settings(progress="yes"), TypeError),
    (settings(records="all"), TypeError),
    (settings(records=-1), ValueError),
    (settings(records=NAN), TypeError),
    (settings(seed=True), TypeError),
    (settings(seed=2**64), ValueError),
    (lambda d: d.test(3), TypeError),
    (lambda d: d.test("\ud800"), UnicodeError),
    (replay(prefill="no"), TypeError),
    (replay(placement="fold"), ValueError),
    (replay(devices=None), ValueError),
    (replay(speed=3), TypeError),
    (replay(queue_depth=True), TypeError),
    (replay(format="blkparse"), ValueError),
    (lambda d: d.replay(None), TypeError),
    (lambda d: d.replay([1, 2]), TypeError),
    (lambda d: d.run(3), TypeError),
    (lambda d: d.run("[j]\nrw=write\nsize=1m\n", prefill="all"), ValueError),
    (lambda d: d.run("[j]\nrw=write\nsize=1m\n", prefill=""), ValueError),
    (lambda d: d.run("[j]\nrw=write\nsize=1m\n", prefill=False), TypeError),
    (lambda d: d.run("[j]\nrw=write\nsize=1m\n", variables={"a": 3}), TypeError),
    (lambda d: d.run(ssdlab.Job("j", rw="write", size=NAN)), ssdlab.JobFileError),
    (lambda d: ssdlab.Job("j", rw=None), TypeError),
    (lambda d: ssdlab.Drive(3), TypeError),
    (lambda d: ssdlab.Drive("a\0b.toml"), ssdlab.DriveFileError),
    (lambda d: ssdlab.Drive("\ud800"), UnicodeError),
    (lambda d: ssdlab.Drive("ideal-32die", explain="no"), TypeError),
    (lambda d: ssdlab.Drive.from_toml(3), TypeError),
    (lambda d: ssdlab.raid0(), ssdlab.DriveFileError),
    (lambda d: ssdlab.raid0(3), TypeError),
    (lambda d: ssdlab.Drive("raid0(" * 5000 + "ideal-32die" + ")" * 5000), ssdlab.DriveFileError),
    (lambda d: ssdlab.Drive("raid0(ideal-32die*1000000000)"), ssdlab.DriveFileError),
    (lambda d: ssdlab.review([]), ValueError),
    (lambda d: ssdlab.review(d, only=[3]), TypeError),
    (lambda d: ssdlab.review(d, threads=0), ValueError),
    (lambda d: ssdlab.compare(3, 4), TypeError),
    (lambda d: ssdlab.sweep(3), TypeError),
    (lambda d: ssdlab.fleet(d, []), ValueError),
    (lambda d: ssdlab.fleet(d, "office"), TypeError),
    (lambda d: ssdlab.fleet(d, ssdlab.Workload("w"), ambient=30), TypeError),
    (lambda d: ssdlab.fleet(d, ssdlab.Workload("w"), ambient=(NAN, 0)), ValueError),
    (lambda d: ssdlab.fleet({d: NAN}, ssdlab.Workload("w")), ValueError),
    (lambda d: ssdlab.fleet(d, ssdlab.Workload("w", spread=INF)), ValueError),
    (lambda d: ssdlab.fleet(d, ssdlab.Workload("w"), seed=2**63), ValueError),
    (lambda d: ssdlab.fleet(d, ssdlab.Workload("w"), small=3000), ValueError),
    (lambda d: ssdlab.Workload(3), TypeError),
    (lambda d: ssdlab.Workload("w", fill_percent=1.5), TypeError),
    (lambda d: ssdlab.Workload("w", queue_depth="4"), TypeError),
    (lambda d: ssdlab.Workload("w", weight="1"), TypeError),
    (lambda d: ssdlab.Workload("w", read_percent=-1), ValueError),
    (lambda d: ssdlab.fleet(d, ssdlab.Workload("w", trace={"offset": [2**64 - 512], "length": [1024], "op": ["write"]})), ssdlab.TraceError),
    (lambda d: ssdlab.fleet(d, ssdlab.Workload("w", trace={"offset": [0], "length": [2**62], "op": ["write"]})), ssdlab.BadInput),
    (lambda d: d.load("/"), ssdlab.RunError),
    (lambda d: d.save("/"), ssdlab.RunError),
    (lambda d: d.load(__file__), ssdlab.RunError),
    (lambda d: d.submit("write", np.array([None, 1], dtype=object), 4096), TypeError),
    (lambda d: d.submit("write", np.zeros(3, dtype=[("a", "i4")]), 4096), TypeError),
    (lambda d: _native.Live(), TypeError),
    (lambda d: pickle.dumps(d._native), TypeError),
    # Arrays of the wrong length and shape.
    (lambda d: d.submit("write", [[0]], 4096), ValueError),
    (lambda d: d.submit("write", [[0], [1, 2]], 4096), (ValueError, TypeError)),
    (lambda d: d.submit("write", [0, 0], 4096, at=[1]), ValueError),
    (lambda d: d.submit(["write"], [0, 0], 4096), ValueError),
    (lambda d: d.submit(b"write", [0], 4096), ValueError),
    (lambda d: d.submit("write", Lengthy(), 4096), ValueError),
    (lambda d: d.submit("write", Broken(), 4096), LookupError),
    (lambda d: d.submit("write", None, 4096), TypeError),
    (lambda d: d.submit("write", {"a": 1}, 4096), TypeError),
    (lambda d: d.submit("write", b"abc", 4096), TypeError),
    (lambda d: d.submit("write", [1j], 4096), TypeError),
    (table(offset=[]), ValueError),
    (table(op=[]), ValueError),
    (lambda d: d.replay({**TABLE, "time": [[0, 1]]}, time_unit="us"), ValueError),
    (lambda d: d.replay({name: [] for name in TABLE}, time_unit="us", prefill=False), ssdlab.TraceError),
    (lambda d: d.replay({"time": []}, time_unit="us"), ValueError),
    # Addresses and times beyond every bound.
    (lambda d: d.submit("write", [2**64 - 4096], 4096), ValueError),
    (lambda d: d.submit("write", [2**64], 4096), ValueError),
    (lambda d: d.submit("write", [0], [2**64 - 4096]), ValueError),
    (lambda d: d.submit([9], [0], 4096), ValueError),
    (lambda d: d.submit("write", [0], 4096, at=[NAN]), ValueError),
    (lambda d: d.submit("write", [0], 4096, at=[2**63]), ValueError),
    (lambda d: d.submit("write", [0], 4096, at=[366 * 86_400 * 10**9 + 1]), ValueError),
    (lambda d: d.submit("write", [0], 4096, at=np.array(["NaT"], dtype="m8[ns]")), ValueError),
    (lambda d: d.submit("write", [0], 4096, at=np.array([-5], dtype="m8[s]")), ValueError),
    (lambda d: d.submit("write", [0], 4096, at=np.array([2**62], dtype="m8[s]")), ValueError),
    (lambda d: d.submit("write", [0], 4096, at=np.array([1], dtype="m8[Y]")), TypeError),
    (lambda d: d.submit("write", [0], 4096, at=np.array([0], dtype="M8[ns]")), TypeError),
    (lambda d: d.submit("write", [0], 4096, fua="yes"), TypeError),
    (lambda d: d.submit("write", [0], 4096, queue_depth=2**64), ValueError),
    (lambda d: d.advance(2**64 - 1), ValueError),
    (lambda d: d.advance(2**64), ValueError),
    (lambda d: d.advance(NAN), TypeError),
]


@pytest.fixture(scope="module")
def drive():
    return small()


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_misuse_is_an_exception_and_changes_nothing(drive, number):
    call, error = CALLS[number]
    with pytest.raises(error) as caught:
        call(drive)
    assert str(caught.value) and "panic" not in str(caught.value)
    assert drive.in_flight == 0 and drive.now == 0 and drive.counters()["host"]["writes"] == 0


@pytest.mark.parametrize(
    "change",
    [{"workers": -1}, {"workers": 0}, {"workers": 1.5}, {"threads": 0}, {"retries": -1}, {"out": 3}, {"executor": object()}],
)
def test_a_sweep_that_cannot_run_is_refused(change):
    from conftest import SMALL_SWEEP

    with pytest.raises((TypeError, ValueError)):
        ssdlab.sweep(SMALL_SWEEP, **change)


def test_dates_and_durations_of_every_unit_are_times(drive):
    def submitted(times):
        return drive.replay({**TABLE, "time": times}, prefill=False, records=True).records["submitted"].tolist()

    begin = datetime(2024, 1, 1)
    expected = submitted(np.array([0, 60], dtype="m8[s]"))
    assert expected[-1] == 60 * 10**9
    for unit, minutes in (("m", 1), ("s", 60), ("ms", 60_000), ("us", 60_000_000), ("ns", 60_000_000_000)):
        assert submitted(np.array([0, minutes], dtype=f"m8[{unit}]")) == expected
        assert submitted(np.array([begin, begin], dtype=f"M8[{unit}]") + np.array([0, minutes], f"m8[{unit}]")) == expected
    assert submitted(np.array(["1969-12", "1970-01"], dtype="M8[M]"))[-1] == 31 * 86_400 * 10**9


def test_a_batch_of_nothing_is_one(drive):
    assert list(drive.submit("write", [], 4096)) == list(drive.submit([], [], [], at=[])) == []
    assert len(drive.advance()) == 0


def test_arrays_that_change_meanwhile_change_nothing():
    offsets = np.random.default_rng(2).integers(0, PAGES, 30_000) * 4096
    columns = {"time": np.arange(len(offsets)) * 1000, "offset": offsets, "length": np.full(len(offsets), 4096)}
    columns["op"] = np.ones(len(offsets), dtype="u1")

    def spoil(*asked):
        told.append(None)
        for column in columns.values():
            column[:] = 7
        columns.pop("op", None)
        return greedy(*asked)

    def run(victim, columns):
        return small(victim=victim).replay(columns, time_unit="ns", records=True).records.to_dict()

    told: list[None] = []
    expected = run(greedy, {name: column.copy() for name, column in columns.items()})
    assert run(spoil, columns) == expected and told
    drive = small(victim=greedy)
    overwrite(drive)
    expected = drive.counters()
    written = np.random.default_rng(1).integers(0, PAGES, 30_000) * 4096

    def spoil_batch(*asked):
        written[:] = 0
        return greedy(*asked)

    drive = small(victim=spoil_batch)
    drive.submit("write", np.arange(0, PAGES, 32) * 4096, 131_072, queue_depth=8)
    drive.submit("write", written, 4096, queue_depth=32)
    drive.advance()
    assert drive.counters() == expected and not written.any()


@contextmanager
def at_work():
    """A drive that is at work in another thread."""
    begun, end = threading.Event(), threading.Event()

    def wait(*asked):
        begun.set()
        end.wait(60)
        return greedy(*asked)

    drive = small(victim=wait)
    thread = threading.Thread(target=overwrite, args=(drive,))
    thread.start()
    assert begun.wait(60)
    try:
        yield drive
    finally:
        end.set()
        thread.join()
    assert drive.counters()["host"]["writes"] == PAGES // 32 + 30_000
    drive.check()


def test_a_drive_at_work_refuses_everything_and_goes_on():
    with at_work() as drive:
        calls = [drive.close, drive.clone, drive.counters, drive.check, drive.advance, lambda: drive.now]
        calls += [lambda: drive.in_flight, lambda: drive.wear, lambda: drive.submit("read", 0, 4096)]
        for call in calls:
            with pytest.raises(RuntimeError, match="at work in another thread"):
                call()


def test_a_fork_while_a_drive_is_at_work():
    with at_work() as drive:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                with pytest.raises(RuntimeError, match="at work in another thread"):
                    drive.counters()
                other = small()
                overwrite(other, 3000)
                code = 0 if other.test("random-write", **SHORT).metrics else 2
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0


def test_what_came_of_a_drive_outlives_it():
    drive = ssdlab.Drive("ideal-32die")
    drive.submit("write", np.arange(1000) * 4096, 4096)
    table = drive.advance()
    capsules = [table.__arrow_c_array__(), table.__arrow_c_stream__(), table.__arrow_c_schema__()]
    column = table["offset"]
    drive.close()
    drive.close()
    del drive, table
    gc.collect()
    assert column.sum() == 4096 * 999 * 500
    with pytest.raises(ValueError):
        column[0] = 1
    del capsules
    gc.collect()


def script(text):
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120)


def test_the_interpreter_ends_while_a_run_goes_on():
    run = (
        "import ssdlab, threading, time\n"
        "d = ssdlab.Drive('ideal-32die'{})\n"
        "threading.Thread(target=lambda: d.test('random-write', seconds=100_000), daemon=True).start()\n"
        "time.sleep(0.3)\n"
    )
    for policy in ("", ", victim=lambda blocks, *_: blocks[0]"):
        ran = script(run.format(policy))
        assert ran.returncode == 0 and not ran.stderr


def test_a_second_interpreter_in_the_process_does_no_harm():
    """PyO3 may refuse it, as it does from Python 3.12 on."""
    ran = script(
        "try: import _xxsubinterpreters as interpreters\n"
        "except ImportError: import _interpreters as interpreters\n"
        "inner = interpreters.create()\n"
        "text = 'try:\\n import ssdlab\\n ssdlab.Drive(\"ideal-32die\")\\nexcept ImportError: pass\\n'\n"
        "interpreters.run_string(inner, text)\n"
        "import ssdlab; print(ssdlab.Drive('ideal-32die').name, flush=True)\n"
    )
    assert (ran.returncode, ran.stdout.strip()) == (0, "ideal-32die"), ran.stderr


def test_time_that_passes_is_not_waited_for():
    drive = ssdlab.Drive("ideal-32die")
    drive.submit("write", 0, 4096)
    began = time.perf_counter()
    drive.advance(3_600 * 10**9)
    assert drive.now == 3_600 * 10**9 and time.perf_counter() - began < 20
