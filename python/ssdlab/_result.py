"""What comes of a test, a replay or a job file."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from . import _native
from ._table import Table

if TYPE_CHECKING:
    from ._drive import Drive


@dataclass(frozen=True)
class Metric:
    """A figure with its unit (``IOPS``, ``MB/s``, ``us``, ``ratio``, ``W``, ``J``, ``s``, ``%``, …)."""

    value: float
    unit: str

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        number = f"{self.value:,.0f}" if abs(self.value) >= 1000 else f"{self.value:.4g}"
        return number if self.unit in ("", "ratio", "count") else f"{number} {self.unit}"


@dataclass(frozen=True)
class Chart:
    """A chart of the report: its points as a table (``series``, ``x``, ``y``), and how they are drawn."""

    id: str
    title: str
    caption: str
    mark: str
    x: Mapping[str, Any]
    y: Mapping[str, Any]
    table: Table

    def plot(self) -> Any:
        """The chart as altair draws it; altair must be installed."""
        import altair

        points = self.table.to_dict()
        categories: list[str] = list(self.x["categories"])

        def place(x: float) -> object:
            return categories[int(x)] if categories and 0 <= int(x) < len(categories) else x

        rows = [
            {"series": s, "x": place(x), "y": y} for s, x, y in zip(points["series"], points["x"], points["y"])
        ]
        bars = self.mark in ("bars", "stacked-bars")
        chart = altair.Chart(altair.Data(values=rows), title=self.title)
        drawn = {
            "scatter": lambda: chart.mark_circle(size=9, opacity=0.6),
            "line": lambda: chart.mark_line(),
        }.get(self.mark, lambda: chart.mark_bar())()
        several = len(set(points["series"])) > 1
        encoding: dict[str, Any] = {
            "x": altair.X("x", type="ordinal", sort=None, title=_title(self.x))
            if categories or bars
            else altair.X("x", type="quantitative", title=_title(self.x), scale=_scale(altair, self.x)),
            "y": altair.Y("y", type="quantitative", title=_title(self.y), scale=_scale(altair, self.y)),
        }
        if several:
            encoding["color"] = altair.Color("series", type="nominal", title=None)
        if self.mark == "bars" and several:
            encoding["xOffset"] = altair.XOffset("series", type="nominal")
        return drawn.encode(**encoding).properties(width=560, height=260)

    def __repr__(self) -> str:
        return f"<ssdlab.Chart {self.id}: {self.title}, {len(self.table)} points>"


def _title(axis: Mapping[str, Any]) -> str:
    return f"{axis['label']} ({axis['unit']})" if axis["unit"] else str(axis["label"])


def _scale(altair: Any, axis: Mapping[str, Any]) -> Any:
    given: dict[str, Any] = {"type": "log"} if axis["log"] else {}
    if axis["min"] is not None and axis["max"] is not None:
        given["domain"] = [axis["min"], axis["max"]]
    return altair.Scale(**given)


class Result:
    """The outcome of one test on one drive. Can be pickled, with its records."""

    def __init__(self, native: _native.Outcome, drive: Drive) -> None:
        self._native = native
        self._drive = drive

    def __reduce__(self) -> tuple[Any, ...]:
        # A drive that is powered on stays here.
        return (_restored, (self._drive._parts(), self._drive._digest(), *self._native.parts(), self._records, self.histogram))

    @cached_property
    def _outcome(self) -> dict[str, Any]:
        return json.loads(self._native.outcome_json())  # type: ignore[no-any-return]

    @property
    def test(self) -> str:
        """Name of the test, as on the command line."""
        return str(self._outcome["test"])

    @property
    def variant(self) -> str:
        """Tells variants of one test apart; may be empty."""
        return str(self._outcome["variant"])

    @property
    def device(self) -> str:
        """Name of the drive."""
        return str(self._outcome["device"])

    @property
    def seed(self) -> int:
        """Of every random number."""
        return self._native.seed

    @property
    def method(self) -> str:
        """What was done, in a paragraph."""
        return str(self._outcome["method"])

    @property
    def params(self) -> dict[str, Any]:
        """Every parameter of the test with its value. Units stand in the names, or in ``ssdlab list tests``."""
        return dict(self._outcome["params"])

    @cached_property
    def metrics(self) -> dict[str, Metric]:
        """Figures by name: ``metrics["iops"].value``, ``.unit``. Latencies are in microseconds."""
        return {name: Metric(m["value"], m["unit"]) for name, m in self._outcome["metrics"].items()}

    @cached_property
    def charts(self) -> dict[str, Chart]:
        """Charts by name, each with its points: the series of the test second by second among them."""
        keys = ("title", "caption", "mark", "x", "y")
        return {
            chart["id"]: Chart(id=chart["id"], table=Table(self._native.chart(chart["id"])), **{k: chart[k] for k in keys})
            for chart in self._outcome["charts"]
        }

    @property
    def tables(self) -> list[dict[str, Any]]:
        """Small tables of the report: title, caption, columns, rows."""
        return list(self._outcome["tables"])

    @property
    def time_shares(self) -> list[dict[str, Any]]:
        """Where the time of the average I/O went, in microseconds by cause."""
        return list(self._outcome["time_shares"])

    @property
    def slowest(self) -> list[dict[str, Any]]:
        """The slowest I/Os with their causes, and the same in words."""
        return list(self._outcome["slowest"])

    @property
    def verdict(self) -> dict[str, Any] | None:
        """A yes or no that the test was made for: ``pass`` (true, false, or ``None`` if inconclusive) and a sentence."""
        return self._outcome["verdict"]  # type: ignore[no-any-return]

    @property
    def notes(self) -> list[str]:
        """What a reader must know."""
        return list(self._outcome["notes"])

    @property
    def shortened(self) -> str | None:
        """How the run was shorter than the published method."""
        return self._outcome["shortened"]  # type: ignore[no-any-return]

    @cached_property
    def _records(self) -> tuple[Table, int] | None:
        records = self._native.records()
        return None if records is None else (Table(records[0]), records[1])

    @property
    def records(self) -> Table | None:
        """Every command that the drive answered, preparation included: times in nanoseconds, and a column for each cause
        that took any. ``None`` unless the test was run with ``records=``."""
        return self._records[0] if self._records else None

    @property
    def records_left_out(self) -> int:
        """Commands that came after the limit of ``records=``."""
        return self._records[1] if self._records else 0

    @cached_property
    def histogram(self) -> Table:
        """Latencies of a replay by command: the largest of each bucket in nanoseconds, and how many. Tests keep none;
        theirs can be had from ``records``."""
        return Table(self._native.histogram())

    def json(self) -> str:
        """The document that ``ssdlab test --json`` prints."""
        return self._native.results_json()

    def save(self, folder: str | os.PathLike[str], *, force: bool = False) -> None:
        """Writes ``index.html``, ``results.json``, series and charts. Files that ssdlab did not write are not
        overwritten unless ``force`` says so.

        Raises:
            FolderError: if the folder cannot be written to.
        """
        self._native.save(folder, force)

    def plot(self) -> Any:
        """Every chart below the other, by altair."""
        import altair

        return altair.vconcat(*(chart.plot() for chart in self.charts.values()))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name} {metric}" for name, metric in list(self.metrics.items())[:3])
        return f"<ssdlab.Result {self.test} on {self.device}: {shown}>"

    def _repr_html_(self) -> str:
        outcome = self._outcome
        rows = "".join(
            f"<tr><td>{html.escape(name)}</td><td style='text-align:right'>{html.escape(str(metric))}</td></tr>"
            for name, metric in self.metrics.items()
        )
        verdict = self.verdict
        said = [] if verdict is None else [verdict["sentence"]]
        said += self.notes + ([f"Shortened run: {self.shortened}"] if self.shortened else [])
        return (
            f"<b>{html.escape(outcome['title'])}</b> on {html.escape(self.device)}"
            f"<p>{html.escape(self.method)}</p><table>{rows}</table>"
            + "".join(f"<p>{html.escape(text)}</p>" for text in said)
        )


def _restored(
    parts: tuple[Any, ...],
    digest: str,
    begins_as: str | None,
    outcome: str,
    seed: int,
    quick: bool,
    records: tuple[Table, int] | None,
    histogram: Table,
) -> Result:
    from ._drive import _unpickled

    drive = _unpickled(parts, digest)
    result = Result(drive._native.restored(begins_as, outcome, seed, quick), drive)
    result.__dict__.update(_records=records, histogram=histogram)
    return result


@dataclass(frozen=True)
class _SavedReport:
    """What a report of jobs says, without the run that it came of."""

    notices: list[str]
    texts: tuple[str, str, str]

    def json(self) -> str:
        return self.texts[0]

    def json_plus(self) -> str:
        return self.texts[1]

    def text(self) -> str:
        return self.texts[2]

    def records(self) -> None:
        return None


def _restored_jobs(saved: _SavedReport, records: tuple[Table, int] | None) -> JobResult:
    result = JobResult(saved)
    result.__dict__["_records"] = records
    return result


class JobResult:
    """The report of a fio job file. Can be pickled, with its records."""

    def __init__(self, native: _native.JobReport | _SavedReport) -> None:
        self._native = native

    def __reduce__(self) -> tuple[Any, ...]:
        of = self._native
        return (_restored_jobs, (_SavedReport(list(of.notices), (of.json(), of.json_plus(), of.text())), self._records))

    @cached_property
    def report(self) -> dict[str, Any]:
        """fio's own JSON as a dictionary."""
        return json.loads(self._native.json())  # type: ignore[no-any-return]

    @property
    def jobs(self) -> list[dict[str, Any]]:
        """fio's entry for each job: ``jobs[0]["read"]["iops"]``."""
        return list(self.report["jobs"])

    @cached_property
    def histogram(self) -> Table:
        """Completion latencies: ``job``, ``op``, ``latency`` in nanoseconds, ``count``."""
        bins = [
            (job["jobname"], op, int(at), int(count))
            for job in json.loads(self._native.json_plus())["jobs"]
            for op in ("read", "write", "trim")
            for at, count in job.get(op, {}).get("clat_ns", {}).get("bins", {}).items()
        ]
        return Table(_native.bins_table(bins))

    @cached_property
    def _records(self) -> tuple[Table, int] | None:
        records = self._native.records()
        return None if records is None else (Table(records[0]), records[1])

    @property
    def records(self) -> Table | None:
        """Every command that the drive answered, what was laid out before included; ``None`` unless the jobs were run with
        ``records=``."""
        return self._records[0] if self._records else None

    @property
    def records_left_out(self) -> int:
        """Commands that came after the limit of ``records=``."""
        return self._records[1] if self._records else 0

    @property
    def waf(self) -> float | None:
        """Bytes programmed into flash over bytes written by the jobs, while they ran; ``None`` if they wrote nothing, and for a device with
        a disk in it."""
        return self.report["ssdlab"]["waf"]  # type: ignore[no-any-return]

    @property
    def notices(self) -> list[str]:
        """What was ignored or adjusted, and that the drive was fresh. Each is a warning of Python's, too, when the jobs are
        run."""
        return self._native.notices

    def json(self) -> str:
        """The document that ``ssdlab run --output-format json`` prints."""
        return self._native.json()

    def __str__(self) -> str:
        return self._native.text()

    def __repr__(self) -> str:
        names = ", ".join(str(job["jobname"]) for job in self.jobs)
        return f"<ssdlab.JobResult of {names}>"

    def _repr_html_(self) -> str:
        said = "".join(f"<p>{html.escape(notice)}</p>" for notice in self.notices)
        return f"{said}<pre>{html.escape(str(self))}</pre>"
