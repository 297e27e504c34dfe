"""Drives: what is built, tested, and driven by a host of one's own."""

from __future__ import annotations

import hashlib
import html
import json
import os
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, TypeVar, Union

from . import _columns, _native
from ._errors import DriveFileError, JobFileError, SsdlabError, told
from ._jobs import Job, JobFile, _is_whole
from ._progress import Progress, shown
from ._result import JobResult, Result
from ._table import Table

#: A value of a key or parameter, as it would stand on the command line.
Value = Union[str, int, float, bool, Sequence[Union[str, int, float]]]

_Result = TypeVar("_Result")

#: Chooses the superblock to collect: called with numbers, valid units and ages of the closed ones, and their size.
VictimPolicy = Callable[[list[int], list[int], list[int], int], int]
#: Says how many units the host gets for each unit moved: called with the dead and valid units of a victim.
Pacing = Callable[[int, int], float]


class _Policies:
    """The functions of a drive. The extension finds them here and does not hold them: where one of them reaches its own drive,
    Python's collector would not see the cycle."""

    def __init__(self, victim: VictimPolicy | None, pacing: Pacing | None) -> None:
        self.victim, self.pacing = victim, pacing


#: What a drive is made of: a device, the folder at which its paths begin, ``""`` where it has none, and the text of a file.
_Source = tuple[str, str, Union[str, None]]


