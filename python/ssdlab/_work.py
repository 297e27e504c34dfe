"""Work on any executor: what workers lose is given out again, and what comes back is kept at once."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from threading import Event
from typing import Any, Union

from ._errors import SsdlabError, SweepInterrupted, told

#: Parts that take less are handed out several at a time, so that a task takes about so many seconds.
BATCH_SECONDS = 0.5

#: An executor, a function that makes one, or ``None`` for threads of this process.
Where = Union[Executor, Callable[[], Executor], None]

_GOES_ON = "what is finished is kept; the same call goes on from there, if `out` is given"


class Work:
    """Work in parts that are known by keys. A class of its own says what a task is, and keeps what comes back."""

    #: What a part is called, and several.
    part, parts = "part", "parts"
    #: Parts that are handed out together, at most.
    most = 1000
    #: A task that takes so many times as long as the longest that has ended, and at least so many seconds, is run again
    #: elsewhere; the first result counts.
    straggler = (5.0, 30.0)

    def __init__(self, keys: Sequence[str], workers: int | None, retries: int) -> None:
        """``keys``: of what is to be done, in this order. ``workers``: how many tasks run at the same time, if the executor
        does not say. ``retries``: how often a part is run again whose worker died."""
        self.open = dict.fromkeys(keys)
        self.total = len(self.open)
        self._workers, self._retries = workers, retries
        self._todo: deque[str] = deque()
        self._tries: dict[str, int] = {}
        self._seconds = 0.0
        self._ended = 0
        self._longest = 0.0

    def task(self, keys: list[str]) -> tuple[Any, ...]:
        """A function that does these parts on a worker, and its arguments. More may follow them: a function that is called
        with the share that is done."""
        raise NotImplementedError

    def keep(self, keys: list[str], came: Any) -> None:
        """Keeps what the task of these parts gave, and calls :meth:`end` for each that is open."""
        raise NotImplementedError

    def end(self, key: str, seconds: float) -> None:
        """A part is done, and took so long."""
        del self.open[key]
        self._ended += 1
        self._seconds += seconds

    def run(self, where: Where, threads: int | None, report: Callable[[float], object] | None) -> None:
        """Does it all. ``threads``: how many, without an executor.

        Raises:
            SweepInterrupted: if the executor broke, or lost a part too often.
        """
        make = where if callable(where) and not isinstance(where, Executor) else None
        own = ThreadPoolExecutor(threads or os.cpu_count()) if where is None else None
        given: Any = own or (make() if make else where)
        if not hasattr(given, "submit"):
            raise TypeError(f"a {type(given).__name__} is no executor")
        stopped = Event()

        def go_on(done: float) -> None:
            if stopped.is_set():
                raise CancelledError

        # Threads of this process do not hear Ctrl-C, and the interpreter waits for them.
        words = () if own is None else (go_on,)
        broken = 0
        try:
            while self.open:
                try:
                    self._go(given, words, report)
                except BrokenExecutor as e:
                    # What it had finished is kept.
                    broken += 1
                    if self.open and (make is None or broken > self._retries):
                        why = e.__cause__ if isinstance(e, _Refused) else e
                        left = f"{len(self.open)} of {self.total} {self.parts}"
                        what = f"the executor broke with {left} to go: {_words(why)}"
                        raise told(SweepInterrupted, what, _GOES_ON) from why
                    if self.open and make is not None:
                        _let_go(given)
                        given = make()
        finally:
            stopped.set()
            if own is not None or make is not None:
                _let_go(given)

    def _go(self, executor: Any, words: tuple[Any, ...], report: Callable[[float], object] | None) -> None:
        """Runs what is left, until all is done or the executor breaks."""
        width = self._workers or _width(executor)
        self._todo = deque(self.open)
        under_way: dict[Future[Any], tuple[list[str], float]] = {}

        def submit(keys: list[str]) -> None:
            try:
                future = executor.submit(*self.task(keys), *words)
            except Exception as e:
                if isinstance(e, RuntimeError) or _is_closed(executor):
                    raise _Refused from e
                raise
            under_way[future] = (keys, time.monotonic())

        try:
            while self.open:
                while self._todo and len(under_way) < 2 * width:
                    submit([self._todo.popleft() for _ in range(min(self._batch(width), len(self._todo)))])
                done, _ = wait(under_way, timeout=0.1, return_when=FIRST_COMPLETED)
                for future in done:
                    keys, began = under_way.pop(future)
                    self._take(future, keys, time.monotonic() - began)
                if not done and _is_closed(executor):
                    raise BrokenExecutor("its client has lost the cluster")
                # Threads of this process lose nothing.
                if not self._todo and not words:
                    for keys in self._stragglers(under_way, width):
                        submit(keys)
                if report is not None:
                    report(1 - len(self.open) / self.total)
        finally:
            is_closed = _is_closed(executor)
            for future, (keys, _) in under_way.items():
                if future.done():
                    # Whatever ends this says more than a result that cannot be kept either.
                    with suppress(Exception, CancelledError):
                        self.keep(keys, future.result())
                elif not is_closed:
                    future.cancel()

    def _batch(self, width: int) -> int:
        if self._ended == 0:
            return 1
        fitting = int(BATCH_SECONDS / max(self._seconds / self._ended, 1e-6))
        # Towards the end, no worker shall have much while others have nothing.
        return max(1, min(fitting, len(self._todo) // (2 * width), self.most))

    def _take(self, future: Future[Any], keys: list[str], took: float) -> None:
        try:
            came = future.result()
        except (SsdlabError, ValueError, BrokenExecutor):
            # It would be the same on every worker; or there are no others.
            raise
        except (Exception, CancelledError) as e:
            # The worker died, or the cluster lost the task.
            again = [key for key in keys if key in self.open]
            for key in again:
                self._tries[key] = self._tries.get(key, 0) + 1
                if self._tries[key] > self._retries:
                    what = f"{self.part} {key} was given up after {self._retries + 1} tries: {_words(e)}"
                    raise told(SweepInterrupted, what, _GOES_ON) from e
            self._todo.extend(again)
            return
        self._longest = max(self._longest, took)
        self.keep(keys, came)

    def _stragglers(self, under_way: dict[Future[Any], tuple[list[str], float]], width: int) -> list[list[str]]:
        """Tasks that shall run a second time, as many as there is room for."""
        now, limit = time.monotonic(), max(self.straggler[0] * self._longest, self.straggler[1])
        tasks = list(under_way.values())
        late = [keys for keys, began in tasks if now - began > limit and sum(other is keys for other, _ in tasks) == 1]
        return late[: max(width - len(tasks), 0)]


class _Refused(BrokenExecutor):
    """An executor that takes no work; its cause says why."""


def _words(error: BaseException | None) -> str:
    return str(error) or type(error).__name__


def _width(executor: Any) -> int:
    """How many tasks the executor runs at the same time."""
    if known := getattr(executor, "_max_workers", None):
        return int(known)
    with suppress(Exception):
        # Dask's executor does not say; its client asks the cluster.
        if cores := sum(executor._client.ncores().values()):
            return int(cores)
    return 2 * (os.cpu_count() or 1)


def _is_closed(executor: Any) -> bool:
    """Whether the client of Dask's executor has given its cluster up: what is under way then never ends."""
    return getattr(getattr(executor, "_client", None), "status", None) == "closed"


def _let_go(executor: Any) -> None:
    """Shuts an executor down. What fails in that shall hide neither a result nor an error."""
    with suppress(Exception):
        try:
            executor.shutdown(wait=False, cancel_futures=True)
        except TypeError:
            # Dask's and loky's do not know the word.
            executor.shutdown(wait=False)
