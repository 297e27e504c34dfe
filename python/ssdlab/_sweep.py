"""Sweeps on any executor: points know their inputs by fingerprint, and are kept as they come."""

from __future__ import annotations

import html
import os
import random
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import suppress
from typing import Any, Protocol, Union

from . import _native
from ._drive import _whole
from ._errors import FolderError, PlanError, RunError, SweepInterrupted, told
from ._folder import kept
from ._progress import Progress, shown
from ._recent import Recent
from ._table import Table
from ._work import Where, Work

#: What a worker gives back for a point: its key, its result as text or ``None``, why it failed, seconds.
_Ran = tuple[str, Union[str, None], str, float]


class Store(Protocol):
    """Where finished points are kept: texts by key."""

    def get(self, key: str) -> str | None:
        """The text, or ``None``."""

    def put(self, key: str, text: str) -> None:
        """Keeps the text: whole, or not at all."""


def _reason(e: OSError) -> str:
    """In the words of the command line."""
    return f"{e.strerror} (os error {e.errno})" if e.strerror and e.errno else str(e) or type(e).__name__


def _not_kept(path: str, e: OSError) -> RunError:
    """The error that :meth:`_native.SweepPlan.run_here` has for it as well."""
    return told(RunError, f"cannot write {path}: {_reason(e)}", "what is finished is kept; the same call goes on from there")


class FolderStore:
    """The folder ``points`` of a sweep, as the command line keeps it."""

    def __init__(self, out: str | os.PathLike[str]) -> None:
        self._folder = os.path.join(os.fspath(out), "points")
        try:
            os.makedirs(self._folder, exist_ok=True)
        except OSError as e:
            what = f"cannot create the folder {self._folder}: {_reason(e)}"
            raise told(FolderError, what, "choose another folder") from e

    def get(self, key: str) -> str | None:
        try:
            with open(os.path.join(self._folder, f"{key}.json"), encoding="utf-8") as file:
                return file.read()
        except (FileNotFoundError, IsADirectoryError, UnicodeDecodeError):
            return None

    def put(self, key: str, text: str) -> None:
        path = os.path.join(self._folder, f"{key}.json")
        partial = f"{path}.partial-{os.getpid()}"
        try:
            with open(partial, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, path)
        except OSError as e:
            # What is left is of no use to anyone; if it cannot be removed either, the first error says why.
            with suppress(OSError):
                os.remove(partial)
            raise _not_kept(path, e) from e


class UrlStore:
    """The same on any file system that fsspec knows, by URL."""

    def __init__(self, url: str) -> None:
        import fsspec

        self._fs, path = fsspec.core.url_to_fs(url)
        self._folder = f"{path.rstrip('/')}/points"
        self._fs.makedirs(self._folder, exist_ok=True)

    def get(self, key: str) -> str | None:
        try:
            return bytes(self._fs.cat_file(f"{self._folder}/{key}.json")).decode()
        except (FileNotFoundError, UnicodeDecodeError):
            return None

    def put(self, key: str, text: str) -> None:
        path = f"{self._folder}/{key}.json"
        partial = f"{path}.partial-{os.getpid()}"
        try:
            self._fs.pipe_file(partial, text.encode())
            self._fs.mv(partial, path)
        except OSError as e:
            with suppress(Exception):
                self._fs.rm_file(partial)
            raise _not_kept(path, e) from e


