from __future__ import annotations

import contextlib
import json
import os
import pickle
import resource
import signal
import threading
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest
import ssdlab

SHORT = {"seconds": 1, "span_bytes": "64MB"}


def test_a_result_is_that_of_the_command_line(cli):
    result = ssdlab.Drive("a-data-300-32gb").test("random-write", queue_depth=4, **SHORT)
    words = ["--set", "queue_depth=4", "--set", "seconds=1", "--set", "span_bytes=64MB"]
    assert result.json() == cli("test", "random-write", "a-data-300-32gb", *words, "--json").stdout
    assert result.metrics["iops"].unit == "IOPS" and result.metrics["iops"].value > 0
    assert result.params["queue_depth"] == 4


def test_changes_and_expressions_are_those_of_the_command_line(cli):
    changed = ssdlab.Drive("ideal-32die", seed=7, **{"gc.policy": "fifo"}).test("random-write", **SHORT)
    words = ["--set", "seconds=1", "--set", "span_bytes=64MB", "--set", "gc.policy=fifo", "--seed", "7", "--json"]
    assert changed.json() == cli("test", "random-write", "ideal-32die", *words).stdout
    pair = ssdlab.behind("arc-1200", ssdlab.raid0("a-data-300-32gb", "a-data-300-32gb", stripe="128KiB"))
    assert pair.capacity_bytes == pytest.approx(2 * ssdlab.Drive("a-data-300-32gb").capacity_bytes, rel=1e-3)


@pytest.mark.parametrize("times", [[50, 60.5], (50.0, 60.5), np.array([50, 60.5])])
def test_keys_of_a_list_take_a_list(times):
    drive = ssdlab.Drive("m600-256gb", {"die.timing.read_us": times})
    assert drive.name == "m600-256gb with die.timing.read_us=[50,60.5]"
    assert {row["key"]: row["value"] for row in drive.specification["die"]["values"]}["timing.read_us"] == "[50.0, 60.5]"
    with pytest.raises(ssdlab.DriveFileError):
        ssdlab.Drive("m600-256gb", {"gc.policy": ["fifo"]})


def test_a_wrong_file_is_told_with_its_line_and_the_words_of_the_command_line(tmp_path, cli):
    text = 'base = "m600-256gb"\n[gc]\npolicy = "grady"\n'
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(ssdlab.DriveFileError) as caught:
        ssdlab.Drive(path)
    assert (caught.value.line, caught.value.column) == (3, 10)
    assert cli("show", str(path), check=False).stderr.strip() == str(caught.value)
    with pytest.raises(ssdlab.DriveFileError) as of_text:
        ssdlab.Drive.from_toml(text)
    assert of_text.value.line == 3 and of_text.value.help == caught.value.help
    again = pickle.loads(pickle.dumps(of_text.value))
    assert (str(again), again.line) == (str(of_text.value), 3)


def test_a_drive_from_text_is_the_one_of_the_file(tmp_path):
    text = 'base = "ideal-32die"\ndescription = "changed"\n[controller]\nwrite_command_us = 100.0\n'
    (tmp_path / "mine.toml").write_text(text)
    of_text, of_file = ssdlab.Drive.from_toml(text), ssdlab.Drive(tmp_path / "mine.toml")
    results = [d.test("random-write", **SHORT).metrics for d in (of_text, of_file)]
    assert of_text.description == "changed" and results[0] == results[1]
    plain = ssdlab.Drive("ideal-32die").test("random-write", **SHORT).metrics
    assert results[0] != plain, "the change makes no difference"


def test_a_drive_from_text_does_not_take_a_name_of_the_catalog():
    for name in ("m600-256gb", "mine"):
        with pytest.raises(ssdlab.DriveFileError, match="is no name of a drive file"):
            ssdlab.Drive.from_toml('base = "m600-256gb"\n[gc]\npolicy = "fifo"\n', name=name)


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda d: d.test("randm-read"), ssdlab.ParameterError),
        (lambda d: d.test("random-read", queue_dept=3), ssdlab.ParameterError),
        (lambda d: d.test("random-read", queue_depth="many"), ssdlab.ParameterError),
        (lambda d: d.test("random-read", queue_depth=object()), TypeError),
        (lambda d: ssdlab.Drive("spinpoint-f1-1tb").test("trim"), ssdlab.TestError),
        (lambda d: d.run("[job]\nrw=randwrote\n"), ssdlab.JobFileError),
        (lambda d: d.replay("no-such-file"), ssdlab.TraceError),
        (lambda d: ssdlab.Drive("ideal-32di"), ssdlab.DriveFileError),
        (lambda d: ssdlab.Drive("ideal-32die", **{"gc.polcy": "fifo"}), ssdlab.DriveFileError),
        (lambda d: ssdlab.Drive("ideal-32die", seed=-1), ValueError),
        (lambda d: ssdlab.Drive("ideal-32die", seed="1"), TypeError),
    ],
)
def test_misuse_is_an_exception(call, error):
    with pytest.raises(error) as caught:
        call(ssdlab.Drive("ideal-32die"))
    assert str(caught.value)