class Drive:
    """A drive, a disk, an array, or a drive behind an adapter.

    Args:
        device: a name of the catalog, the path of a file that ends in ``.toml``, or a device expression such as
            ``"arc-1200(raid0(a-data-300-32gb*2))"``.
        victim: a policy of garbage collection of one's own, for studying ideas: a function that is called with the
            closed superblocks (numbers, valid units, ages in units written; three lists) and the units that one holds, and
            returns the number of the one to collect. ``docs/python.md`` says how slow that is.
        pacing: likewise what the host may write while a collection runs: a function that is called for each victim with
            its dead and valid units, and returns the units that the host gets for each unit moved.
        seed: of the specimen that is powered on, and of tests, unless they are given another.
        explain: whether commands of :meth:`submit` know where their time went. Tests always do.
        changes: other values for keys of its drive file, by their names: ``{"gc.policy": "cost-benefit"}``.
        **more: the same for keys that are words of Python: ``capacity_bytes=64_000_000_000``.

    Raises:
        DriveFileError: if there is no such device, or it cannot be.

    A drive is a description as long as it is only tested: each test powers on specimens of its own. :meth:`submit` and
    :meth:`advance` power on one that stays, with a clock of its own in nanoseconds.
    """

    def __init__(
        self,
        device: str | os.PathLike[str],
        changes: Mapping[str, Value] | None = None,
        *,
        seed: int = 1,
        explain: bool = False,
        victim: VictimPolicy | None = None,
        pacing: Pacing | None = None,
        **more: Value,
    ) -> None:
        path = os.fspath(device)
        self._source: _Source = (path, os.getcwd() if ".toml" in path else "", None)
        self._setup(seed, explain, victim, pacing, {**(changes or {}), **more})

    @classmethod
    def from_toml(
        cls,
        text: str,
        changes: Mapping[str, Value] | None = None,
        *,
        name: str = "drive.toml",
        seed: int = 1,
        explain: bool = False,
        victim: VictimPolicy | None = None,
        pacing: Pacing | None = None,
        **more: Value,
    ) -> Drive:
        """A drive from the text of a drive, disk or array file. ``name`` is what it is called in messages and reports, and
        ends in ``.toml``; files that it names lie beside it.

        Raises:
            DriveFileError: with line and column, if the text is no such file; if the name is none of a file.
        """
        drive = cls.__new__(cls)
        drive._source = (name, "", text)
        drive._setup(seed, explain, victim, pacing, {**(changes or {}), **more})
        return drive

    def _setup(
        self,
        seed: int,
        explain: bool,
        victim: VictimPolicy | None,
        pacing: Pacing | None,
        changes: Mapping[str, Value],
    ) -> None:
        for name, policy in (("victim", victim), ("pacing", pacing)):
            if policy is not None and not callable(policy):
                raise TypeError(f"{name} must be a function, not {type(policy).__name__}")
        self._policies = _Policies(victim, pacing)
        self._changes = dict(changes)
        self._seed = _whole(seed, "seed")
        self._explain = _flag(explain, "explain")
        self._live: _native.Live | None = None
        # Two threads that use it for the first time power one specimen on.
        self._powering = threading.Lock()
        given = [(key, _key_text(key, value)) for key, value in changes.items()]
        device, folder, text = self._source
        policies = self._policies if self._has_policies() else None
        if text is not None:
            self._native = _native.Drive.parse(device, text, given, policies)
            return
        # Its name is as it was given, except elsewhere: a worker need not stand in the same folder.
        is_here = not folder or folder == os.getcwd()
        self._native = _native.Drive.open(device, "" if is_here else folder, given, policies)

    def __reduce__(self) -> tuple[Any, ...]:
        if self._live is not None and not self._live.is_closed:
            raise TypeError("a drive that is powered on cannot be pickled: pickle one that is not, or close() it")
        return (_unpickled, (self._parts(), self._digest()))

    def _digest(self) -> str:
        """Of all that its files say."""
        return hashlib.sha256(f"{self._identity()}\n{self._at_home(self._native.show_json())}".encode()).hexdigest()

    def _identity(self) -> str:
        """What decides on how it behaves, wherever this process stands."""
        return self._at_home(self._native.identity_json())

    def _at_home(self, text: str) -> str:
        """JSON with paths as they begin in the drive's folder."""
        folder = self._source[1]
        return text.replace(json.dumps(os.path.join(folder, ""), ensure_ascii=False)[1:-1], "") if folder else text

    def _parts(self) -> tuple[Any, ...]:
        return (self._source, self._seed, self._explain, self._policies.victim, self._policies.pacing, self._changes)

    def _has_policies(self) -> bool:
        return self._policies.victim is not None or self._policies.pacing is not None

    # What it is.

    @property
    def name(self) -> str:
        """Its name in reports."""
        return self._native.name

    @property
    def description(self) -> str:
        """A line for people."""
        return self._native.description

    @property
    def capacity_bytes(self) -> int:
        """As sold; of an array, what can be addressed."""
        return self._native.capacity_bytes

    @property
    def seed(self) -> int:
        """Of the specimen, and of tests that are given no other."""
        return self._seed

    @property
    def changes(self) -> dict[str, Value]:
        """What was changed of the device that it was made of."""
        return dict(self._changes)

    @cached_property
    def specification(self) -> dict[str, Any]:
        """Every value with its source or the word *estimate*, as ``ssdlab show --json`` prints them."""
        return json.loads(self._native.show_json())  # type: ignore[no-any-return]

    # Tests.

    def test(
        self,
        name: str,
        params: Mapping[str, Value] | None = None,
        *,
        start: str | os.PathLike[str] | None = None,
        stored_days: int = 0,
        seed: int | None = None,
        quick: bool = False,
        records: bool | int = False,
        progress: Progress = None,
        **more: Value,
    ) -> Result:
        """Runs one test of the suite, on specimens fresh from the factory or on the one that was saved.

        Args:
            name: as ``ssdlab.tests()`` and ``ssdlab list tests`` have it.
            params: of the test, by name; units as ``ssdlab list tests`` says, or in text such as ``"8GB"``.
            start: begin with the drive that :meth:`save`, :meth:`run` or :meth:`replay` has saved in this file, or that an image
                of ``ssdlab attach`` holds, instead of a new one. A test that would fill the drive first does not, unless
                ``prefill`` says so.
            stored_days: with ``start``: it has lain without power at 30 °C for so long.
            quick: on an eighth of the drive for an eighth of the time (Storage Bench: a hundredth of its requests, which puts
                drives in no order). Figures that depend on the size of the drive (the longest
                latencies, stalls, energy, amounts) are left out, and a note says so.
            records: keep a record of each command with its causes: of all (some 100 to 200 bytes each), or of the first so
                many. What prepares the drive is among them, and comes first.
            progress: see :mod:`ssdlab`.
            **more: parameters as words of Python: ``seconds=10``.

        Raises:
            ParameterError: if there is no such test or parameter.
            TestError: if the test makes no sense on this drive.
            RunError: if it failed.
        """
        settings = [(key, _text(key, value)) for key, value in {**(params or {}), **more}.items()]
        begins = _begins(start, stored_days)
        with shown(progress, f"{name} on {self.name}") as report:
            outcome = self._native.test(
                name, settings, begins, self._seed_or(seed), _flag(quick, "quick"), _limit(records), report
            )
        return Result(outcome, self)

    def run(
        self,
        job: str | Job | JobFile | Sequence[Job] | os.PathLike[str],
        *,
        prefill: Literal["read", "drive", "none"] | None = None,
        rest_seconds: int | None = None,
        start: str | os.PathLike[str] | None = None,
        stored_days: int = 0,
        save: str | os.PathLike[str] | None = None,
        timeline: str | os.PathLike[str] | None = None,
        variables: Mapping[str, str] | None = None,
        seed: int | None = None,
        records: bool | int = False,
        progress: Progress = None,
    ) -> JobResult:
        """Runs fio jobs: the text of a job file, jobs as objects, or the path of a file (as a ``Path``).

        Args:
            prefill: what is written in sequence before: what the jobs read, the whole drive, or nothing. If not said, what
                they read; nothing with ``start``.
            rest_seconds: how long the drive rests before the first job; if not said, 10 s after a prefill.
            start, stored_days: as of :meth:`test`.
            save: shut the drive down at the end, and save it in this file, for ``start`` and :meth:`load`.
            timeline: write what the parts of the drive did while the slowest request waited into this file: a picture if it
                ends in ``.svg``, else a trace for a viewer (``docs/timelines.md``).
            variables: values of ``${NAME}`` in the text. The environment is not asked.
            records: as of :meth:`test`.

        What of the jobs is ignored or adjusted is a warning, and stands in ``notices``; so do that the drive was fresh, and that
        logs which jobs ask for (``write_bw_log`` …) are not written from here.

        Raises:
            JobFileError: with the line, if the jobs cannot be run, or the file cannot be read.
            TestError: if they make no sense on this drive.
            RunError: if they failed. If only ``save`` or ``timeline`` could not be written, its ``result`` is what would have
                been returned.
        """
        file = "job.fio"
        if isinstance(job, os.PathLike):
            file = os.fspath(job)
            text = _native.job_file_text(file)
        elif isinstance(job, str) and "\n" not in job and not job.lstrip().startswith("["):
            raise told(JobFileError, f"{job!r} is no text of a job file", "the path of a file is given as a Path")
        elif isinstance(job, str):
            text = job
        elif isinstance(job, (Job, JobFile)):
            text = str(job)
        else:
            text = str(JobFile(job))
        with shown(progress, f"{file} on {self.name}") as report:
            native, unwritten = self._native.run(
                file,
                text,
                dict(variables or {}),
                ("read" if start is None else "none") if prefill is None else prefill,
                _rest(rest_seconds),
                _begins(start, stored_days),
                _written(save, timeline),
                self._seed_or(seed),
                _limit(records),
                report,
            )
        for notice in native.notices:
            warnings.warn(notice, stacklevel=2)
        return _unless(unwritten, JobResult(native))

    def replay(
        self,
        trace: Any,
        *,
        format: str | None = None,  # noqa: A002 - the word of the command line
        time_unit: Literal["ns", "us", "ms", "s"] | None = None,
        speed: str = "recorded",
        queue_depth: int = 32,
        placement: Literal["wrap", "scale"] = "wrap",
        devices: Literal["side-by-side", "folded"] = "side-by-side",
        prefill: bool | None = None,
        rest_seconds: int | None = None,
        start: str | os.PathLike[str] | None = None,
        stored_days: int = 0,
        save: str | os.PathLike[str] | None = None,
        timeline: str | os.PathLike[str] | None = None,
        seed: int | None = None,
        records: bool | int = False,
        progress: Progress = None,
    ) -> Result:
        """Replays a block trace: the path of a file in any of the formats of ``docs/traces.md``, or a table.

        A table (pandas, polars, Arrow, DuckDB, or a dictionary) has the columns ``time``, ``offset`` and ``length`` in
        bytes, and ``op``: read, write, trim or flush, by name or by number. ``time`` is a date, a duration, or a number
        in ``time_unit``. Rows are sent in their order.

        Args:
            speed: at the recorded times, ``"2x"`` for twice as fast, or ``"asap"``.
            queue_depth: commands under way at most, 1 to 65536.
            placement: addresses beyond the end of the drive begin again, or all are scaled.
            prefill: whether the whole drive is written first; if not said, unless there is a ``start``.
            rest_seconds, start, stored_days, save, timeline: as of :meth:`run`.

        Raises:
            TraceError: with the line, or the row, if the trace cannot be read.
            TypeError, ValueError: if columns of a table are of the wrong type.
            RunError: as of :meth:`run`.
        """
        source: Any
        if isinstance(trace, (str, os.PathLike)):
            if time_unit is not None:
                raise ValueError("time_unit is for tables; a file's format says its own")
            source = os.fspath(trace)
        else:
            if format is not None:
                raise ValueError("format is for files; a table has columns")
            source = _trace_columns(trace, time_unit)
        with shown(progress, f"replay on {self.name}") as report:
            outcome, unwritten = self._native.replay(
                source,
                format,
                speed,
                _whole(queue_depth, "queue_depth", 1, _native.MOST_REPLAY_DEPTH),
                _one_of(placement, "placement", "wrap", "scale") == "scale",
                _one_of(devices, "devices", "side-by-side", "folded") == "folded",
                start is None if prefill is None else _flag(prefill, "prefill"),
                _rest(rest_seconds),
                _begins(start, stored_days),
                _written(save, timeline),
                self._seed_or(seed),
                _limit(records),
                report,
            )
        return _unless(unwritten, Result(outcome, self))

    # A host of one's own.

    def _on(self) -> _native.Live:
        with self._powering:
            if self._live is None:
                self._live = self._native.power_on(self._seed, self._explain)
            return self._live

    @property
    def now(self) -> int:
        """The drive's clock in nanoseconds since it was powered on."""
        return self._on().now

    @property
    def in_flight(self) -> int:
        """Commands that were handed over and have not completed."""
        return self._on().in_flight

    def submit(
        self, op: Any, offset: Any, length: Any, *, at: Any = None, queue_depth: int | None = None, fua: bool = False
    ) -> range:
        """Hands a batch of commands over, and returns their tags.

        Args:
            op: ``"read"``, ``"write"``, ``"trim"``, ``"flush"`` or ``"write_zeroes"`` for all of them, or an array of
                names or numbers (``ssdlab.OPS``).
            offset: bytes from the begin of the drive; an array, or one for all.
            length: bytes; an array, or one for all.
            at: times in nanoseconds of the drive's clock, or durations, rising, within 366 days: each command is handed over at its own.
            queue_depth: without times: each command is handed over as soon as fewer than so many are under way. Without
                both, all are handed over now.
            fua: force unit access: writes are acknowledged only when they are on the medium.

        If Ctrl-C stops it, a part of the batch has been handed over; :meth:`advance` returns those with their tags.

        Raises:
            ValueError: if a command is not one that the drive takes. Then none of the batch has been handed over.
            RunError: if the drive has commands that it will never finish, as under a policy that gains nothing.
            RuntimeError: if the drive is at work in another thread, or closed.
        """
        rows = _rows(op, offset, length, at)
        times = None if at is None else _columns.times(at)
        tags = self._on().submit(
            _columns.ops(op, rows),
            _columns.whole(offset, "offset", rows),
            _columns.whole(length, "length", rows),
            None if times is None else _columns.nanoseconds(times, "at", None if times.dtype.kind in "mM" else "ns", begin=False),
            None if queue_depth is None else _whole(queue_depth, "queue_depth", 0),
            _flag(fua, "fua"),
        )
        return range(tags, tags + rows)

    def advance(self, to: int | None = None) -> Table:
        """Lets time pass to ``to``, in nanoseconds and within 366 days; without it, until nothing is under way. Returns every command that has
        completed since the last call, in the order of completion: ``tag``, ``op``, ``status``, ``offset``, ``length``,
        ``submitted``, ``completed``, and, of a drive with ``explain=True``, a column for each cause that took time.

        Raises:
            ValueError: if that lies in the past, or too late.
            RunError: if the drive has commands that it will never finish.
        """
        return Table(self._on().advance(None if to is None else _whole(to, "to")))

    def cut(self) -> int:
        """Pulls the plug, now. Commands under way are never answered; returns how many. Its clock stands still until
        :meth:`power_on`.

        Raises:
            ValueError: if the device has no plug, or no power.
        """
        return self._on().cut()

    def power_on(self) -> int:
        """Gives the power back after :meth:`cut`, and returns the time at which the drive will be ready. Commands can be handed
        over at once; they wait for it.

        Raises:
            ValueError: if the device has no plug, or has power.
        """
        return self._on().power_on()

    def stand_by(self) -> int:
        """STANDBY IMMEDIATE, as before an orderly shutdown: all that was written is brought to the medium. Time passes until that
        is done; returns it. A :meth:`cut` right after it is a clean one.

        Raises:
            ValueError: while commands are under way; if the device has no plug, or no power.
        """
        return self._on().stand_by()

    def held(self, offset: Any) -> Table:
        """What pieces of the drive hold, looked at without a command: for who checks what a cut has left. ``offset`` is a
        multiple of 4096 (of 512 on hard disks with such pieces), or an array of them. Columns: ``offset``; ``held``: ``nothing``,
        ``write``, ``mixed`` (sectors of several writes), or ``unreadable``; ``write``: the number of the write. The
        drive counts the writes of each piece from 1, in the order in which it accepts them; the greatest number is followed by 1.
        After a cut it counts on from what is there.

        Raises:
            ValueError: if there is no such piece; if the device has no plug, or no power.
        """
        return Table(self._on().held(_columns.whole(offset, "offset", _rows(offset))))

    def counters(self) -> dict[str, dict[str, int]]:
        """What the drive has counted since it was powered on: ``counters()["flash"]["block_erases"]``. Bytes and
        nanoseconds where the name says so."""
        return {group: dict(counters) for group, counters in self._on().counters()}

    @property
    def joules(self) -> float | None:
        """Energy that it has drawn since it was powered on; ``None`` where nothing is metered. Of two readings the difference over
        the time between them is the mean power: ``(after - before) / (now - then) * 1e9`` watts."""
        return self._on().joules

    @property
    def celsius(self) -> float | None:
        """Temperature that its sensor says; of a set, of the warmest drive. ``None`` without a sensor."""
        return self._on().celsius

    @property
    def wear(self) -> dict[str, float] | None:
        """Least, mean and greatest wear of its blocks, in shares of their rated life; ``None`` without flash, and of a set or
        behind an adapter, whose drives have a wear each."""
        wear = self._on().wear()
        return None if wear is None else dict(zip(("least", "mean", "most"), wear))

    def check(self) -> None:
        """Balances the drive's own books.

        Raises:
            RunError: if they do not; that is a bug of the simulator.
        """
        self._on().check_books()

    def clone(self) -> Drive:
        """The same drive. If it is powered on, the copy goes on from here by itself: with all that is written, worn and
        under way.

        Raises:
            RunError: if the device cannot be copied.
        """
        # Its file may say something else by now.
        other = Drive.__new__(Drive)
        other.__dict__.update(self.__dict__, _live=None, _powering=threading.Lock(), _changes=dict(self._changes))
        if self._live is not None:
            other._live = self._live.snapshot()
        return other

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the drive to a file: its flash with the wear of every block, map, journal and counters, but no data; of a
        set or adapter, every drive in it. The file holds it as if it were shut down now; the drive itself goes on. Another
        saved drive of that name is replaced.

        Raises:
            RunError: while commands are under way; if the drives of a set number their writes differently or its stripes are
                no whole units of 4 KiB, or the file cannot be written.
        """
        self._on().save(os.fspath(path))

    def load(self, path: str | os.PathLike[str]) -> None:
        """Powers on the drive that was saved instead of a new one. It must be of the same drive file, with the same changes
        and seed. Its clock begins anew; its data have aged by the time that it was at work. Drives, alone or in a set, keep
        their counters; those of the set or adapter itself begin anew.

        Raises:
            RunError: if the file holds no drive, another one, or is damaged. A specimen that is powered on is kept then.
        """
        live = self._native.power_on(self._seed, self._explain)
        live.load(os.fspath(path))
        self._live = live

    def reset(self) -> None:
        """Powers a new specimen on at the next use."""
        self._live = None

    def close(self) -> None:
        """Gives the memory of the specimen back. It cannot be used after; tests can."""
        self._on().close()

    def __repr__(self) -> str:
        return f"<ssdlab.Drive {self.name}>"

    def _repr_html_(self) -> str:
        facts = self.specification
        rows = facts.get("values") or []
        body = "".join(
            f"<tr><td>{html.escape(str(r['key']))}</td><td>{html.escape(str(r['value']))}</td>"
            f"<td>{'ESTIMATE: ' if r['estimate'] else ''}{html.escape(str(r['source'] or ''))}</td></tr>"
            for r in rows
        )
        table = f"<details><summary>{len(rows)} parameters</summary><table>{body}</table></details>" if rows else ""
        return (
            f"<b>{html.escape(self.name)}</b>: {html.escape(self.description)}, "
            f"{self.capacity_bytes / 1e9:.1f} GB{table}"
        )

    def _seed_or(self, seed: int | None) -> int:
        return self._seed if seed is None else _whole(seed, "seed")


def _rebuilt(
    source: _Source,
    seed: int,
    explain: bool,
    victim: VictimPolicy | None,
    pacing: Pacing | None,
    changes: Mapping[str, Value],
) -> Drive:
    drive = Drive.__new__(Drive)
    drive._source = source
    drive._setup(seed, explain, victim, pacing, changes)
    return drive


def _unpickled(parts: tuple[Any, ...], digest: str) -> Drive:
    """The drive that was pickled, and no other one: a pickle holds the paths of its files, and not what they say."""
    try:
        drive = _rebuilt(*parts)
    except DriveFileError as e:
        text, helps = f"{e}\n  = help: {_OF_A_PICKLE}", [*e.help, _OF_A_PICKLE]
        raise DriveFileError(text, what=e.what, help=helps, file=e.file, line=e.line, column=e.column) from e
    if drive._digest() != digest:
        what = f"{drive.name} is not the drive that was pickled: its file says something else now"
        raise told(DriveFileError, what, _OF_A_PICKLE)
    return drive


_OF_A_PICKLE = (
    "a pickle of a drive, or of a result, names the files of the drive; pickle Drive.from_toml(text) where they may change, "
    "or keep the result with json() or save()"
)


def raid0(
    *devices: str | os.PathLike[str] | Drive, stripe: str | None = None, seed: int | None = None, explain: bool | None = None
) -> Drive:
    """A RAID 0 of devices; ``stripe`` as in ``"128KiB"``. Its ``seed`` and ``explain`` are those of the drives, unless given.

    Raises:
        ValueError: if the drives differ in them.
    """
    parts = [_expression(device) for device in devices] + ([] if stripe is None else [f"stripe={stripe}"])
    return _composed(f"raid0({', '.join(parts)})", devices, seed, explain)


def behind(
    adapter: str, device: str | os.PathLike[str] | Drive, *, seed: int | None = None, explain: bool | None = None
) -> Drive:
    """A device behind a host adapter of the catalog. Its ``seed`` and ``explain`` are those of the device, unless given."""
    return _composed(f"{adapter}({_expression(device)})", (device,), seed, explain)


def _composed(
    expression: str, of: tuple[str | os.PathLike[str] | Drive, ...], seed: int | None, explain: bool | None
) -> Drive:
    drives = [device for device in of if isinstance(device, Drive)]
    if explain is None:
        explain = any(drive._explain for drive in drives)
    return Drive(expression, seed=_common_seed(drives) if seed is None else seed, explain=explain)


def _common_seed(drives: Sequence[Drive]) -> int:
    """The seed that drives have, where one is needed for all of them."""
    seeds = {drive.seed for drive in drives}
    if len(seeds) > 1:
        raise ValueError(f"the drives have the seeds {', '.join(map(str, sorted(seeds)))}: give the one to use as `seed`")
    return seeds.pop() if seeds else 1


def _expression(device: str | os.PathLike[str] | Drive) -> str:
    if isinstance(device, (str, os.PathLike)):
        return os.fspath(device)
    if not isinstance(device, Drive):
        raise TypeError(f"a {type(device).__name__} is no device: give a name or a drive")
    if device._changes or device._has_policies() or device._source[2] is not None:
        raise ValueError(f"{device!r} has no name to be called by in an expression: save it as a file, and give its path")
    return device.name


def _text(key: str, value: Value) -> str:
    """A value as one would write it on the command line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and _is_whole(value):
        return str(int(value))
    if isinstance(value, (str, int, float)):
        return str(value)
    items = _items(value)
    if items is not None:
        return ",".join(_text(key, item) for item in items)
    # NumPy's numbers.
    item: Any = getattr(value, "item", None)
    if item is not None:
        return _text(key, item())
    raise TypeError(f"{key} is a {type(value).__name__}; values are text, numbers, or lists of them")


