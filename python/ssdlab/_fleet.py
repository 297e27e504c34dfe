"""Fleets: thousands of drives over years."""

from __future__ import annotations

import glob
import hashlib
import html
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, fields
from typing import Any, Union

from . import _columns, _native
from ._drive import Drive, _whole
from ._errors import DriveFileError, FolderError, TraceError, told
from ._folder import kept
from ._progress import Progress, shown
from ._recent import Recent
from ._sweep import Store, _store
from ._table import Table, _restored
from ._work import Where, Work

#: Drives of one file, and of one table of :meth:`FleetResult.tables`.
PARTITION = 1000


@dataclass(frozen=True)
class Workload:
    """A class of work: what a host does with a drive, and how much of it.

    Args:
        name: for tables.
        drive_writes_per_day: median over the drives, in capacities a day.
        spread: standard deviation over the drives of its natural logarithm: 0.5 is a factor of 1.65.
        weight: share of the drives, relative to the other classes.
        fill_percent: share of the drive that holds data.
        random_percent: share of the written bytes that goes to random addresses; the rest in sequence, 128 KiB at a time.
        block_bytes: of a random command.
        hot_percent: 80 % of the random commands go to this share of the data; ``None``: all data are equally likely.
        read_percent: share of the random commands that are reads.
        queue_depth: commands under way, of the random ones and of those in sequence.
        trace: what the host does instead of a mix: the path of a file in any of the formats of ``docs/traces.md``, or a
            table as of :meth:`Drive.replay`, of which ``offset``, ``length`` and ``op`` are looked at. Its requests are
            sent in order, as soon as fewer than ``queue_depth`` are under way, and again from the beginning as often as a
            life takes; its times are not used. Addresses are turned by an offset that each life draws.
        scale: factor of the trace's addresses; what comes over the end of the data goes on at their beginning. ``None``:
            stretched or shrunk so that the trace spans all data. Sizes stay.
        format: of the trace's file; recognised if not given.
    """

    name: str
    drive_writes_per_day: float = 0.3
    spread: float = 0.5
    weight: float = 1.0
    fill_percent: int = 80
    random_percent: int = 75
    block_bytes: int = 4096
    hot_percent: int | None = None
    read_percent: int = 50
    queue_depth: int = 4
    trace: Any = None
    scale: float | None = None
    format: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise TypeError(f"name must be text, not {type(self.name).__name__}")
        for name in ("drive_writes_per_day", "spread", "weight", "scale"):
            if name != "scale" or self.scale is not None:
                object.__setattr__(self, name, _number(getattr(self, name), name))
                _finite(getattr(self, name), name)
        for name in ("fill_percent", "queue_depth", *_OF_MIXES):
            if name != "hot_percent" or self.hot_percent is not None:
                object.__setattr__(self, name, _whole(getattr(self, name), name, 0, 2**32 - 1))
        if self.trace is None:
            for name in ("scale", "format"):
                if getattr(self, name) is not None:
                    raise ValueError(f"{name} is of a trace, and none is given")
            _native.check_class(json.dumps(self._class()[0]))
            return
        for of in fields(self):
            if of.name in _OF_MIXES and getattr(self, of.name) != of.default:
                raise ValueError(f"{of.name} is of a mix; a trace says by itself what is read and written")
        if isinstance(self.trace, (str, os.PathLike)):
            object.__setattr__(self, "trace", os.fspath(self.trace))
        elif not isinstance(self.trace, _TraceTable):
            if self.format is not None:
                raise ValueError("format is for files; a table has columns")
            object.__setattr__(self, "trace", _TraceTable.of(self.trace))

    def _class(self) -> tuple[dict[str, Any], _Trace | None]:
        """As a fleet tells it, and what it reads."""
        told = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("trace", "scale", "format")}
        if self.trace is None:
            return told, None
        source: _Trace
        if isinstance(self.trace, _TraceTable):
            name, source = "table", self.trace.columns
        else:
            # Workers need not stand in the same folder. `..` after a link is not the folder before it.
            path = os.path.join(os.getcwd(), self.trace)
            name, source = os.path.basename(path), path
        known, requests, reads, writes = _native.trace_facts(source, self.format, None)
        told["trace"] = {
            "name": name,
            "format": None if isinstance(self.trace, _TraceTable) else known,
            "digest": self.trace.digest if isinstance(self.trace, _TraceTable) else _digest(self.trace),
            "requests": requests,
            "read_bytes": reads,
            "write_bytes": writes,
            "scale": self.scale,
        }
        return told, source


