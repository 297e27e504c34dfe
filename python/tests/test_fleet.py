from __future__ import annotations

import json
import math
import pickle
import signal
import subprocess
import sys
import time
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor

import numpy as np
import pytest
import ssdlab
from conftest import SMALL_SWEEP
from test_sweeps import Here

slow = pytest.mark.slow

WORK = ssdlab.Workload("office", drive_writes_per_day=0.1, spread=0.4, fill_percent=70)


@pytest.fixture(scope="module")
def model():
    return ssdlab.Drive("ultra-ii-240gb")


@slow
def test_a_fleet_does_not_depend_on_its_size_or_on_partitions(model, tmp_path):
    small = ssdlab.fleet(model, WORK, drives=50, years=2, small=128, out=tmp_path, ambient=(35, 5), oldest_years=1)
    large = ssdlab.fleet(model, WORK, drives=2500, years=2, small=128, out=tmp_path, ambient=(35, 5), oldest_years=1)
    of_small = next(small.tables())
    parts = list(large.tables())
    assert len(parts) == 3 and sum(len(set(p["drive"].tolist())) for p in parts) == 2500
    rows = parts[0]["drive"] < 50
    for name in of_small:
        assert (of_small[name] == parts[0][name][rows]).all(), name
    assert (np.diff(of_small["wear_mean"][of_small["drive"] == 3]) > 0).all()


@slow
def test_a_report_counts_every_drive(model, tmp_path):
    pytest.importorskip("pyarrow")
    import pyarrow.parquet

    work = [WORK, ssdlab.Workload("log", drive_writes_per_day=0.5, random_percent=10, read_percent=10, weight=0.5)]
    fleet = ssdlab.fleet({model: 2}, work, drives=1500, years=2, small=128, other_failures_per_year=0.05)
    report = fleet.write(tmp_path)
    assert report.table.num_rows == 2
    left = 1500 - report.spares
    assert report.table["works"][-1] == left
    assert 100 < report.spares < 200, "five per cent a year"
    table = pyarrow.parquet.read_table(tmp_path / "drives")
    assert table.num_rows == sum(len(t) for t in fleet.tables())
    assert {p.name for p in tmp_path.iterdir()} == {".ssdlab", "drives", "report.csv", "report.html", "fleet.json"}
    assert fleet.report().csv() == report.csv() == (tmp_path / "report.csv").read_text()
    first = next(fleet.tables())
    of_log = len(set(first["drive"][first["class"] == "log"].tolist()))
    assert 280 < of_log < 390, "a third of a thousand"


@slow
@pytest.mark.parametrize(
    "change",
    [
        {"drives": 0},
        {"years": float("nan")},
        {"years": -1},
        {"ambient": (300.0, 0.0)},
        {"other_failures_per_year": 2.0},
        {"small": 3000},
        {"specimens": 0},
    ],
)
def test_a_fleet_that_cannot_be_is_refused(model, change):
    with pytest.raises((ValueError, ssdlab.BadInput)):
        ssdlab.fleet(model, WORK, **{"small": 128, "drives": 2, **change}).report()


@slow
def test_a_disk_has_no_life():
    with pytest.raises(ssdlab.TestError):
        ssdlab.fleet("spinpoint-f1-1tb", WORK, small=1)
    with pytest.raises(ValueError, match="queue_depth"):
        ssdlab.fleet("ideal-32die", ssdlab.Workload("w", queue_depth=0))


def requests(count=2000, seed=1):
    """Mostly writes of three sizes, to a part of 64 MiB more than to the rest of 512 MiB."""
    rng = np.random.default_rng(seed)
    places = np.where(rng.random(count) < 0.7, 1 << 14, 1 << 17)
    return {
        "offset": (rng.random(count) * places).astype(int) * 4096,
        "length": rng.choice([4096, 8192, 65_536], count),
        "op": np.where(rng.random(count) < 0.7, "write", "read"),
    }


def file_of(table, path):
    rows = enumerate(zip(table["offset"], table["length"], table["op"]))
    letters = {"read": "R", "write": "W"}
    path.write_text("".join(f"8,0 0 1 {i / 1000:.6f} 0 D {letters[op]} {o // 512} + {n // 512}\n" for i, (o, n, op) in rows))
    return path


def lives(workloads, **words):
    fleet = ssdlab.fleet("ideal-32die", workloads, drives=20, years=1, small=32, progress=False, **words)
    return [table.to_dict() for table in fleet.tables()]