class MemoryStore:
    """Points that are kept as long as the object."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def get(self, key: str) -> str | None:
        return self._texts.get(key)

    def put(self, key: str, text: str) -> None:
        self._texts[key] = text


class SweepResult:
    """A finished sweep: one row a point."""

    def __init__(
        self,
        plan: _native.SweepPlan | None,
        source: tuple[str, str],
        finished: dict[str, str],
        failed: dict[str, str],
        found: int,
    ) -> None:
        #: ``None`` where the result was unpickled, until it is looked at.
        self._read = plan
        #: What is known of each point, once it was asked for.
        self._known: _native.SweepStates | None = None
        #: The plan's file and text.
        self._source = source
        self._finished = finished
        #: Why points failed, by key: bugs of the simulator, told in full. They are run again by the next call.
        self.failed = failed
        #: Points that were found finished.
        self.found = found

    @property
    def _plan(self) -> _native.SweepPlan:
        if self._read is None:
            plan = _read_plan(*self._source)
            if {*plan.keys()} != {*self._finished, *self.failed}:
                what = f"{self._source[0]} has other points here than where it was swept"
                raise told(PlanError, what, "use the same version of ssdlab, and the same files that the plan names")
            self._read = plan
        return self._read

    @property
    def _states(self) -> _native.SweepStates:
        if self._known is None:
            self._known = self._plan.states(self._finished, self.failed)
        return self._known

    def __reduce__(self) -> tuple[object, ...]:
        return SweepResult, (None, self._source, self._finished, self.failed, self.found)

    @property
    def title(self) -> str:
        """Of the plan."""
        return self._plan.title

    @property
    def table(self) -> Table:
        """``point``, ``test``, ``seed``, the swept keys, ``status``, what is known of the drive, and metrics."""
        return Table(self._states.table())

    def __len__(self) -> int:
        return len(self._plan)

    def save(self, folder: str | os.PathLike[str], *, force: bool = False) -> list[str]:
        """Writes ``results.csv`` and the page of charts, byte by byte as ``ssdlab sweep`` does; returns the paths.

        Raises:
            FolderError: if the folder cannot be written to, or has files in the way that ssdlab did not write.
        """
        with kept(_native.Folder.of_sweep(folder, force)) as opened:
            return self._write(opened)

    def _write(self, folder: _native.Folder) -> list[str]:
        return [os.fspath(path) for path in self._states.write(folder)]

    def _told(self) -> SweepResult:
        """Itself, once what has no figure has been told of."""
        why, none = self._states.impossible()
        # To the caller of `sweep`.
        for line in why.splitlines():
            warnings.warn(line.strip(), stacklevel=3)
        for key, failure in self.failed.items():
            warnings.warn(f"failed: {self._plan.describe(key)}: {failure}", stacklevel=3)
        if none is not None:
            none.result = self
            raise none
        return self

    def __repr__(self) -> str:
        impossible = self.table._native.column("status")[1].count("impossible")
        counts = ((impossible, "impossible"), (len(self.failed), "failed"))
        without = "".join(f", {count} {word}" for count, word in counts if count)
        return f"<ssdlab.SweepResult {self.title}: {len(self)} points{without}>"

    def _repr_html_(self) -> str:
        return f"<b>{html.escape(self.title)}</b>{self.table._repr_html_()}"


def sweep(
    plan: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] | Store | None = None,
    executor: Executor | Callable[[], Executor] | None = None,
    threads: int | None = None,
    workers: int | None = None,
    retries: int = 3,
    force: bool = False,
    progress: Progress = None,
) -> SweepResult:
    """Puts many variants of a drive through tests (``docs/sweeps.md``), here or on many machines.

    Args:
        plan: the path of a plan, or its text (anything with a line feed).
        out: where finished points are kept as they come, and found by the next call: a folder, which then also gets
            ``results.csv`` and ``index.html``, and with which the command line can go on; the URL of a folder on any
            fsspec file system; an object with ``get`` and ``put``. ``None``: in memory.
        executor: any ``concurrent.futures.Executor``: threads, processes, Dask's ``client.get_executor()``,
            ``mpi4py.futures.MPIPoolExecutor``, :func:`ssdlab.executors.ray`, :func:`ssdlab.executors.submitit`. Every
            worker needs this version of ssdlab, and the files that the plan names at the same paths. A function that
            makes one is called again if the executor breaks. Without: threads of this process.
        threads: without an executor: how many; as many as the machine has cores if not given.
        workers: how many tasks the executor runs at the same time, if neither it nor a Dask cluster says so.
        retries: how often a task is run again whose worker died.
        force: overwrite ``results.csv`` and ``index.html`` in ``out`` if ssdlab did not write them.

    Raises:
        PlanError: with line and column, if the plan cannot be used.
        FolderError: if the folder cannot be written to, has files in the way that ssdlab did not write, or is at work for
            another sweep. Nothing has run then.
        SweepInterrupted: if the executor broke, and why. What is finished is kept: the same call goes on from there.
        RunError: if a result cannot be kept (a full disk): what is finished is kept here, too. If no point is possible; its
            ``result`` is then what would have been returned, and ``out`` has been written.

    Why points are impossible or failed is a warning, a reason each.

    Results do not depend on the executor, on what died in between, or on what was found finished.
    """
    threads = None if threads is None else _whole(threads, "threads", 1)
    workers = None if workers is None else _whole(workers, "workers", 1)
    retries = _whole(retries, "retries")
    file, text = _read(plan)
    native = _read_plan(file, text)
    if out is None or not isinstance(out, (str, os.PathLike)) or isinstance(out, str) and "://" in out:
        return _swept(native, (file, text), _store(out), executor, (threads, workers, retries), progress)._told()
    # What is wrong with the folder is found before the work is done, and nobody else works in it meanwhile.
    with kept(_native.Folder.of_sweep(out, force)) as folder:
        store = FolderStore(out)
        if executor is None:
            result = _swept_here(native, (file, text), store, folder, threads, progress)
        else:
            result = _swept(native, (file, text), store, executor, (threads, workers, retries), progress)
        result._write(folder)
    return result._told()


def _store(out: str | os.PathLike[str] | Store | None) -> Store:
    """Where points or lives are kept."""
    if out is None:
        return MemoryStore()
    if isinstance(out, str) and "://" in out:
        return UrlStore(out)
    if isinstance(out, (str, os.PathLike)):
        return FolderStore(out)
    if hasattr(out, "get") and hasattr(out, "put"):
        return out
    raise TypeError(f"a {type(out).__name__} keeps no points: give a folder, a URL, or an object with get and put")


def _swept_here(
    native: _native.SweepPlan,
    source: tuple[str, str],
    store: Store,
    folder: _native.Folder,
    threads: int | None,
    progress: Progress,
) -> SweepResult:
    """On threads of this process, with the store of the command line."""
    keys = native.keys()
    found_before = sum(_is_sound(native, key, store.get(key)) for key in keys)
    with shown(progress, native.title) as report:
        failed = native.run_here(folder, threads, report)
    finished = {key: found for key in keys if key not in failed and (found := store.get(key)) is not None}
    return SweepResult(native, source, finished, failed, found_before)


def _swept(
    native: _native.SweepPlan,
    source: tuple[str, str],
    store: Store,
    executor: Where,
    limits: tuple[int | None, int | None, int],
    progress: Progress,
) -> SweepResult:
    """On an executor. ``source`` is the plan's file and text; ``limits``: threads, workers, retries."""
    keys = native.keys()
    threads, workers, retries = limits
    finished: dict[str, str] = {}
    for key in keys:
        text = store.get(key)
        if text is not None and _is_sound(native, key, text):
            finished[key] = text
    found_before = len(finished)
    todo = [key for key in keys if key not in finished]
    # Dear and cheap points lie in rows in a grid; mixed, the time for the rest can be told from the time so far.
    random.Random(0).shuffle(todo)
    points = _Points(native, source, store, finished, todo, workers, retries)
    with shown(progress, native.title) as report:
        points.run(executor, threads, report)
    return SweepResult(native, source, finished, points.failed, found_before)