_OF_MIXES = ("random_percent", "block_bytes", "hot_percent", "read_percent")

#: A trace on its way to a worker: a path, or columns.
_Trace = Union[str, "tuple[bytes, bytes, bytes, bytes]"]


@dataclass(frozen=True)
class _TraceTable:
    """A table as the extension takes it."""

    columns: tuple[bytes, bytes, bytes, bytes] = field(repr=False, compare=False)
    digest: str

    @staticmethod
    def of(table: Any) -> _TraceTable:
        given = _columns.columns_of(table)
        missing = [name for name in ("offset", "length", "op") if name not in given]
        if missing:
            raise ValueError(f"the table has no column {' or '.join(missing)}; it has {', '.join(map(str, given))}")
        offset = _columns.whole(given["offset"], "offset")
        rows = len(offset) // 8
        columns = (bytes(len(offset)), offset, _columns.whole(given["length"], "length", rows), _columns.ops(given["op"], rows))
        digest = hashlib.sha256()
        for column in columns:
            digest.update(column)
        return _TraceTable(columns, digest.hexdigest())


def _digest(path: str) -> str:
    try:
        with open(path, "rb") as file:
            digest = hashlib.sha256()
            while block := file.read(1 << 20):
                digest.update(block)
            return digest.hexdigest()
    except OSError as e:
        what = f"cannot read the trace {path}: {e.strerror}"
        raise told(TraceError, what, "give the path of a readable trace file") from e


def _power(small: int) -> int:
    times = _whole(small, "small", 1, 2**16)
    if times & (times - 1):
        raise ValueError(f"small is {times}; it must be a power of two")
    return times


def _number(value: Any, name: str) -> float:
    if isinstance(value, (bool, str)) or not hasattr(value, "__float__"):
        raise TypeError(f"{name} must be a number, not {type(value).__name__}")
    return float(value)


#: What a page has of each year: column and words, and the figures of which there are percentiles over the drives.
_COUNTS = (
    ("year", "Years"),
    ("works", "Work"),
    ("lost_data", "Lost data"),
    ("failed", "Failed"),
    ("beyond_measured", "Worn beyond what was measured"),
    ("beyond_aged", "Hold older data than is known"),
)
_FIGURES = (
    ("write_latency_p99", "Writes: 99th percentile of a drive (µs)"),
    ("read_latency_p99", "Reads: 99th percentile of a drive (µs)"),
    ("waf", "Write amplification"),
    ("wear", "Mean wear, share of the rated life"),
)
_PERCENTILES = (("p50", "Median"), ("p95", "95th"), ("p99", "99th"))

#: Of a notebook's cell, too: a table that is wider scrolls by itself, and colours are those of the reader's scheme.
_STYLE = (
    "<style>.ssdlab-fleet{overflow-x:auto}.ssdlab-fleet caption{text-align:left;padding:.4em 0}"
    ".ssdlab-fleet table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    ".ssdlab-fleet th,.ssdlab-fleet td{padding:.2em .4em;text-align:right;vertical-align:bottom}"
    ".ssdlab-fleet th{font-weight:600;max-width:9em;white-space:normal}"
    ".ssdlab-fleet th[colspan]{max-width:none;text-align:center;border-bottom:1px solid}</style>"
)