def _key_text(key: str, value: Value) -> str:
    """A value as it would stand in a drive file, where a list has brackets; text by itself may go without quotes."""
    items = _items(value)
    if items is None:
        return _text(key, value)
    return f"[{','.join(json.dumps(item) if isinstance(item, str) else _key_text(key, item) for item in items)}]"


def _items(value: Any) -> Sequence[Any] | None:
    """Those of a list or an array; ``None`` of a single value."""
    if isinstance(value, Sequence):
        return None if isinstance(value, (str, bytes, bytearray, memoryview)) else value
    return value.tolist() if getattr(value, "ndim", 0) else None


def _limit(records: bool | int) -> int:
    if type(records).__name__ in ("bool", "bool_"):
        return 2**63 - 1 if records else 0
    return _whole(records, "records")


def _written(
    save: str | os.PathLike[str] | None, timeline: str | os.PathLike[str] | None
) -> tuple[str | None, str | None]:
    """Where a drive is saved in the end, and where a timeline is written."""
    return (None if save is None else os.fspath(save), None if timeline is None else os.fspath(timeline))


def _unless(unwritten: SsdlabError | None, result: _Result) -> _Result:
    """The result, unless a file beside it could not be written: then the error has it."""
    if unwritten is None:
        return result
    unwritten.result = result
    raise unwritten