def _is_sound(plan: _native.SweepPlan, key: str, kept: str | None) -> bool:
    return kept is not None and plan.flaw(key, kept) is None


def _read(plan: str | os.PathLike[str]) -> tuple[str, str]:
    if isinstance(plan, str) and "\n" in plan:
        return "plan.toml", plan
    path = os.fspath(plan)
    # Workers need not stand in the same folder. `..` after a link is not the folder before it.
    return os.path.join(os.getcwd(), path), _native.plan_text(path)


#: Plans that were read last, with the keys of their points.
_plans: Recent[tuple[str, str], tuple[_native.SweepPlan, frozenset[str]]] = Recent(4)


def _read_plan(file: str, text: str) -> _native.SweepPlan:
    plan = _native.SweepPlan(file, text)
    _plans.put((file, text), (plan, frozenset(plan.keys())))
    return plan


def _plan(file: str, text: str, keys: list[str]) -> _native.SweepPlan:
    """The plan that has these points. One that was read before is read again if it has not: a key holds all that decides on a
    point, the files among it that the plan names."""
    known = _plans.get((file, text))
    return known[0] if known is not None and known[1].issuperset(keys) else _read_plan(file, text)


def run_points(
    file: str, text: str, keys: list[str], report: Callable[[float], object] | None = None
) -> list[_Ran]:
    """What a worker does: reads the plan, once for each process, and runs some of its points."""
    plan = _plan(file, text, keys)
    ran: list[_Ran] = []
    for key in keys:
        began = time.perf_counter()
        result, why = plan.run_point(key, report)
        ran.append((key, result, why, time.perf_counter() - began))
    return ran


class _Points(Work):
    """Points on their way through executors."""

    part, parts = "point", "points"

    def __init__(
        self,
        plan: _native.SweepPlan,
        source: tuple[str, str],
        store: Store,
        finished: dict[str, str],
        todo: list[str],
        workers: int | None,
        retries: int,
    ) -> None:
        super().__init__(todo, workers, retries)
        self._plan, self._source, self._store, self._finished = plan, source, store, finished
        self.failed: dict[str, str] = {}

    def task(self, keys: list[str]) -> tuple[Any, ...]:
        return (run_points, *self._source, keys)

    def keep(self, keys: list[str], came: list[_Ran]) -> None:
        for key, text, why, seconds in came:
            if key not in self.open:
                continue
            if text is None:
                self.failed[key] = why
            else:
                flaw = self._plan.flaw(key, text)
                if flaw is not None:
                    raise told(SweepInterrupted, f"the result of point {key} did not arrive whole: {flaw}")
                self._store.put(key, text)
                self._finished[key] = text
            self.end(key, seconds)