class FleetReport:
    """A fleet year by year: percentiles over its drives, and what was lost."""

    def __init__(self, table: Table, title: str, notes: Sequence[str] = ()) -> None:
        #: A row a year (``year``: years at its end; 3.25 is that of a last quarter): drives that work at its end, drives lost
        #: in it, how many of those that work are worn beyond what was measured (``beyond_measured``), or hold data older than
        #: any of which losses are known (``beyond_aged``), and of those that work the median, 95th and 99th percentile of
        #: write amplification, mean wear, and their own 99th percentiles of latency, of the drives that have such commands.
        #: NaN where there is no such drive.
        self.table = table
        self.title = title
        #: What must be known of the figures: of which drives none can be lost, how many are worn or hold data beyond what is
        #: known, and of which models lives were measured on the drive in small.
        self.notes: list[str] = list(notes)

    @property
    def spares(self) -> int:
        """Drives needed to replace all that are lost."""
        return int(self.table["lost_data"].sum() + self.table["failed"].sum())

    def csv(self) -> str:
        """The table as comma-separated values, units in its head. What is not there is an empty cell."""
        units, columns = self.table.units, self.table.to_dict()
        head = ",".join(f"{name} ({units[name]})" if name in units else name for name in columns)
        rows = (",".join(_csv(column[k]) for column in columns.values()) for k in range(len(self.table)))
        return "\n".join([head, *rows]) + "\n"

    def html(self) -> str:
        """The table as a page."""
        return (
            "<!doctype html><html lang='en'><meta charset='utf-8'><meta name='viewport' content='width=device-width'>"
            f"<meta name='color-scheme' content='light dark'><title>{html.escape(self.title)}</title>"
            "<style>body{font:15px system-ui;margin:2em}p{max-width:45em}</style>" + self._html() + "\n"
        )

    def plot(self) -> Any:
        """Latency, write amplification and wear over the years, by altair."""
        import altair

        columns = self.table.to_dict()
        charts = []
        for name, title in _FIGURES:
            rows = [
                {"year": year, "drives": f"{percent} of the fleet", "value": columns[f"{name}_{percent}"][k]}
                for k, year in enumerate(columns["year"])
                for percent, _ in _PERCENTILES
                if not math.isnan(columns[f"{name}_{percent}"][k])
            ]
            chart = altair.Chart(altair.Data(values=rows), title=title).mark_line(point=True)
            charts.append(
                chart.encode(
                    x=altair.X("year", type="ordinal"),
                    y=altair.Y("value", type="quantitative", title=None),
                    color=altair.Color("drives", type="nominal", title=None),
                ).properties(width=420, height=200)
            )
        return altair.vconcat(*charts)

    def __repr__(self) -> str:
        return f"<ssdlab.FleetReport {self.title}: {self.spares} drives lost>"

    def _repr_html_(self) -> str:
        return self._html()

    def _html(self) -> str:
        """With every year."""
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        return f"<b>{html.escape(self.title)}</b><p>{self.spares} drives lost</p>{notes}{self._table()}"

    def _table(self) -> str:
        """Every year a row, in the words of the charts; the names of the columns are those of :attr:`table` and the CSV file."""
        columns = self.table.to_dict()
        shown = [columns[name] for name, _ in _COUNTS]
        shown += [columns[f"{name}_{percent}"] for name, _ in _FIGURES for percent, _ in _PERCENTILES]
        counts = "".join(f"<th scope='col' rowspan='2'>{words}</th>" for _, words in _COUNTS)
        groups = "".join(f"<th scope='colgroup' colspan='{len(_PERCENTILES)}'>{words}</th>" for _, words in _FIGURES)
        percents = "".join(f"<th scope='col'>{words}</th>" for _, words in _PERCENTILES) * len(_FIGURES)
        rows = ("".join(f"<td>{_cell(column[k])}</td>" for column in shown) for k in range(len(self.table)))
        return (
            f"{_STYLE}<div class='ssdlab-fleet' tabindex='0' role='region' aria-label='Year by year'><table>"
            "<caption>Of the drives that work: the median, 95th and 99th percentile over them</caption>"
            f"<thead><tr>{counts}{groups}</tr><tr>{percents}</tr></thead>"
            f"<tbody>{''.join(f'<tr>{row}</tr>' for row in rows)}</tbody></table></div>"
        )


