"""Sweeps on any executor: points know their inputs by fingerprint, and are kept as they come."""

from __future__ import annotations

import html
import os
import random
import time
import warnings
from collections import deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, ThreadPoolExecutor, wait
from threading import Event
from typing import Any, Protocol, Union

from . import _native
from ._drive import _whole
from ._errors import BadInput, SweepInterrupted
from ._folder import kept
from ._progress import Progress, shown
from ._recent import Recent
from ._table import Table

#: What a worker gives back for a point: its key, its result as text or ``None``, why it failed, seconds.
_Ran = tuple[str, Union[str, None], str, float]

#: Points that take less are handed out several at a time, so that a task takes about so many seconds.
BATCH_SECONDS = 0.5
#: A task that takes so many times as long as the longest that has ended, and at least so many seconds, is run again
#: elsewhere; the first result counts.
STRAGGLER = (5.0, 30.0)


class Store(Protocol):
    """Where finished points are kept: texts by key."""

    def get(self, key: str) -> str | None:
        """The text, or ``None``."""

    def put(self, key: str, text: str) -> None:
        """Keeps the text: whole, or not at all."""


class FolderStore:
    """The folder ``points`` of a sweep, as the command line keeps it."""

    def __init__(self, out: str | os.PathLike[str]) -> None:
        self._folder = os.path.join(os.fspath(out), "points")
        os.makedirs(self._folder, exist_ok=True)

    def get(self, key: str) -> str | None:
        try:
            with open(os.path.join(self._folder, f"{key}.json"), encoding="utf-8") as file:
                return file.read()
        except (FileNotFoundError, UnicodeDecodeError):
            return None

    def put(self, key: str, text: str) -> None:
        path = os.path.join(self._folder, f"{key}.json")
        partial = f"{path}.partial-{os.getpid()}"
        with open(partial, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)


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
        self._fs.pipe_file(partial, text.encode())
        self._fs.mv(partial, path)


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

    def __init__(self, plan: _native.SweepPlan, finished: dict[str, str], failed: dict[str, str], found: int) -> None:
        self._plan = plan
        self._finished = finished
        #: Why points failed, by key: bugs of the simulator, told in full. They are run again by the next call.
        self.failed = failed
        #: Points that were found finished.
        self.found = found

    @property
    def title(self) -> str:
        """Of the plan."""
        return self._plan.title

    @property
    def table(self) -> Table:
        """``point``, ``test``, ``seed``, the swept keys, ``status``, what is known of the drive, and metrics."""
        return Table(self._plan.table(self._finished, self.failed))

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
        return [os.fspath(path) for path in self._plan.write(folder, self._finished, self.failed)]

    def _told(self) -> SweepResult:
        """Itself, once what has no figure has been told of."""
        why, none = self._plan.impossible(self._finished, self.failed)
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
        workers: how many tasks the executor runs at the same time, if it does not say so itself.
        retries: how often a task is run again whose worker died.
        force: overwrite ``results.csv`` and ``index.html`` in ``out`` if ssdlab did not write them.

    Raises:
        PlanError: with line and column, if the plan cannot be used.
        FolderError: if the folder cannot be written to, has files in the way that ssdlab did not write, or is at work for
            another sweep. Nothing has run then.
        SweepInterrupted: if the executor broke. What is finished is kept: the same call goes on from there.
        RunError: if no point is possible; its ``result`` is what would have been returned, and ``out`` has been written.

    Why points are impossible or failed is a warning, a reason each.

    Results do not depend on the executor, on what died in between, or on what was found finished.
    """
    if threads is not None:
        _whole(threads, "threads", 1)
    if workers is not None:
        _whole(workers, "workers", 1)
    _whole(retries, "retries")
    file, text = _read(plan)
    native = _read_plan(file, text)
    if out is None or not isinstance(out, (str, os.PathLike)) or isinstance(out, str) and "://" in out:
        return _swept(native, (file, text), _store(out), executor, (threads, workers, retries), progress)._told()
    # What is wrong with the folder is found before the work is done, and nobody else works in it meanwhile.
    with kept(_native.Folder.of_sweep(out, force)) as folder:
        store = FolderStore(out)
        if executor is None:
            result = _swept_here(native, store, folder, threads, progress)
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
    native: _native.SweepPlan, store: Store, folder: _native.Folder, threads: int | None, progress: Progress
) -> SweepResult:
    """On threads of this process, with the store of the command line."""
    keys = native.keys()
    found_before = sum(_is_sound(native, key, store.get(key)) for key in keys)
    with shown(progress, native.title) as report:
        failed = native.run_here(folder, threads, report)
    finished = {key: found for key in keys if key not in failed and (found := store.get(key)) is not None}
    return SweepResult(native, finished, failed, found_before)


def _swept(
    native: _native.SweepPlan,
    source: tuple[str, str],
    store: Store,
    executor: Executor | Callable[[], Executor] | None,
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
    make = executor if callable(executor) and not isinstance(executor, Executor) else None
    own = ThreadPoolExecutor(threads or os.cpu_count()) if executor is None else None
    given: Any = own or (make() if make else executor)
    if not hasattr(given, "submit"):
        raise TypeError(f"a {type(given).__name__} is no executor")
    stopped = Event()

    def go_on(done: float) -> None:
        if stopped.is_set():
            raise CancelledError

    # Threads of this process do not hear Ctrl-C, and the interpreter waits for them.
    words = () if own is None else (go_on,)
    run = _Run(native, *source, store, finished, todo, workers, retries, words)
    try:
        with shown(progress, native.title) as report:
            while not run.go(given, report):
                # The executor broke, and everything that it had finished is kept.
                if make is None or run.broken > retries:
                    raise SweepInterrupted(
                        f"error: the executor broke with {len(run.todo)} of {len(keys)} points to go\n"
                        "  = help: what is finished is kept; the same call goes on from there, if `out` is given"
                    )
                given = make()
    finally:
        stopped.set()
        if own is not None or make is not None:
            given.shutdown(wait=False, cancel_futures=True)
    return SweepResult(native, finished, run.failed, found_before)


def _is_sound(plan: _native.SweepPlan, key: str, kept: str | None) -> bool:
    return kept is not None and plan.flaw(key, kept) is None


def _read(plan: str | os.PathLike[str]) -> tuple[str, str]:
    if isinstance(plan, str) and "\n" in plan:
        return "plan.toml", plan
    path = os.fspath(plan)
    return os.path.abspath(path), _native.plan_text(path)


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


class _Run:
    """Points on their way through executors."""

    def __init__(
        self,
        plan: _native.SweepPlan,
        file: str,
        text: str,
        store: Store,
        finished: dict[str, str],
        todo: list[str],
        workers: int | None,
        retries: int,
        words: tuple[Callable[[float], object], ...],
    ) -> None:
        #: What workers in this process are given besides.
        self.words = words
        self.plan, self.file, self.text, self.store = plan, file, text, store
        self.finished, self.failed = finished, dict[str, str]()
        self.all = todo
        self.todo = deque(todo)
        self.workers, self.retries = workers, retries
        self.total = len(todo)
        self.seconds = 0.0
        self.ran = 0
        self.longest = 0.0
        self.broken = 0
        self.tries: dict[str, int] = {}

    def go(self, executor: Any, report: Callable[[float], object] | None) -> bool:
        """Runs what is left; false if the executor broke."""
        width = self.workers or getattr(executor, "_max_workers", None) or 2 * (os.cpu_count() or 1)
        under_way: dict[Future[list[_Ran]], tuple[list[str], float]] = {}
        try:
            while self.todo or under_way:
                while self.todo and len(under_way) < 2 * width:
                    batch = [self.todo.popleft() for _ in range(min(self._batch(width), len(self.todo)))]
                    try:
                        under_way[executor.submit(run_points, self.file, self.text, batch, *self.words)] = (batch, time.monotonic())
                    except (BrokenExecutor, RuntimeError):
                        self.todo.extend(batch)
                        raise BrokenExecutor from None
                done, _ = wait(under_way, timeout=0.1, return_when=FIRST_COMPLETED)
                for future in done:
                    batch, began = under_way.pop(future)
                    self._take(future, batch, time.monotonic() - began)
                if not self.todo and under_way:
                    self._again(executor, under_way, width)
                if report is not None and self.total:
                    report(1 - self._left() / self.total)
                if not self._left():
                    break
        except BrokenExecutor:
            self.broken += 1
            for future, (batch, _) in under_way.items():
                if future.done() and not future.cancelled() and future.exception() is None:
                    self._take(future, batch, 0.0)
            self.todo = deque(key for key in self.all if self._is_open(key))
            return not self.todo
        finally:
            for future in under_way:
                future.cancel()
        return True

    def _is_open(self, key: str) -> bool:
        return key not in self.finished and key not in self.failed

    def _left(self) -> int:
        return self.total - self.ran - len(self.failed)

    def _batch(self, width: int) -> int:
        if self.ran == 0:
            return 1
        fitting = int(BATCH_SECONDS / max(self.seconds / self.ran, 1e-6))
        # Towards the end, no worker shall have much while others have nothing.
        return max(1, min(fitting, len(self.todo) // (2 * width), 1000))

    def _take(self, future: Future[list[_Ran]], batch: list[str], took: float) -> None:
        try:
            ran = future.result()
        except (BadInput, BrokenExecutor):
            raise
        except (Exception, CancelledError) as e:
            # The worker died, or the cluster lost the task.
            again = [key for key in batch if self._is_open(key)]
            for key in again:
                self.tries[key] = self.tries.get(key, 0) + 1
                if self.tries[key] > self.retries:
                    raise SweepInterrupted(
                        f"error: point {key} was given up after {self.retries + 1} tries: {e}\n"
                        "  = help: what is finished is kept; the same call goes on from there, if `out` is given"
                    ) from e
            self.todo.extend(again)
            return
        self.longest = max(self.longest, took)
        for key, text, why, seconds in ran:
            if not self._is_open(key):
                continue
            if text is None:
                self.failed[key] = why
                continue
            flaw = self.plan.flaw(key, text)
            if flaw is not None:
                raise SweepInterrupted(f"error: the result of point {key} did not arrive whole: {flaw}")
            self.store.put(key, text)
            self.finished[key] = text
            self.ran += 1
            self.seconds += seconds

    def _again(self, executor: Any, under_way: dict[Future[list[_Ran]], tuple[list[str], float]], width: int) -> None:
        """Runs stragglers a second time, where there is room."""
        now, limit = time.monotonic(), max(STRAGGLER[0] * self.longest, STRAGGLER[1])
        for batch, began in list(under_way.values()):
            copies = sum(other is batch for other, _ in under_way.values())
            if now - began > limit and copies == 1 and len(under_way) < width:
                under_way[executor.submit(run_points, self.file, self.text, batch, *self.words)] = (batch, now)