def test_jobs_as_text_and_as_objects_are_one(tmp_path, cli_json):
    text = "[w]\nrw=randwrite\nbs=4k\niodepth=8\nioengine=libaio\nsize=16m\n"
    job = ssdlab.Job("w", rw="randwrite", bs="4k", iodepth=8, ioengine="libaio", size="16m")
    (tmp_path / "job.fio").write_text(text)
    drive = ssdlab.Drive("ideal-32die")
    as_text, as_object, as_path = drive.run(text), drive.run(job), drive.run(tmp_path / "job.fio")
    theirs = cli_json("run", str(tmp_path / "job.fio"), "ideal-32die", "--output-format", "json")
    assert as_text.report["jobs"] == as_object.report["jobs"] == as_path.report["jobs"] == theirs["jobs"]
    assert int(as_text.histogram["count"].sum()) == 4096
    with pytest.raises(ValueError):
        ssdlab.Job("w", rw="randwrite\n[other]")


def test_records_know_where_the_time_went():
    result = ssdlab.Drive("a-data-300-32gb").test("random-write", records=True, **SHORT)
    records = result.records
    latency = records["completed"] - records["submitted"]
    causes = records.column_names[7:]
    assert causes and (sum(records[c].astype(int) for c in causes) == latency).all()
    assert set(records["op"]) <= {"read", "write", "trim", "flush"}
    some = ssdlab.Drive("a-data-300-32gb").test("random-write", records=10, **SHORT)
    assert len(some.records) == 10 and some.records_left_out == len(records) - 10
    assert result.metrics == some.metrics == ssdlab.Drive("a-data-300-32gb").test("random-write", **SHORT).metrics


def test_columns_leave_as_arrow():
    pyarrow = pytest.importorskip("pyarrow")
    table = ssdlab.Drive("ideal-32die").test("random-write", records=100, **SHORT).records
    arrow = pyarrow.table(table)
    assert arrow.num_rows == len(table) == 100
    assert arrow.schema.field("completed").metadata == {b"unit": b"ns"}
    assert (arrow["completed"].to_numpy() == table["completed"]).all()
    assert arrow["op"].to_pylist() == table["op"].tolist()
    batch = pyarrow.record_batch(table)
    assert batch.num_rows == 100
    both = [pyarrow.table(table), pyarrow.table(table)]
    assert len({one["offset"].chunk(0).buffers()[1].address for one in both}) == 1, "not copied"


def test_a_table_replays_as_the_file_does(tmp_path, cli_json):
    rng = np.random.default_rng(1)
    n = 5000
    time_ns, offset = np.cumsum(rng.integers(5_000, 50_000, n)), rng.integers(0, 1 << 16, n) * 4096
    op = np.where(rng.random(n) < 0.5, "read", "write")
    path = tmp_path / "trace.blkparse"
    with path.open("w") as file:
        for t, o, what in zip(time_ns, offset, op):
            letter = "R" if what == "read" else "W"
            file.write(f"8,0 0 1 {t // 10**9}.{t % 10**9:09} 0 D {letter} {o // 512} + 8\n")
    table = {"time": time_ns, "offset": offset, "length": np.full(n, 4096), "op": op}
    drive = ssdlab.Drive("a-data-300-32gb")
    ours = drive.replay(table, time_unit="ns", prefill=False)
    theirs = cli_json("replay", str(path), "a-data-300-32gb", "--prefill", "none", "--json")["results"][0]
    assert {name: (m.value, m.unit) for name, m in ours.metrics.items()} == {
        name: (m["value"], m["unit"]) for name, m in theirs["metrics"].items()
    }
    durations = {**table, "time": time_ns.astype("timedelta64[ns]")}
    assert drive.replay(durations, prefill=False).metrics == ours.metrics
    numbers = {**table, "op": np.where(op == "read", 0, 1), "time": (time_ns / 1000.0)}
    assert drive.replay(numbers, time_unit="us", prefill=False).metrics == ours.metrics
    assert int(ours.histogram["count"].sum()) == n