class FleetResult:
    """A fleet whose years can be told. Rows are computed as they are asked for, so that memory does not grow with it."""

    def __init__(
        self,
        native: _native.Fleet,
        drives: int,
        spec: dict[str, Any],
        models: list[Drive],
        small: list[int],
        traces: list[_Trace | None],
        specimens: int = 1,
    ) -> None:
        self._native = native
        self._specimens = specimens
        self._traces = traces
        self._models = models
        self._small = small
        #: Number of drives.
        self.drives = drives
        #: What it consists of.
        self.spec = spec

    def tables(self) -> Iterator[Table]:
        """Rows of :data:`PARTITION` drives each: a row a drive and quarter, up to the one in which it is lost. Units stand
        in :attr:`Table.units`. ``wear_mean``, ``wear_most`` and ``wear_measured`` are shares of the rated life;
        ``expected_losses`` counts units of 4 KiB that were expected lost so far; ``data_age`` is the time in which the host
        writes all data once, no more than the age of the drive, brought to 30 °C. Latencies of commands that a class has not are NaN."""
        return self._tables(_native.FleetSummary())

    def _tables(self, summary: _native.FleetSummary) -> Iterator[Table]:
        for first in range(0, self.drives, PARTITION):
            yield Table(self._native.rows(first, min(PARTITION, self.drives - first), summary))

    def report(self) -> FleetReport:
        """The fleet year by year."""
        summary = _native.FleetSummary()
        for _ in self._tables(summary):
            pass
        return self._report(summary)

    def write(self, folder: str | os.PathLike[str], *, force: bool = False) -> FleetReport:
        """Writes ``drives/part-00000.parquet`` and on, ``report.html``, ``report.csv`` and ``fleet.json`` into a folder,
        or to the URL of one on any fsspec file system, and returns the report. pyarrow must be installed. In a folder,
        nothing takes its place before all is there; what an earlier fleet has left is replaced, and of a larger one
        removed. ``fleet.json`` comes last.

        Args:
            force: overwrite files of these names that no fleet has written.

        Raises:
            FolderError: if the folder cannot be written to, or has such files.
        """
        import pyarrow.parquet  # noqa: F401  # pyright: ignore[reportUnusedImport] - before anything is done

        if isinstance(folder, str) and "://" in folder:
            _check_url(folder, force)
            report, names = self._write(folder, lambda parts: _remove_parts(folder, parts))
        else:
            with kept(_native.Folder.of_fleet(folder, force)) as opened:
                report, names = self._write(opened.staging, lambda parts: None)
                opened.publish(names)
                _remove_parts(folder, len(names) - len(_BESIDE))
        return report

    def _write(
        self, folder: str | os.PathLike[str], before_last: Callable[[int], None]
    ) -> tuple[FleetReport, list[str]]:
        """Returns the names of the files, too. ``before_last`` is called with the number of parts."""
        import pyarrow
        import pyarrow.parquet

        summary, names = _native.FleetSummary(), list[str]()
        for number, table in enumerate(self._tables(summary)):
            names.append(f"drives/part-{number:05}.parquet")
            with _opened(folder, names[-1]) as file:
                pyarrow.parquet.write_table(pyarrow.table(table), file)
        before_last(len(names))
        report = self._report(summary)
        facts = {"drives": self.drives, "small": self._small, "specimens": self._specimens, "version": _native.__version__}
        fleet = json.dumps({**self.spec, **facts}, indent=2) + "\n"
        for name, text in zip(_BESIDE, (report.csv(), report.html(), fleet)):
            names.append(name)
            with _opened(folder, name) as file:
                file.write(text.encode())
        return report, names

    def _report(self, summary: _native.FleetSummary) -> FleetReport:
        table, notes = _by_end(Table(summary.table()), self.spec["years"]), self._native.never_lost()
        if worn := int(table["beyond_measured"][-1]):
            notes.append(
                f"At the end, {worn} drives that work are worn beyond the wear up to which the life of their kind was "
                "measured (wear_measured): their latencies, write amplification and losses are told as at that wear, and "
                "more of them would be lost."
            )
        if old := int(table["beyond_aged"][-1]):
            notes.append(
                f"At the end, {old} drives that work hold data older than ten years at 30 °C (data_age): their losses are "
                "expected as of data of that age, and more of them would be lost."
            )
        for (name, _, _), times in zip(self.spec["models"], self._small):
            if times > 1:
                notes.append(
                    f"Lives of {name} were measured on a drive 1/{times} in size: percentiles of latency are of such a drive, "
                    "and those of the whole one can differ by factors; write amplification and wear by some per cent "
                    "(small=1 measures the whole drive)."
                )
        return FleetReport(table, f"{self.drives} drives over {self.spec['years']:g} years", notes)

    def check(self, drive: int, *, days: float, small: int | None = None, progress: Progress = None) -> dict[str, Any]:
        """Lives through the life of one of its drives, write by write, from new until it has worked for ``days`` as it was
        drawn, and lays it beside what the fleet tells: ``told`` and ``lived`` with ``wear``, ``waf`` and the 99th
        percentiles ``write_p99_us`` and ``read_p99_us``; ``drive_writes`` is what that took.

        Args:
            small: the share of the drive, as of :func:`fleet`; as there if not given.

        Raises:
            ValueError: if the drive is still so young by then that its life would not have begun to be measured.
        """
        days = _number(days, "days")
        if not 0 <= days <= 36_525:
            raise ValueError(f"days is {days}; it must lie between 0 and 36525")
        number = _whole(drive, "drive", 0, self.drives - 1)
        model, kind, capacities, seed, told = self._native.told(number, float(days))
        klass = self.spec["classes"][kind]
        share = self._small[model] if small is None else _power(small)
        with shown(progress, f"drive {drive}") as report:
            trace = _sound(self._traces[kind], klass)
            text, written = _native.live_through(
                self._models[model]._native, json.dumps(klass), share, seed, capacities, trace, report
            )
        # What is measured is lived through in any case.
        if written > 1.001 * capacities:
            needed = math.ceil(written / self._native.told(number, 1.0)[2])
            raise ValueError(
                f"days is {days:g}; drive {number} has written {capacities:.2g} times its capacity by then, and its life is "
                f"measured after {written:.2g}: give at least {needed} days"
            )
        point = json.loads(text)
        lived = (point["wear_mean"], point["waf"], point["write_us"][1], point["read_us"][1])
        names = ("wear", "waf", "write_p99_us", "read_p99_us")
        return {
            "drive": drive,
            "model": self._models[model].name,
            "class": klass["name"],
            "drive_writes": written,
            "told": dict(zip(names, told)),
            "lived": dict(zip(names, lived)),
        }

    def __repr__(self) -> str:
        return f"<ssdlab.FleetResult of {self.drives} drives over {self.spec['years']:g} years>"