@slow
def test_a_trace_of_a_file_and_of_a_table_tell_the_same_years(tmp_path):
    table = requests()
    path = file_of(table, tmp_path / "trace.txt")
    of_table = lives(ssdlab.Workload("w", 0.1, trace=table))
    assert of_table == lives(ssdlab.Workload("w", 0.1, trace=path)) == lives(ssdlab.Workload("w", 0.1, trace=str(path)))
    assert of_table != lives(ssdlab.Workload("w", 0.1, trace=table, scale=1.0))
    assert of_table != lives(ssdlab.Workload("w", 0.1, trace=table), seed=2)


@slow
def test_a_kept_life_that_is_not_whole_is_measured_again(tmp_path):
    work = ssdlab.Workload("w", 0.1, trace=requests())
    first = lives(work, out=tmp_path, executor=lambda: ThreadPoolExecutor(1))
    (kept,) = (tmp_path / "points").iterdir()
    text = kept.read_text()
    for spoilt in (text.replace('"waf', '"wof', 1).replace('\\"waf', '\\"wof', 1), text[: len(text) // 2], "{}"):
        assert spoilt != text
        kept.write_text(spoilt)
        assert lives(work, out=tmp_path) == first and kept.read_text() == text


@slow
def test_lives_of_another_trace_are_not_taken_for_those_that_are_kept(tmp_path):
    first = lives(ssdlab.Workload("w", 0.1, trace=requests()), out=tmp_path)
    assert len(list((tmp_path / "points").iterdir())) == 1
    assert first == lives(ssdlab.Workload("w", 0.1, trace=requests()), out=tmp_path)
    assert len(list((tmp_path / "points").iterdir())) == 1
    assert first != lives(ssdlab.Workload("w", 0.1, trace=requests(seed=2)), out=tmp_path)
    assert len(list((tmp_path / "points").iterdir())) == 2


def test_a_trace_that_changed_is_refused(tmp_path):
    from ssdlab._fleet import _digest_of, measure

    path = file_of(requests(), tmp_path / "trace.txt")
    told, source = ssdlab.Workload("w", trace=path)._class()
    file_of(requests(seed=2), path)
    drive = ssdlab.Drive("ideal-32die")
    task = (drive._parts(), _digest_of(drive), json.dumps(told), 32, 1, source)
    with pytest.raises(ssdlab.TraceError, match="is not the trace that the fleet was given"):
        measure(*task)


@pytest.mark.parametrize(
    ("words", "error", "what"),
    [
        ({"scale": 2.0}, ValueError, "scale is of a trace"),
        ({"format": "msr"}, ValueError, "format is of a trace"),
        ({"trace": requests(), "read_percent": 20}, ValueError, "read_percent is of a mix"),
        ({"trace": requests(), "scale": "2x"}, TypeError, "scale must be a number"),
        ({"trace": requests(), "scale": float("nan")}, ValueError, "scale is nan"),
        ({"trace": requests(), "scale": -1}, ValueError, "scale is -1"),
        ({"trace": requests(), "format": "msr"}, ValueError, "format is for files"),
        ({"trace": 3}, TypeError, "is no table"),
        ({"trace": {"offset": [0], "length": [4096]}}, ValueError, "no column op"),
        ({"trace": {"offset": [0], "length": [4096, 1], "op": ["write"]}}, ValueError, "length has 2 values"),
        ({"trace": {"offset": [-1], "length": [4096], "op": ["write"]}}, ValueError, "is negative"),
        ({"trace": {"offset": [1], "length": [4096], "op": ["write"]}}, ssdlab.TraceError, "whole sectors"),
        ({"trace": {"offset": [], "length": [], "op": []}}, ssdlab.TraceError, "table is empty"),
        ({"trace": {"offset": [0], "length": [4096], "op": ["read"]}}, ValueError, "writes nothing"),
        ({"trace": "no-such-file"}, ssdlab.TraceError, "cannot read the trace"),
        ({"trace": "/"}, ssdlab.TraceError, "cannot read the trace"),
        ({"trace": __file__}, ssdlab.TraceError, "format"),
        ({"trace": __file__, "format": "msr"}, ssdlab.TraceError, "must have 7 fields"),
        ({"trace": __file__, "format": "blktrace"}, ssdlab.TraceError, "no trace format"),
    ],
)
def test_a_trace_that_cannot_be_is_refused_in_words(words, error, what):
    with pytest.raises(error, match=what):
        lives(ssdlab.Workload("w", **words))


@slow
def test_a_life_of_a_trace_agrees_with_one_that_is_lived_through(model):
    work = ssdlab.Workload("traced", drive_writes_per_day=0.02, trace=requests(100_000))
    fleet = ssdlab.fleet(model, work, drives=100, years=5, small=64)
    for drive in (1, 2):
        found = fleet.check(drive, days=5 * 365.25, progress=False)
        for name, allowed in (("wear", 0.03), ("waf", 0.03), ("write_p99_us", 0.10), ("read_p99_us", 0.10)):
            assert abs(found["told"][name] / found["lived"][name] - 1) <= allowed, (name, found)


@slow
def test_ctrl_c_stops_the_measuring_of_lives():
    # A shell starts what it runs in the background deaf to SIGINT.
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    script = f"{heard}import ssdlab; ssdlab.fleet('ultra-ii-240gb', ssdlab.Workload('w'), small=1)"
    running = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True)
    time.sleep(5)
    began = time.perf_counter()
    running.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in running.communicate(timeout=60)[1]
    assert time.perf_counter() - began < 10


BASED = 'base = "ideal-16k-32die"\ncapacity_bytes = 1073741824\n[gc]\npolicy = "%s"\n'


def test_a_file_that_was_edited_is_another_drive(tmp_path):
    file = tmp_path / "d.toml"
    work = ssdlab.Workload("w", drive_writes_per_day=1, random_percent=100, hot_percent=20)

    def waf(policy):
        file.write_text(BASED % policy)
        fleet = ssdlab.fleet(file, work, drives=5, years=1, small=512, out=tmp_path / "lives")
        return next(fleet.tables())["waf"][0]

    greedy, other = waf("greedy"), waf("random")
    assert other > 1.2 * greedy
    assert (waf("greedy"), waf("random")) == (greedy, other)


def test_what_cannot_be_is_refused_before_anything_is_measured(monkeypatch):
    monkeypatch.setattr(ssdlab._fleet, "_measured", lambda *_: pytest.fail("lives were measured"))
    for more in (
        {"years": -1}, {"oldest_years": 200}, {"ambient": (300, 0)}, {"other_failures_per_year": 2}, {"drives": 0},
    ):  # fmt: skip
        with pytest.raises(ValueError):
            ssdlab.fleet("ideal-16k-32die", WORK, **more)
    for more in ({"years": "2"}, {"ambient": "35"}, {"executor": 3}):
        with pytest.raises(TypeError):
            ssdlab.fleet("ideal-16k-32die", WORK, **more)
    with pytest.raises(ValueError, match="drive_writes_per_day is nan"):
        ssdlab.Workload("w", drive_writes_per_day=math.nan)
    with pytest.raises(ValueError, match="multiple of 0.25"):
        ssdlab.fleet("ideal-16k-32die", WORK, years=1.1)
    with pytest.raises(ValueError, match="class are named office"):
        ssdlab.fleet("ideal-16k-32die", [WORK, WORK])
    with pytest.raises(ValueError, match="model are named ideal-16k-32die"):
        ssdlab.fleet([ssdlab.Drive("ideal-16k-32die", seed=2), "ideal-16k-32die"], WORK)
    with pytest.raises(ValueError, match="hot_percent"):
        ssdlab.Workload("w", hot_percent=200)


def made_up(wear=2.0, losses=4e-17, waf=2.0):
    """A life."""

    def point(at):
        return {
            "wear_least": at * 0.9, "wear_mean": at, "wear_most": at * 1.1, "waf": waf, "drive_writes_per_life": 1500.0,
            "write_us": [10.0, 100.0, 1000.0], "read_us": [50.0, 200.0, 400.0], "lost": [losses] * 8,
        }  # fmt: skip

    return json.dumps({"points": [point(0.001), point(wear)], "begun": 2.5, "wear_begun": 0.0005})


def told(*, wear=2.0, losses=4e-17, reads=50, drives=40, per_day=1.0, small=1, **more):
    """A fleet of one model and two classes, of which the second may read nothing, whose lives are made up."""
    from ssdlab import _native
    from ssdlab._fleet import FleetResult

    life = made_up(wear, losses)
    classes = [ssdlab.Workload("mix", per_day)._class()[0], ssdlab.Workload("log", per_day, read_percent=reads)._class()[0]]
    spec = {
        "seed": 1, "models": [("a", 10**11, 1.0)], "classes": classes, "years": 1.0, "oldest_years": 0.0,
        "ambient": [30.0, 0.0], "other_failures_per_year": 0.0, **more,
    }  # fmt: skip
    silent = json.loads(life)
    for of in silent["points"]:
        of["read_us"] = [0.0] * 3
    second = life if reads else json.dumps(silent)
    return FleetResult(_native.Fleet(json.dumps(spec), [[[life], [second]]]), drives, spec, [], [small], [None, None])


def test_what_is_not_there_is_not_told_as_zero():
    rows = next(told(reads=0).tables())
    assert (np.isnan(rows["read_latency_p99"]) == (rows["class"] == "log")).all()
    assert not np.isnan(rows["write_latency_p99"]).any()
    dead = told(drives=2, years=3.0, other_failures_per_year=0.99).report()
    assert dead.table["works"][-1] == 0 and math.isnan(dead.table["waf_p50"][-1])
    names, *_, last = (line.split(",") for line in dead.csv().splitlines())
    assert last[names.index("waf_p50 (ratio)")] == "" and "nan" not in dead.csv() + dead.html()
    with_units = set(next(told().tables()).units) | {"drive", "model", "class", "quarter", "state"}
    assert with_units == set(rows.column_names)


def test_the_page_of_a_fleet_has_every_year():
    report = told(drives=2, years=12.0).report()
    # Of the head there are two.
    assert len(report.table) == 12 and report.html().count("<tr>") == 14 == report._repr_html_().count("<tr>")


def test_the_page_of_a_fleet_is_in_words_fits_the_screen_and_knows_the_dark():
    page = told(drives=2, years=3.0).report().html()
    assert "content='light dark'" in page and "overflow-x:auto" in page
    table = page[page.index("<div class='ssdlab-fleet'") :]
    for words in ("Write amplification", "Writes: 99th percentile of a drive (µs)", "Median", "Worn beyond what was measured"):
        assert words in table
    assert "_p50" not in table and "beyond_" not in table and "<td>3</td><td>2</td>" in table
    assert [row.count("<td>") for row in table.split("<tr>")[3:]] == [18] * 3


def test_a_last_year_that_is_not_whole_is_not_told_as_one():
    report = told(drives=4, years=3.25).report()
    assert report.table["year"].tolist() == [1.0, 2.0, 3.0, 3.25]
    assert report.csv().splitlines()[-1].startswith("3.25,4,") and "<td>3.25</td><td>4</td>" in report.html()
    whole = told(drives=4, years=2.0).report()
    assert whole.table["year"].tolist() == [1.0, 2.0] and "<td>2</td><td>4</td>" in whole.html()


def test_that_lives_are_of_a_drive_in_small_is_told_with_them():
    notes = told(small=32).report().notes
    assert len(notes) == 1 and notes[0].startswith("Lives of a were measured on a drive 1/32 in size: percentiles of latency")


def test_data_older_than_what_is_known_are_told():
    report = told(per_day=0.0002, ambient=[50.0, 0.0]).report()
    assert report.table["beyond_aged"].tolist() == [40]
    assert report.notes[0].startswith("At the end, 40 drives that work hold data older than ten years at 30 °C")


def test_a_drive_that_is_too_young_is_not_checked(monkeypatch):
    fleet = told()
    fleet._models = [ssdlab.Drive("ideal-32die")]
    point = json.dumps({"wear_mean": 0.1, "waf": 1.0, "write_us": [1.0] * 3, "read_us": [1.0] * 3})
    monkeypatch.setattr(ssdlab._fleet._native, "live_through", lambda *_: (point, 4.8))
    per_day = fleet._native.told(0, 1.0)[2]
    needed = math.ceil(4.8 / per_day)
    with pytest.raises(ValueError, match=f"give at least {needed} days"):
        fleet.check(0, days=needed / 10, progress=False)
    assert fleet.check(0, days=needed, progress=False)["drive_writes"] == 4.8


def test_what_is_not_known_of_a_fleet_is_told_with_it():
    report = told().report()
    assert report.notes == [] and report.table["beyond_measured"].tolist() == [0]
    assert told(reads=0).report().notes == ["No drive under log is ever lost to its flash: that class reads nothing."]
    immune = told(losses=0.0).report()
    assert len(immune.notes) == 2 and all("without a model of errors" in note for note in immune.notes)
    worn = told(wear=0.01).report()
    assert worn.table["beyond_measured"].tolist() == [40] == worn.table["works"].tolist()
    assert worn.notes[0].startswith("At the end, 40 drives that work are worn beyond the wear up to which")
    assert worn.notes[0] in worn.html()
    rows = next(told(wear=0.01).tables())
    assert (rows["wear_measured"] == 0.01).all() and (rows["wear_mean"] > 0.01).any()


def test_a_smaller_fleet_leaves_nothing_of_a_larger_one_behind(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    import pyarrow.parquet

    monkeypatch.setattr(ssdlab._fleet, "PARTITION", 10)
    told(drives=40).write(tmp_path)
    assert len(list((tmp_path / "drives").glob("part-0*"))) == 4
    told(drives=15).write(tmp_path)
    assert sorted(p.name for p in (tmp_path / "drives").iterdir()) == ["part-00000.parquet", "part-00001.parquet"]
    assert len(set(pyarrow.parquet.read_table(tmp_path / "drives")["drive"].to_pylist())) == 15


def files_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", ["report.html", "fleet.json", "drives/part-mine.parquet"])
def test_a_fleet_overwrites_nothing_that_no_fleet_has_written(name, tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    with pytest.raises(ssdlab.FolderError, match="was not written by ssdlab"):
        told().write(tmp_path)
    assert files_of(tmp_path) == {name: b"mine"}
    told().write(tmp_path, force=True)
    assert (tmp_path / "fleet.json").exists()


def test_a_fleet_takes_its_place_whole_or_not_at_all(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    told(drives=40).write(tmp_path)
    before = files_of(tmp_path)
    smaller, tables = told(drives=15), ssdlab._fleet.FleetResult._tables

    def stopped(self, summary):
        yield next(tables(self, summary))
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(ssdlab._fleet.FleetResult, "_tables", stopped)
        smaller.write(tmp_path)
    assert files_of(tmp_path) == before
    smaller.write(tmp_path)
    written = json.loads((tmp_path / "fleet.json").read_text())
    assert (written["drives"], written["small"], written["specimens"]) == (15, [1], 1)
    assert written["version"] == ssdlab.__version__
    assert not [path for path in tmp_path.iterdir() if "partial" in path.name]


def test_a_fleet_by_url_overwrites_nothing_that_no_fleet_has_written(tmp_path):
    pytest.importorskip("pyarrow")
    pytest.importorskip("fsspec")
    (tmp_path / "report.csv").write_text("mine")
    with pytest.raises(ssdlab.FolderError, match="no fleet.json"):
        told().write(f"file://{tmp_path}")
    assert files_of(tmp_path) == {"report.csv": b"mine"}
    told().write(f"file://{tmp_path}", force=True)
    told().write(f"file://{tmp_path}")
    assert json.loads((tmp_path / "fleet.json").read_text())["drives"] == 40


CLASSES = [ssdlab.Workload(name, fill_percent=percent) for name, percent in (("a", 50), ("b", 60), ("c", 70))]


@pytest.fixture
def measured(monkeypatch):
    """Names of the classes whose lives were measured: here, each at once, with the share that is full as amplification."""
    names = []

    def measure(parts, digest, klass, *_):
        told = json.loads(klass)
        names.append(told["name"])
        return made_up(waf=1 + told["fill_percent"] / 100)

    monkeypatch.setattr(ssdlab._fleet, "measure", measure)
    return names


def amplified(classes, **words):
    fleet = ssdlab.fleet("ideal-32die", classes, drives=20, years=1, progress=False, **words)
    return [set(table["waf"].tolist()) for table in fleet.tables()]


def test_a_worker_that_dies_loses_no_life(measured, tmp_path):
    expected = amplified(CLASSES)
    measured.clear()
    executors = [Here(BrokenExecutor("killed")), Here()]
    assert amplified(CLASSES, executor=lambda: executors.pop(0), out=tmp_path) == expected
    assert executors == [] and sorted(measured) == ["a", "b", "c"]
    with pytest.raises(ssdlab.SweepInterrupted, match="with 3 of 3 lives to go: killed"):
        amplified(CLASSES, seed=2, executor=Here(*[BrokenExecutor("killed")] * 3))
    assert amplified(CLASSES, seed=3, executor=Here(OSError("lost"))) == expected
    with pytest.raises(ssdlab.SweepInterrupted, match="given up after 1 tries: lost") as caught:
        amplified(CLASSES, seed=4, executor=Here(OSError("lost")), retries=0)
    assert len(caught.value.help) == 1 and not caught.value.what.startswith("error")


def test_a_life_that_cannot_be_is_told_at_once(monkeypatch):
    def measure(*_):
        raise ValueError("it writes nothing")

    monkeypatch.setattr(ssdlab._fleet, "measure", measure)
    with pytest.raises(ValueError, match="it writes nothing"):
        amplified(CLASSES, executor=Here())


def test_lives_that_wait_are_not_measured_after_ctrl_c(measured, tmp_path):
    waiting = []

    class Slow(Here):
        def submit(self, *args):
            if not waiting:
                waiting.append(Future())
                return super().submit(*args)
            waiting.append(Future())
            return waiting[-1]

    def report(done):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ssdlab.fleet("ideal-32die", CLASSES, drives=20, years=1, executor=Slow(), out=tmp_path, progress=report)
    assert [future.cancelled() for future in waiting[1:]] == [True, True]
    assert len(list((tmp_path / "points").iterdir())) == 1 == len(measured), "what was done is kept"


def test_a_life_at_the_place_of_another_is_not_believed(measured, tmp_path):
    expected = amplified(CLASSES[0], out=tmp_path)
    (one,) = (tmp_path / "points").iterdir()
    amplified(CLASSES[1], out=tmp_path)
    (other,) = set((tmp_path / "points").iterdir()) - {one}
    other.replace(one)
    assert amplified(CLASSES[0], out=tmp_path) == expected and measured == ["a", "b", "a"]


def test_nobody_else_works_in_the_folder_of_lives(measured, tmp_path):
    tried = []

    class Meanwhile(Here):
        def submit(self, *args):
            for work in (amplified, lambda _, out: ssdlab.sweep(SMALL_SWEEP, out=out)):
                with pytest.raises(ssdlab.FolderError, match="another ssdlab is writing"):
                    work(CLASSES, out=tmp_path)
                tried.append(work)
            return super().submit(*args)

    amplified(CLASSES[0], executor=Meanwhile(), out=tmp_path)
    assert len(tried) == 2
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ssdlab.FolderError, match="file"):
        amplified(CLASSES, out=tmp_path / "file")


def test_tables_of_one_fleet_have_one_schema():
    for fleet in (told(reads=0), told()):
        for table in (next(fleet.tables()), pickle.loads(pickle.dumps(next(fleet.tables())))):
            assert table._native.optional == ["write_latency_p99", "read_latency_p99"]
    of_years = told().report().table
    assert of_years._native.optional == [name for name in of_years if name[-4:] in ("_p50", "_p95", "_p99")]


def test_a_fleet_may_lie_beside_its_lives(measured, tmp_path):
    pytest.importorskip("pyarrow")
    for _ in range(2):
        ssdlab.fleet("ideal-32die", CLASSES, drives=20, years=1, out=tmp_path).write(tmp_path)
    assert len(measured) == 3


def test_numbers_of_numpy_are_numbers(measured, tmp_path):
    pytest.importorskip("pyarrow")
    words = {"seed": 3, "specimens": 1, "drives": 20}
    ssdlab.fleet("ideal-32die", CLASSES, years=1, out=tmp_path, **words).write(tmp_path / "one")
    of_numpy = {name: np.int64(value) for name, value in words.items()}
    ssdlab.fleet("ideal-32die", CLASSES, years=1, out=tmp_path, **of_numpy).write(tmp_path / "other")
    assert len(measured) == 3
    assert (tmp_path / "one" / "fleet.json").read_text() == (tmp_path / "other" / "fleet.json").read_text()


def test_a_trace_is_found_whatever_leads_there(tmp_path, monkeypatch):
    for folder, seed in (("real/x", 1), ("here", 2)):
        (tmp_path / folder).mkdir(parents=True)
        file_of(requests(seed=seed), tmp_path / folder.split("/")[0] / "trace.txt")
    (tmp_path / "here" / "link").symlink_to("../real/x")
    monkeypatch.chdir(tmp_path / "here")
    told, source = ssdlab.Workload("w", trace="link/../trace.txt")._class()
    assert told == ssdlab.Workload("w", trace=tmp_path / "real" / "trace.txt")._class()[0]
    assert ssdlab._fleet._digest(source) == told["trace"]["digest"]