@pytest.mark.parametrize("module, make", [("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "table")])
def test_tables_of_every_kind_replay(module, make):
    kind = pytest.importorskip(module)
    n = 50
    columns = {"time": np.arange(n) * 1000, "offset": np.arange(n) * 4096, "length": [4096] * n, "op": ["write"] * n}
    drive = ssdlab.Drive("ideal-32die")
    expected = drive.replay(columns, time_unit="ns", prefill=False).metrics
    assert drive.replay(getattr(kind, make)(columns), time_unit="ns", prefill=False).metrics == expected


def test_a_relation_of_duckdb_replays():
    duckdb, pyarrow = pytest.importorskip("duckdb"), pytest.importorskip("pyarrow")
    columns = {"time": np.arange(50) * 1000, "offset": np.arange(50) * 4096, "length": [4096] * 50, "op": ["write"] * 50}
    drive = ssdlab.Drive("ideal-32die")
    expected = drive.replay(columns, time_unit="ns", prefill=False).metrics
    relation = duckdb.from_arrow(pyarrow.table(columns))
    assert drive.replay(relation, time_unit="ns", prefill=False).metrics == expected


@pytest.mark.parametrize(
    "change, error",
    [
        ({"time": [0, 1, 2]}, ValueError),
        ({"time": [0, float("nan")]}, ValueError),
        ({"time": [0, -1]}, ValueError),
        ({"time": ["a", "b"]}, TypeError),
        ({"offset": [0, 100]}, ssdlab.TraceError),
        ({"offset": [0, 0.5]}, ValueError),
        ({"offset": [0, 2**70]}, ValueError),
        ({"length": [0, 4096]}, ssdlab.TraceError),
        ({"length": [True, False]}, TypeError),
        ({"op": ["read", "eat"]}, ValueError),
        ({"op": [0, 9]}, ValueError),
        ({"op": [0.5, 1.0]}, TypeError),
        ({"op": ["read"]}, ValueError),
        ({"offset": [[0, 1]]}, ValueError),
    ],
)
def test_tables_with_a_mistake_are_refused(change, error):
    table = {"time": [0, 1000], "offset": [0, 4096], "length": [4096, 4096], "op": ["read", "write"], **change}
    with pytest.raises(error):
        ssdlab.Drive("ideal-32die").replay(table, time_unit="us", prefill=False)


def test_times_need_a_unit():
    table = {"time": [0, 1000], "offset": [0, 4096], "length": [4096, 4096], "op": ["read", "write"]}
    with pytest.raises(TypeError, match="time_unit"):
        ssdlab.Drive("ideal-32die").replay(table)


# A host of one's own.


def test_batches_run_and_keep_their_order():
    drive = ssdlab.Drive("ideal-32die", explain=True)
    tags = drive.submit("write", np.arange(4096) * 4096, 4096, queue_depth=32)
    done = drive.advance()
    assert list(tags) == sorted(done["tag"].tolist()) == list(range(4096))
    assert (np.diff(done["completed"].astype(int)) >= 0).all()
    waits = sum(done[c].astype(int) for c in done.column_names[7:])
    assert (waits == done["completed"].astype(int) - done["submitted"].astype(int)).all()
    at = drive.now + np.array([0, 10, 10, 5_000_000])
    drive.submit(["read", "write", "trim", "flush"], [0, 4096, 8192, 0], [4096, 4096, 4096, 0], at=at)
    done = drive.advance()
    assert sorted(done["submitted"].tolist()) == at.tolist()
    assert drive.counters()["host"]["writes"] == 4097 and drive.in_flight == 0
    drive.check()


def test_a_clone_goes_on_by_itself():
    drive = ssdlab.Drive("ideal-32die")
    drive.submit("write", np.arange(2000) * 4096, 4096, queue_depth=8)
    copy = drive.clone()
    both = []
    for one in (drive, copy):
        one.submit("read", np.arange(500) * 4096, 4096, queue_depth=4)
        both.append(one.advance().to_dict())
    assert both[0] == both[1]
    copy.submit("write", 0, 4096)
    copy.advance()
    assert copy.counters()["host"]["writes"] == drive.counters()["host"]["writes"] + 1


def test_a_saved_drive_goes_on(tmp_path):
    path = tmp_path / "drive.state"
    drive = ssdlab.Drive("jmf667h-toshiba-128gb", seed=3)
    drive.submit("write", np.arange(5000) % 3000 * 4096, 4096, queue_depth=8)
    with pytest.raises(ssdlab.RunError, match="under way"):
        drive.save(path)
    drive.advance()
    drive.save(path)
    again = ssdlab.Drive("jmf667h-toshiba-128gb", seed=3)
    again.load(path)
    assert again.counters()["host"] == drive.counters()["host"]
    again.submit("read", np.arange(3000) * 4096, 4096, queue_depth=8)
    assert set(again.advance().to_dict()["status"]) == {"ok"}
    again.check()


@pytest.mark.slow
def test_jobs_traces_and_tests_begin_with_a_drive_that_was_saved(tmp_path):
    drive = ssdlab.Drive("ideal-16k-32die", capacity_bytes="64MiB")
    age = ssdlab.Job("age", rw="randwrite", bs="4k", iodepth=8, ioengine="libaio", size="100%", io_size="256m", norandommap=True)
    path = tmp_path / "aged.state"
    drive.run(age, prefill="drive", save=path)
    load = ssdlab.Job("load", rw="randwrite", bs="4k", iodepth=8, ioengine="libaio", size="100%", time_based=True, runtime=1)
    waf = lambda **begins: drive.run(load, **begins).report["ssdlab"]["waf"]  # noqa: E731
    assert waf(start=path) > 1.5 * waf()
    assert waf(start=path) == waf(start=path)
    result = drive.test("random-write", start=path, seconds=1)
    assert result.metrics["waf"].value > 1.5 and any("as it was saved" in note for note in result.notes)
    trace = {"time": [0, 1_000_000], "op": ["write", "read"], "offset": [0, 4096], "length": [4096, 4096]}
    later = tmp_path / "later.state"
    drive.replay(trace, time_unit="ns", start=path, rest_seconds=3, save=later)
    assert later.exists()
    again = ssdlab.Drive("ideal-16k-32die", capacity_bytes="64MiB")
    again.load(later)
    with pytest.raises(ssdlab.DriveFileError, match="drive with seed 1") as refused:
        drive.test("random-write", start=path, seed=2, seconds=1)
    assert refused.value.help == ["use seed=1"]
    with pytest.raises(ValueError, match="needs start"):
        drive.run(load, stored_days=5)
    with pytest.raises(ssdlab.DriveFileError, match="no model of what becomes of old data"):
        drive.run(load, start=path, stored_days=5)


def test_a_run_and_a_replay_show_what_the_drive_did_while_the_slowest_request_waited(tmp_path, capfd):
    drive = ssdlab.Drive("ideal-16k-32die", capacity_bytes="64MiB")
    job = ssdlab.Job("load", rw="randwrite", bs="4k", iodepth=8, ioengine="libaio", size="100%", time_based=True, runtime=1)
    report = drive.run(job, timeline=tmp_path / "slow.json").report
    document = json.loads((tmp_path / "slow.json").read_text())
    first = next(event for event in document["traceEvents"] if event["ph"] == "X")
    assert first["dur"] * 1000 == report["jobs"][0]["write"]["lat_ns"]["max"]
    trace = {"time": [0, 1_000_000], "op": ["write", "read"], "offset": [0, 4096], "length": [4096, 4096]}
    drive.replay(trace, time_unit="ns", timeline=tmp_path / "slow.svg")
    assert "did while its slowest request waited" in (tmp_path / "slow.svg").read_text()
    (tmp_path / "letter.txt").write_text("Dear …")
    with pytest.raises(ssdlab.SsdlabError, match="no timeline"):
        drive.run(job, timeline=tmp_path / "letter.txt")
    assert capfd.readouterr().err == ""


def test_what_is_no_saved_drive_or_another_one_is_not_loaded_and_a_letter_not_overwritten(tmp_path):
    path = tmp_path / "drive.state"
    drive = ssdlab.Drive("jmf667h-toshiba-128gb", seed=3)
    drive.save(path)
    drive.save(path)
    for other, why in [
        (ssdlab.Drive("jmf667h-toshiba-128gb", seed=4), "seed 3, not 4"),
        (ssdlab.Drive("jmf667h-toshiba-128gb", seed=3, **{"gc.policy": "fifo"}), "other values"),
        (ssdlab.Drive("jmf667h-imft-128gb", seed=3), "other values"),
        (ssdlab.Drive("jmf667h-toshiba-256gb", seed=3), "bytes"),
        (ssdlab.Drive("memorycorp-mf4-64gb"), "bytes"),
    ]:
        with pytest.raises(ssdlab.RunError, match=why):
            other.load(path)
        assert other.now == 0
    spoiled = bytearray(path.read_bytes())
    spoiled[-5] ^= 1
    path.write_bytes(spoiled)
    with pytest.raises(ssdlab.RunError, match="damaged"):
        drive.load(path)
    letter = tmp_path / "letter.txt"
    letter.write_text("Dear all, here is a letter of some length")
    with pytest.raises(ssdlab.RunError, match="no saved drive"):
        drive.save(letter)
    with pytest.raises(ssdlab.RunError, match="this device cannot be saved"):
        ssdlab.raid0("ideal-16k-32die", "a-data-300-32gb", stripe="3KiB").save(tmp_path / "set.state")


@pytest.mark.parametrize(
    "device",
    [
        "mtron-mobi-3000-16gb",  # maps blocks
        "spinpoint-f1-1tb",
        pytest.param("a-data-pair-arc-1200", marks=pytest.mark.slow),  # a cache before two drives
        pytest.param("raid0(memorycorp-mf4-64gb, memorycorp-mf4-64gb, stripe=64KiB)", marks=pytest.mark.slow),
    ],
)
def test_devices_of_every_kind_are_saved_and_loaded(device, tmp_path):
    path = tmp_path / "device.state"
    drive, again = (ssdlab.Drive(device, seed=3) for _ in range(2))
    offsets = np.arange(256) * 131_072
    drive.submit("write", offsets, 131_072, queue_depth=8)
    drive.advance()
    drive.save(path)
    again.load(path)
    assert again.wear == drive.wear
    assert again.counters()["host"]["writes"] == 256
    for one, mapped in ((again, True), (ssdlab.Drive(device, seed=3), False)):
        before = one.counters()
        one.submit("read", offsets, 131_072, queue_depth=8)
        assert set(one.advance().to_dict()["status"]) == {"ok"}
        one.check()
        if "flash" in before:
            read = one.counters()["flash"]["host_read_bytes"] - before["flash"]["host_read_bytes"]
            assert (read >= 256 * 131_072) == mapped, "what was saved knows where its data are"


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda d: d.submit("write", [0, 4096], [4096, 4096, 4096]), ValueError),
        (lambda d: d.submit("write", [100], 4096), ValueError),
        (lambda d: d.submit("write", [0], 0), ValueError),
        (lambda d: d.submit("write", [2**62], 4096), ValueError),
        (lambda d: d.submit("eat", [0], 4096), ValueError),
        (lambda d: d.submit("write", [float("nan")], 4096), ValueError),
        (lambda d: d.submit("write", ["a"], 4096), TypeError),
        (lambda d: d.submit("write", [0, 0], 4096, at=[5, 4]), ValueError),
        (lambda d: d.submit("write", [0], 4096, at=[-4]), ValueError),
        (lambda d: d.submit("write", [0], 4096, at=[1], queue_depth=3), ValueError),
        (lambda d: d.submit("write", [0], 4096, queue_depth=0), ValueError),
        (lambda d: d.submit("write", [0], 4096, queue_depth=1.5), TypeError),
        (lambda d: d.advance(-1), ValueError),
        (lambda d: d.advance("late"), TypeError),
        (lambda d: (d.advance(1000), d.advance(999)), ValueError),
    ],
)
def test_misuse_of_a_host_is_an_exception_and_changes_nothing(call, error):
    drive = ssdlab.Drive("ideal-32die")
    with pytest.raises(error):
        call(drive)
    assert drive.counters()["host"]["writes"] == 0 and drive.in_flight == 0
    drive.submit("write", [0], 4096)
    assert len(drive.advance()) == 1