def fleet(
    models: str | os.PathLike[str] | Drive | Sequence[str | os.PathLike[str] | Drive] | Mapping[Any, float],
    workloads: Workload | Sequence[Workload],
    *,
    drives: int = 2000,
    years: float = 5.0,
    oldest_years: float = 0.0,
    ambient: tuple[float, float] = (30.0, 0.0),
    other_failures_per_year: float = 0.0,
    seed: int = 1,
    small: int = 32,
    specimens: int = 1,
    executor: Executor | Callable[[], Executor] | None = None,
    workers: int | None = None,
    retries: int = 3,
    out: str | os.PathLike[str] | Store | None = None,
    progress: Progress = None,
) -> FleetResult:
    """Thousands of drives of several models over years: wear, write amplification, latency and losses.

    The life of a drive of each model under each class of work is measured once, by the fast-forward that the test
    ``endurance`` uses; the drives are drawn, each from a random stream of its own, and read their years off the life of
    their kind. ``docs/python.md`` says what that leaves out, and how well it agrees with drives that are simulated in full.

    Args:
        models: names or drives, or a mapping of them to their shares of the fleet. Each has a name of its own. Seeds of drives
            are not looked at: specimens have theirs from ``seed``.
        workloads: classes of work, each with a name of its own; each drive has one of them.
        years: that are told, a quarter at a time: a multiple of 0.25.
        oldest_years: drives are between new and so old when they begin.
        ambient: mean and standard deviation over the drives, in °C; data lose charge faster where it is warm.
        other_failures_per_year: share of the drives that fail in a year for reasons that have nothing to do with their
            flash. Nothing is known of it here.
        small: lives are measured on the same drive in small: so many times fewer pages in a block (a power of two; fewer
            times where the drive has not so many), everything else in proportion. Percentiles of latency depend on it: the
            report says so where it is above 1. 1: on the whole drive.
        specimens: lives that are measured of each kind, with seeds of their own.
        executor: where lives are measured; ``workers`` and ``retries``: all as of :func:`sweep`.
        out: where measured lives are kept as they come, and found by the next call: as of :func:`sweep`; nothing else is
            written there.

    Raises:
        ValueError: if something cannot be, in words.
        TestError: if a model has no flash whose life could be told.
        FolderError: if the folder ``out`` cannot be written to, or is at work for another fleet or sweep. Nothing has been
            measured then.
        SweepInterrupted: if the executor broke, and why. What is finished is kept: the same call goes on from there.
        RunError: if a life cannot be kept (a full disk): what is finished is kept here, too.
    """
    if isinstance(models, (str, os.PathLike, Drive)):
        shares: list[tuple[Drive, float]] = [(_drive(models), 1.0)]
    elif isinstance(models, Mapping):
        shares = [(_drive(model), _number(share, "a share")) for model, share in models.items()]
    else:
        shares = [(_drive(model), 1.0) for model in models]
    if any(drive._has_policies() for drive, _ in shares):
        raise ValueError("a fleet has drives with built-in policies only: study your own with test()")
    classes = [workloads] if isinstance(workloads, Workload) else list(workloads)
    if not shares or not classes:
        raise ValueError("a fleet needs at least one model and one class of work")
    if isinstance(ambient, (str, bytes)) or not isinstance(ambient, Sequence) or len(ambient) != 2:
        raise TypeError("ambient must be two numbers: the mean and the standard deviation")
    if executor is not None and not callable(executor) and not hasattr(executor, "submit"):
        raise TypeError(f"a {type(executor).__name__} is no executor")
    drawn = _whole(drives, "drives", 1, 2**32 - 1)
    seed = _whole(seed, "seed", 0, 2**64 // 1000 - 1)
    specimens = _whole(specimens, "specimens", 1, 1000)
    workers = None if workers is None else _whole(workers, "workers", 1)
    retries = _whole(retries, "retries")
    if not all(isinstance(klass, Workload) for klass in classes):
        raise TypeError("workloads must be Workload objects")
    told = [klass._class() for klass in classes]
    spec: dict[str, Any] = {
        # Lives have seeds of their own, a thousand of them.
        "seed": seed,
        "models": [(drive.name, drive.capacity_bytes, share) for drive, share in shares],
        "classes": [klass for klass, _ in told],
        "years": _number(years, "years"),
        "oldest_years": _number(oldest_years, "oldest_years"),
        "ambient": [_number(ambient[0], "ambient"), _number(ambient[1], "ambient")],
        "other_failures_per_year": _number(other_failures_per_year, "other_failures_per_year"),
    }
    _finite(spec, "")
    _native.check_fleet(json.dumps(spec))
    divisors = [drive._native.divisor(_power(small)) for drive, _ in shares]
    digests = [_digest_of(drive) for drive, _ in shares]
    for digest, (drive, _) in zip(digests, shares):
        _drives.put(digest, drive)
    tasks: list[_Task] = [
        (drive._parts(), digest, json.dumps(klass), divisor, seed * 1000 + specimen, trace)
        for (drive, _), digest, divisor in zip(shares, digests, divisors)
        for klass, trace in told
        for specimen in range(specimens)
    ]
    with shown(progress, f"lives of {len(tasks)} kinds of drives") as report:
        identities = {digest: drive._native.identity_json() for digest, (drive, _) in zip(digests, shares)}
        limits = (workers, retries)
        if isinstance(out, os.PathLike) or isinstance(out, str) and "://" not in out:
            # As a fleet's own folder, so that what it writes may lie beside; nothing of that is overwritten here.
            with kept(_native.Folder.of_fleet(out, True)):
                texts = _measured(tasks, identities, _store(out), executor, limits, report)
        else:
            texts = _measured(tasks, identities, _store(out), executor, limits, report)
    per_model = len(classes) * specimens
    lives = [
        [texts[m * per_model + c * specimens : m * per_model + (c + 1) * specimens] for c in range(len(classes))]
        for m in range(len(shares))
    ]
    native = _native.Fleet(json.dumps(spec), lives)
    return FleetResult(native, drawn, spec, [d for d, _ in shares], divisors, [trace for _, trace in told], specimens)


def _by_end(table: Table, years: float) -> Table:
    """With the years at the end of each row as ``year``: the last row may be of a part of one."""
    import numpy

    ends = numpy.minimum(table["year"], years).astype("<f8").tobytes()
    (columns,) = table.__reduce__()[1]
    return _restored([("year", "", "<f8", ends, []) if column[0] == "year" else column for column in columns])


def _cell(value: Any) -> str:
    """A figure for a reader: four digits are more than is known."""
    if not isinstance(value, float):
        return f"{value:,}"
    if math.isnan(value):
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _csv(value: Any) -> str:
    return "" if isinstance(value, float) and math.isnan(value) else str(value)


def _finite(value: Any, name: str) -> None:
    """Refuses what JSON has no word for."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            _finite(item, key)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _finite(item, name)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{name} is {value}; it must be a finite number")


def _drive(model: str | os.PathLike[str] | Drive) -> Drive:
    return model if isinstance(model, Drive) else Drive(model)


#: What a drive is made of, the digest of what came of it, a class of work in JSON, the divisor, the seed, and a trace.
_Task = tuple[tuple[Any, ...], str, str, int, int, Union[_Trace, None]]

#: Drives that were measured last, by digest.
_drives: Recent[str, Drive] = Recent(8)


def _digest_of(drive: Drive) -> str:
    """Of all that decides on how a drive behaves: its files are in it with what they say."""
    return hashlib.sha256(json.dumps([repr(drive._parts()), drive._identity()]).encode()).hexdigest()


def _known(parts: tuple[Any, ...], digest: str) -> Drive:
    """The drive that the fleet was given."""
    from ._drive import _rebuilt

    drive = _drives.get(digest)
    if drive is None:
        drive = _rebuilt(*parts)
        if _digest_of(drive) != digest:
            what = f"{drive.name} is not the drive that the fleet was given"
            raise told(DriveFileError, what, "every worker needs the same files at the same paths")
        _drives.put(digest, drive)
    return drive


def measure(
    parts: tuple[Any, ...],
    digest: str,
    klass: str,
    small: int,
    seed: int,
    trace: _Trace | None = None,
    report: Callable[[float], object] | None = None,
) -> str:
    """What a worker does: measures the life of a drive."""
    drive = _known(parts, digest)
    return _native.measure_life(drive._native, klass, small, seed, _sound(trace, json.loads(klass)), report)


def _sound(trace: _Trace | None, klass: dict[str, Any]) -> _Trace | None:
    """The trace, if it is the one that the fleet was given."""
    if isinstance(trace, str) and _digest(trace) != klass["trace"]["digest"]:
        what = f"{trace} is not the trace that the fleet was given"
        raise told(TraceError, what, "every worker needs the same file at the same path")
    return trace


class _Lives(Work):
    """Lives on their way through executors."""

    part, parts = "life", "lives"
    #: However short: a worker that dies takes one life with it.
    most = 1
    #: Lives take minutes: the first of them is not late after half of one.
    straggler = (5.0, 600.0)

    def __init__(self, tasks: dict[str, _Task], store: Store, texts: dict[str, str], workers: int | None, retries: int) -> None:
        super().__init__([*tasks], workers, retries)
        self._tasks, self._store, self._texts = tasks, store, texts

    def task(self, keys: list[str]) -> tuple[Any, ...]:
        (key,) = keys
        return (_timed, *self._tasks[key])

    def keep(self, keys: list[str], came: tuple[str, float]) -> None:
        (key,), (life, seconds) = keys, came
        if key in self.open:
            self._store.put(key, _keepable(key, life))
            self._texts[key] = life
            self.end(key, seconds)


def _timed(*task: Any) -> tuple[str, float]:
    """What :func:`measure` gives, and how many seconds it took."""
    began = time.perf_counter()
    return measure(*task), time.perf_counter() - began


def _measured(
    tasks: list[_Task],
    identities: dict[str, str],
    store: Store,
    executor: Where,
    limits: tuple[int | None, int],
    report: Callable[[float], object] | None,
) -> list[str]:
    """The life of each task, found or measured. ``limits``: workers, retries."""
    def key(task: _Task) -> str:
        _, digest, klass, small, seed, _ = task
        known = json.dumps([_native.FINGERPRINT, _native.LIVES, identities[digest], klass, small, seed])
        return "life-" + hashlib.sha256(known.encode()).hexdigest()[:32]

    keys = [key(task) for task in tasks]
    texts = {k: life for k in keys if (found := store.get(k)) is not None and (life := _life(k, found)) is not None}
    todo = {k: task for k, task in zip(keys, tasks) if k not in texts}
    _Lives(todo, store, texts, *limits).run(executor, None, report)
    return [texts[k] for k in keys]


def _keepable(key: str, life: str) -> str:
    """The text of a measured life, with a digest of it and of what it is kept as."""
    return json.dumps({"digest": hashlib.sha256(f"{key}\n{life}".encode()).hexdigest(), "life": life}) + "\n"


def _life(key: str, found: str) -> str | None:
    """The life of which :func:`_keepable` made this; ``None`` if it is not whole, or another, so that it is measured again."""
    try:
        life = json.loads(found)["life"]
        return life if _keepable(key, life) == found else None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


#: What is written beside the drives; the last tells that all is there.
_BESIDE = ("report.csv", "report.html", "fleet.json")


def _check_url(url: str, force: bool) -> None:
    """Refuses what does not look as a fleet has left it."""
    import fsspec

    files, path = fsspec.core.url_to_fs(url.rstrip("/"))
    found = [name for name in ("drives", *_BESIDE) if files.exists(f"{path}/{name}")]
    if found and _BESIDE[-1] not in found and not force:
        what = f"{url} has {found[0]}, and no {_BESIDE[-1]} of a fleet"
        raise told(FolderError, what, "choose another folder, or replace what is there with force=True")
    if _BESIDE[-1] in found:
        files.rm_file(f"{path}/{_BESIDE[-1]}")


def _remove_parts(folder: str | os.PathLike[str], parts: int) -> None:
    """Removes the parts of a larger fleet: whoever reads the folder would take them for drives of this one."""
    if isinstance(folder, str) and "://" in folder:
        import fsspec

        files, path = fsspec.core.url_to_fs(f"{folder.rstrip('/')}/drives")
        found, remove = files.glob(f"{path}/part-*.parquet"), files.rm_file
    else:
        found, remove = glob.glob(os.path.join(glob.escape(os.fspath(folder)), "drives", "part-*.parquet")), os.remove
    for file in found:
        number = os.path.basename(file)[len("part-") : -len(".parquet")]
        if number.isdigit() and int(number) >= parts:
            remove(file)


def _opened(folder: str | os.PathLike[str], name: str) -> Any:
    if isinstance(folder, str) and "://" in folder:
        import fsspec

        return fsspec.open(f"{folder.rstrip('/')}/{name}", "wb")
    path = os.path.join(os.fspath(folder), name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return open(path, "wb")