def _begins(start: str | os.PathLike[str] | None, stored_days: int) -> tuple[str | None, int]:
    days = _whole(stored_days, "stored_days", 0, 36_500)
    if start is None and days > 0:
        raise ValueError("stored_days is of a drive that was saved: it needs start")
    return (None if start is None else os.fspath(start), days)


def _rest(seconds: int | None) -> int | None:
    return None if seconds is None else _whole(seconds, "rest_seconds", 0, 31_536_000)


def _flag(value: bool, name: str) -> bool:
    if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    raise TypeError(f"{name} must be True or False, not {type(value).__name__}")


def _one_of(value: str, name: str, *words: str) -> str:
    if value not in words:
        raise ValueError(f"{name}={value!r} is none of {', '.join(map(repr, words))}")
    return value


def _whole(value: int, name: str, least: int = 0, most: int = 2**64 - 1) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be a whole number, not {type(value).__name__}")
    number = value.__index__()
    if not least <= number <= most:
        raise ValueError(f"{name} is {number}; it must lie between {least} and {most}")
    return number


def _rows(*columns: Any) -> int:
    # An array without a dimension is one value for all.
    many = [c for c in columns if hasattr(c, "__len__") and not isinstance(c, str) and getattr(c, "ndim", None) != 0]
    lengths = {len(c) for c in many}
    if len(lengths) > 1:
        raise ValueError(f"op, offset, length and at differ in length: {', '.join(map(str, sorted(lengths)))}")
    return lengths.pop() if lengths else 1


def _trace_columns(table: Any, unit: str | None) -> tuple[bytes, bytes, bytes, bytes]:
    columns = _columns.columns_of(table)
    missing = [name for name in ("time", "offset", "length", "op") if name not in columns]
    if missing:
        raise ValueError(f"the table has no column {' or '.join(missing)}; it has {', '.join(columns)}")
    time = _columns.nanoseconds(columns["time"], "time", unit, begin=True)
    rows = len(time) // 8
    return (
        time,
        _columns.whole(columns["offset"], "offset", rows),
        _columns.whole(columns["length"], "length", rows),
        _columns.ops(columns["op"], rows),
    )