def test_a_closed_drive_says_so():
    drive = ssdlab.Drive("ideal-32die")
    drive.submit("write", 0, 4096)
    with pytest.raises(TypeError):
        pickle.dumps(drive)
    drive.close()
    for call in (lambda: drive.submit("write", 0, 4096), drive.advance, drive.counters, lambda: drive.now, drive.clone):
        with pytest.raises(RuntimeError, match="closed"):
            call()
    drive.reset()
    assert pickle.loads(pickle.dumps(drive)).test("random-write", **SHORT).metrics
    assert drive.now == 0


def test_two_threads_that_use_a_drive_for_the_first_time_power_one_on():
    drive, refused = ssdlab.Drive("m600-128gb"), []

    def write():
        try:
            drive.submit("write", np.arange(100) * 4096, 4096)
        except RuntimeError as e:
            refused.append(str(e))

    threads = [threading.Thread(target=write) for _ in range(2)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert all("another thread" in words for words in refused)
    assert len(drive.advance()) == 100 * (2 - len(refused))


def test_copies_are_of_the_drive_that_was_read(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('base = "ideal-32die"\n[link]\nhost_turnaround_us = 50.0\n')
    drive = ssdlab.Drive(file)
    result = drive.test("random-write", SHORT)
    kept = pickle.dumps([drive, result])
    assert pickle.loads(kept)[1].json() == result.json()
    file.write_text('base = "ideal-32die"\n[link]\nhost_turnaround_us = 500.0\n')
    assert drive.clone().test("random-write", SHORT).metrics == result.metrics
    for of in (drive, result):
        with pytest.raises(ssdlab.DriveFileError, match="is not the drive that was pickled"):
            pickle.loads(kept if of is drive else pickle.dumps(of))
    file.unlink()
    assert drive.clone().test("random-write", SHORT).metrics == result.metrics
    with pytest.raises(ssdlab.DriveFileError, match="from_toml"):
        pickle.loads(kept)


def test_what_is_not_there_is_refused():
    drive = ssdlab.Drive("ideal-32die")
    with pytest.raises(ValueError, match="masked"):
        drive.submit("write", np.ma.array([0, 4096], mask=[False, True]), 4096)
    with pytest.raises(ValueError, match="at is 1e\\+30, which"):
        drive.submit("write", 0, 4096, at=1e30)
    with pytest.raises(ssdlab.DriveFileError, match="no size"):
        ssdlab.raid0("ideal-32die", "ideal-32die", stripe=0)
    with pytest.raises(ssdlab.DriveFileError, match="none that would ask a policy"):
        ssdlab.Drive("arc-1200(raid0(a-data-300-32gb*2))", pacing=lambda *_: 1.0)
    assert "time_based=1" in str(ssdlab.Job("j", rw="read", time_based=np.bool_(True)))


def test_columns_cannot_be_written_to():
    drive = ssdlab.Drive("ideal-32die")
    drive.submit("write", [0, 4096], 4096)
    table = drive.advance()
    assert not any(table[name].flags.writeable for name in table)


@pytest.mark.slow
def test_a_drive_at_work_is_not_disturbed():
    drive = ssdlab.Drive("ideal-32die")
    drive.submit("write", 0, 4096)
    offsets = np.random.default_rng(1).integers(0, 1 << 20, 3_000_000) * 4096
    at_work = threading.Thread(target=lambda: drive.submit("write", offsets, 4096, queue_depth=32))
    at_work.start()
    refused = 0
    while at_work.is_alive():
        try:
            drive.counters()
        except RuntimeError as e:
            assert "another thread" in str(e)
            refused += 1
    at_work.join()
    assert refused > 0
    offsets[:] = 0
    drive.advance()
    assert drive.counters()["host"]["writes"] == 3_000_001


def test_a_fork_goes_on():
    drive = ssdlab.Drive("ideal-32die")
    drive.submit("write", np.arange(100) * 4096, 4096, queue_depth=8)
    child = os.fork()
    if child == 0:
        try:
            drive.submit("read", np.arange(3000) * 4096, 4096, queue_depth=8)
            ok = len(drive.advance()) == 3100 and bool(drive.test("random-write", **SHORT).metrics)
        except BaseException:
            ok = False
        os._exit(0 if ok else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert len(drive.advance()) == 100


#: Of 50,000 points, each of which is checked.
LONG_PLAN = f"""
drive = "m600-256gb"
seeds = {list(range(1, 1001))}
[grid]
gc.trickle_per_1000 = {list(range(1, 51))}
[[test]]
name = "random-write"
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "after, call",
    [(0.7, lambda: ssdlab.Drive("m600-256gb").test("consistency")), (0.3, lambda: ssdlab.sweep(LONG_PLAN))],
    ids=["a run", "reading a plan"],
)
def test_ctrl_c_stops_what_takes_its_time_at_once(after, call):
    pressed = []

    def press():
        time.sleep(after)
        pressed.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    # A shell starts what it runs in the background deaf to SIGINT.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Thread(target=press).start()
        with pytest.raises(KeyboardInterrupt):
            call()
    finally:
        signal.signal(signal.SIGINT, before)
    stopped = time.perf_counter() - pressed[0]
    assert stopped < 0.5, f"{stopped} s"  # a tenth of a second on a machine that does nothing else


@pytest.mark.slow
def test_progress_is_told_and_an_error_in_it_stops_the_run():
    seen = []
    ssdlab.Drive("m600-256gb").test("random-write", seconds=20, progress=seen.append)
    assert len(seen) > 1 and seen[-1] > 0, "it takes seconds"
    assert all(0 <= a <= b <= 1 for a, b in zip(seen, seen[1:]))

    def fail(_done):
        raise LookupError("from progress")

    with pytest.raises(LookupError):
        ssdlab.Drive("m600-256gb").test("consistency", progress=fail)


def test_a_plug_can_be_pulled_and_what_is_there_looked_at():
    drive = ssdlab.Drive("ideal-32die", explain=True)
    places = np.arange(256) * 4096
    drive.submit("write", places, 4096, queue_depth=8)
    drive.submit("flush", 0, 0)
    drive.advance()
    drive.submit("write", places, 4096, queue_depth=8)
    under_way = drive.in_flight
    assert under_way > 0 and drive.cut() == under_way and drive.in_flight == 0
    for call in (lambda: drive.submit("read", 0, 4096), drive.advance, lambda: drive.held(0), drive.cut, drive.stand_by):
        with pytest.raises(ValueError, match="no power"):
            call()
    with pytest.raises(ssdlab.RunError, match="no power"):
        drive.save("nowhere")
    ready = drive.power_on()
    assert ready > drive.now
    with pytest.raises(ValueError, match="has power"):
        drive.power_on()
    held = drive.held(places)
    assert set(held["held"].tolist()) == {"write"} and set(held["write"].tolist()) <= {1, 2}
    assert drive.held(places[-1] + 4096)["held"].tolist() == ["nothing"]
    with pytest.raises(ValueError, match="no multiple of 4096"):
        drive.held(1)
    drive.submit("read", 0, 4096)
    assert drive.advance()["completed"].tolist()[-1] > ready
    # An orderly shutdown loses nothing.
    drive.submit("write", places, 4096, queue_depth=8)
    drive.advance()
    counted = drive.held(places)["write"].tolist()
    assert drive.stand_by() == drive.now
    drive.cut()
    drive.power_on()
    assert drive.held(places)["write"].tolist() == counted
    drive.check()
    with pytest.raises(ValueError, match="no plug"):
        ssdlab.raid0("ideal-32die", "ideal-32die", stripe="512B").cut()


def test_a_live_drive_tells_its_power_and_temperature():
    drive = ssdlab.Drive("bx100-500gb")
    before, then = drive.joules, drive.now
    drive.advance(then + 10**10)
    idle = (drive.joules - before) / 10
    before, then = drive.joules, drive.now
    drive.submit("write", np.arange(20_000) * 65_536, 65_536, queue_depth=32)
    drive.advance()
    writing = (drive.joules - before) / (drive.now - then) * 1e9
    assert 0 < idle < 1 < writing < 5, (idle, writing)
    assert drive.celsius is None or 20 < drive.celsius < 80
    assert ssdlab.Drive("ideal-32die").joules is None


def test_what_there_is_is_listed():
    assert "arc-1200" in [a["name"] for a in ssdlab.adapters()]
    assert len(ssdlab.nand()) > 10 and all(die["name"] for die in ssdlab.nand())


def test_idle_time_passes_at_once():
    drive = ssdlab.Drive("m600-256gb")
    drive.submit("write", np.arange(64) * 4096, 4096, queue_depth=8)
    drive.advance()
    began = time.process_time()
    drive.advance(drive.now + 300 * 86_400 * 10**9)
    assert time.process_time() - began < 5.0


def test_results_go_from_process_to_process():
    drive = ssdlab.Drive("ideal-32die", {"gc.policy": "fifo"}, seed=3)
    result = drive.test("random-write", SHORT, records=50)
    copy = pickle.loads(pickle.dumps(result))
    assert copy.json() == result.json() and copy.seed == 3
    assert copy.records.to_dict() == result.records.to_dict() and copy.records.units == result.records.units
    assert copy.records_left_out == result.records_left_out > 0
    assert {k: c.table.to_dict() for k, c in copy.charts.items()} == {k: c.table.to_dict() for k, c in result.charts.items()}
    jobs = drive.run(ssdlab.Job("j", rw="randread", bs="4k", size=1e6, io_size=np.int64(400_000)), records=10)
    again = pickle.loads(pickle.dumps(jobs))
    assert str(again) == str(jobs) and again.json() == jobs.json() and again.histogram.to_dict() == jobs.histogram.to_dict()
    assert len(again.records) == 10 and again.records_left_out == jobs.records_left_out > 0
    chart = next(iter(result.charts.values()))
    assert chart.table.units == {k: v for k, v in (("x", chart.x["unit"]), ("y", chart.y["unit"])) if v}


def test_seeds_of_drives_are_kept_where_they_are_put_together():
    nine = ssdlab.Drive("ideal-32die", seed=9, explain=True)
    pair = ssdlab.raid0(nine, "ideal-32die")
    assert (pair.seed, ssdlab.behind("ich10r", nine).seed, ssdlab.raid0(nine, "ideal-32die", seed=4).seed) == (9, 9, 4)
    pair.submit("read", 0, 4096)
    pair.submit("write", 0, 4096, fua=True)
    assert len(pair.advance().column_names) > 7, "it explains, as its drive does"
    with pytest.raises(ValueError, match="seeds 1, 9"):
        ssdlab.raid0(nine, ssdlab.Drive("ideal-16k-32die"))
    assert json.loads(ssdlab.review([nine], only="random-write", settings=SHORT).json())["seed"] == 9


def test_what_jobs_ignore_is_a_warning():
    with pytest.warns(UserWarning, match="iodepth"):
        result = ssdlab.Drive("ideal-32die").run(ssdlab.Job("j", rw="randread", iodepth=32, size="1m"))
    assert any("iodepth" in notice for notice in result.notices)


def test_that_logs_are_not_written_from_here_is_a_warning():
    job = ssdlab.Job("j", rw="randread", size="1m", write_bw_log="mine")
    with pytest.warns(UserWarning, match=r"no log is written from Python \(mine_bw"):
        ssdlab.Drive("ideal-32die").run(job)


def test_times_of_commands_may_be_durations():
    def completed(at):
        drive = ssdlab.Drive("ideal-32die")
        drive.submit("write", [0, 4096], 4096, at=at)
        return drive.advance()["completed"].tolist()

    us = timedelta(microseconds=1)
    assert completed([us, 3 * us]) == completed([1000, 3000]) == completed(np.array([1, 3], dtype="timedelta64[us]"))


def test_that_a_drive_was_fresh_stands_with_the_rates():
    drive = ssdlab.Drive("ideal-32die")
    job = ssdlab.Job("j", rw="randwrite", bs="4k", size="8m")
    with pytest.warns(UserWarning, match="figures of a fresh one"):
        result = drive.run(job)
    assert len(result.notices) == 1 and result.report["ssdlab"]["notices"] == result.notices
    assert result.notices[0] in result._repr_html_()


def test_what_cannot_be_written_does_not_take_the_result_with_it(tmp_path):
    drive = ssdlab.Drive("ideal-16k-32die", capacity_bytes="64MiB")
    job = ssdlab.Job("j", rw="randwrite", bs="4k", iodepth=8, ioengine="libaio", size="100%", time_based=True, runtime=1)
    offsets = np.random.default_rng(1).integers(0, 2**14, 4000) * 4096
    trace = {"time": np.arange(4000), "op": ["write"] * 4000, "offset": offsets, "length": np.full(4000, 4096)}
    for run in (
        lambda **files: drive.run(job, **files),
        lambda **files: drive.replay(trace, time_unit="us", prefill=False, **files),
    ):
        files = {"save": tmp_path / "drive.state", "timeline": tmp_path / "slow.json"}
        expected = run(**files).json()
        sizes = [file.stat().st_size for file in files.values()]
        [file.unlink() for file in files.values()]
        # The larger of the two cannot be written.
        fails = sizes.index(max(sizes))
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (sum(sizes) // 2, limits[1]))
        try:
            with pytest.raises(ssdlab.RunError, match=("could not be saved", "cannot write")[fails]) as caught:
                run(**files)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert caught.value.result.json() == expected
        assert [file.exists() for file in files.values()] == [fails != 0, fails != 1]
        assert pickle.loads(pickle.dumps(caught.value)).result.json() == expected


def test_a_result_says_that_its_drive_began_as_it_was_saved(tmp_path, cli):
    path = tmp_path / "saved.state"
    drive = ssdlab.Drive("ideal-16k-32die", capacity_bytes="64MiB")
    drive.save(path)
    result = drive.test("random-write", start=path, seconds=1)
    words = ["--set", "capacity_bytes=64MiB", "--set", "seconds=1", "--from", str(path)]
    device = ["test", "random-write", "ideal-16k-32die"]
    assert result.json() == cli(*device, *words, "--json").stdout != drive.test("random-write", seconds=1).json()
    assert pickle.loads(pickle.dumps(result)).json() == result.json()
    result.save(tmp_path / "page")
    assert "begins as it was saved" in (tmp_path / "page" / "index.html").read_text()
    # It is a page of `test`, in whose place another of its kind is written.
    cli(*device, *words, "--out", str(tmp_path / "page"))
    with pytest.raises(ssdlab.FolderError, match="what `ssdlab test` has written"):
        ssdlab.review(drive, only="random-write", settings=SHORT).save(tmp_path / "page")


def test_a_job_file_that_cannot_be_read_is_an_error_of_job_files(tmp_path):
    (tmp_path / "latin.fio").write_bytes(b"[j]\n; caf\xe9\n")
    os.mkfifo(tmp_path / "fifo.fio")
    for path in (tmp_path / "none.fio", tmp_path / "latin.fio", tmp_path / "fifo.fio", Path("/dev/zero")):
        with pytest.raises(ssdlab.JobFileError, match="cannot read the job file"):
            ssdlab.Drive("ideal-32die").run(path)
    with pytest.raises(ssdlab.JobFileError, match="Path") as caught:
        ssdlab.Drive("ideal-32die").run("none.fio")
    assert caught.value.help == ["the path of a file is given as a Path"]


def test_times_of_python_with_zones_and_since_1970_replay():
    when = [datetime(2026, 1, 1, 0, 0, s, tzinfo=timezone(timedelta(hours=h))) for s, h in ((0, 0), (1, 0))]
    rows = {"offset": [0, 4096], "length": [4096, 4096], "op": ["write", "write"]}
    drive = ssdlab.Drive("ideal-32die")

    def replayed(time, **more):
        done = drive.replay({"time": time, **rows}, prefill=False, records=True, **more).records
        return np.diff(done["submitted"].astype(int)).tolist()

    assert replayed(when) == replayed([timedelta(seconds=5), timedelta(seconds=6)]) == [10**9]
    assert replayed([1.7e9, 1.7e9 + 1], time_unit="s") == [10**9]
    assert replayed([10**18 + 10**15, 10**18 + 10**15 + 10**9], time_unit="ns") == [10**9]


class Stamp(datetime):
    """As those of pandas: with nanoseconds, and for what is missing, one that does not equal itself."""

    nanos: int | None

    @classmethod
    def of(cls, nanos):
        stamp = cls(2026, 1, 1, tzinfo=timezone.utc)
        stamp.nanos = nanos
        return stamp

    def to_datetime64(self):
        return np.datetime64("NaT", "ns") if self.nanos is None else np.datetime64(1767225600 * 10**9 + self.nanos, "ns")

    def __eq__(self, other):
        return self.nanos is not None and super().__eq__(other)

    __hash__ = datetime.__hash__


class Span(timedelta):
    def to_timedelta64(self):
        return np.timedelta64(1234, "ns")


def test_times_of_pandas_keep_their_nanoseconds():
    nanos = [0, 100_123, 300_246]
    rows = {"offset": 0, "length": 4096, "op": "read"}
    drive = ssdlab.Drive("ideal-32die")

    def replayed(time):
        table = {"time": time, **{name: [value] * len(time) for name, value in rows.items()}}
        return drive.replay(table, prefill=False, records=True).records["submitted"].tolist()

    columns = [[Stamp.of(n) for n in nanos]]
    durations = [Span(microseconds=1)]
    missing = [[Stamp.of(0), Stamp.of(None)], [durations[0], Stamp.of(None)]]
    with contextlib.suppress(ImportError):
        import pandas

        series = pandas.Series(pandas.to_datetime([1767225600 * 10**9 + n for n in nanos], utc=True))
        columns += [series, list(series), [pandas.Timedelta(n, "ns") for n in nanos]]
        durations.append(pandas.Timedelta(1234, "ns"))
        missing += [series.where([True, False, True]), [pandas.Timedelta(1, "s"), pandas.NaT]]
    for column in columns:
        times = replayed(column)
        assert [time - times[0] for time in times] == nanos
    for duration in durations:
        host = ssdlab.Drive("ideal-32die")
        host.submit("read", 0, 4096, at=[duration])
        assert host.advance()["submitted"].tolist() == [1234]
    for column in missing:
        with pytest.raises(ValueError, match=r"time\[1\] is NaT, which is not a time"):
            replayed(column)


def test_a_drive_of_a_file_goes_where_a_worker_stands(tmp_path, monkeypatch):
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
    (tmp_path / "here" / "mine.toml").write_text('base = "ideal-32die"\n')
    monkeypatch.chdir(tmp_path / "here")
    drives = [ssdlab.Drive("mine.toml", {"gc.policy": "fifo"}), ssdlab.Drive("raid0(mine.toml*2)")]
    expected = drives[0].test("random-write", **SHORT).json()
    kept = pickle.dumps(drives)
    monkeypatch.chdir(tmp_path / "there")
    there = pickle.loads(kept)
    assert str(tmp_path / "here" / "mine.toml") in there[0].name
    result = pickle.dumps(there[0].test("random-write", **SHORT))
    assert ssdlab._fleet._digest_of(there[0]) == ssdlab._fleet._digest_of(drives[0])
    monkeypatch.chdir(tmp_path / "here")
    assert pickle.loads(result).json() == expected
    (tmp_path / "here" / "mine.toml").write_text("base = 3\n")
    with pytest.raises(ssdlab.DriveFileError) as caught:
        pickle.loads(kept)
    assert (caught.value.file, caught.value.line) == ("mine.toml", 1)
    assert "names the files of the drive" in caught.value.help[-1] and len(caught.value.help) > 1


@pytest.mark.slow
def test_ctrl_c_loses_no_completion():
    drive = ssdlab.Drive("ideal-32die")
    offsets = np.random.default_rng(1).integers(0, 1 << 20, 2_000_000) * 4096
    drive.submit("write", offsets, 4096)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    seen = 0
    try:
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            drive.advance()
    finally:
        signal.signal(signal.SIGINT, before)
    while seen < len(offsets):
        try:
            seen += len(drive.advance())
        except RuntimeError as e:
            assert "another thread" in str(e)
    assert seen == len(offsets)
