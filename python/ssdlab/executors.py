"""Executors that are almost ``concurrent.futures.Executor``, made so.

Dask's ``client.get_executor()`` and ``mpi4py.futures.MPIPoolExecutor`` are ones already.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, InvalidStateError
from contextlib import suppress
from typing import Any


#: How often in a row a job is asked whether it has ended before it counts as lost.
_ASKS = 10


class _Handed(Future[Any]):
    """Of a task that a cluster has. Cancelled, it is cancelled there as well, though it may be running."""

    def __init__(self, stop: Callable[[], object]) -> None:
        super().__init__()
        self._stop = stop

    def cancel(self) -> bool:
        # Never set running, or it would refuse.
        if self.cancelled() or not super().cancel():
            return self.cancelled()
        # Who waits is told.
        self.set_running_or_notify_cancel()
        with suppress(Exception):
            self._stop()
        return True

    def take(self, result: Callable[[], Any]) -> None:
        """Has what this returns or raises, unless it was cancelled."""
        with suppress(InvalidStateError):
            try:
                came = result()
            except BaseException as e:  # noqa: BLE001 - whatever it is, it belongs to who waits
                self.set_exception(e)
            else:
                self.set_result(came)


def _call(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return fn(*args, **kwargs)


class _Ray(Executor):
    def __init__(self, options: dict[str, Any]) -> None:
        import ray as module

        if not module.is_initialized():
            module.init()
        self._max_workers = int(module.cluster_resources().get("CPU", 1))
        self._call = module.remote(_call).options(**options)
        self._cancel = module.cancel

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        task = self._call.remote(fn, *args, **kwargs)
        future = _Handed(lambda: self._cancel(task))
        # Ray's own future leaves the task alone when it is cancelled.
        task.future().add_done_callback(lambda ended: future.take(ended.result))
        return future


def ray(**options: Any) -> Executor:
    """An executor on the Ray cluster of this process, which is begun here if there is none. ``options`` are those of
    ``ray.remote``; tasks whose worker dies are run again three times unless ``max_retries`` says otherwise."""
    return _Ray({"max_retries": 3, **options})


class _Job(_Handed):
    def __init__(self, job: Any) -> None:
        super().__init__(job.cancel)
        self.job = job
        #: Why it did not say when it was last asked whether it has ended.
        self.error: BaseException | None = None
        self._unanswered = 0

    def is_over(self) -> bool:
        """Whether it has ended, is lost, or was cancelled."""
        if self.cancelled():
            return True
        try:
            over = bool(self.job.done())
        except BaseException as e:  # noqa: BLE001 - whoever waits for other jobs shall not wait for ever
            # A scheduler that has much to do does not always answer.
            self._unanswered += 1
            self.error = e
            return self._unanswered == _ASKS
        self._unanswered, self.error = 0, None
        return over

    def settle(self) -> None:
        """Has what came of the job that is over. A cancelled one has it already."""
        if self.error is not None:
            # What is run again elsewhere need not run on.
            with suppress(Exception):
                self.job.cancel()
            with suppress(InvalidStateError):
                self.set_exception(self.error)
        elif not self.cancelled():
            self.take(self.job.result)


class _Submitit(Executor):
    def __init__(self, executor: Any, poll_seconds: float, jobs: int) -> None:
        self._executor = executor
        self._poll_seconds = poll_seconds
        self._max_workers = jobs
        self._jobs: list[_Job] = []
        self._lock = threading.Lock()
        self._shut = False
        self._thread = threading.Thread(target=self._watch, name="submitit jobs", daemon=True)
        self._thread.start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        # Held while the job is handed in: whoever watches ends once it is shut down and has no job left.
        with self._lock:
            if self._shut:
                raise RuntimeError("cannot schedule new futures after shutdown")
            future = _Job(self._executor.submit(fn, *args, **kwargs))
            self._jobs.append(future)
        return future

    def _watch(self) -> None:
        over = False
        while not over:
            time.sleep(self._poll_seconds)
            with self._lock:
                ended = [job for job in self._jobs if job.is_over()]
                self._jobs = [job for job in self._jobs if job not in ended]
                over = self._shut and not self._jobs
            for job in ended:
                job.settle()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        with self._lock:
            self._shut = True
            cancelled = self._jobs if cancel_futures else []
            if cancel_futures:
                self._jobs = []
        for job in cancelled:
            job.cancel()
        if wait:
            self._thread.join()


def submitit(executor: Any, *, jobs: int = 64, poll_seconds: float = 0.5) -> Executor:
    """An executor on submitit's: ``submitit(submitit.AutoExecutor(folder))`` for Slurm or this machine.

    Args:
        jobs: that are handed out at the same time. A Slurm job costs seconds: let a task take minutes, by
            ``ssdlab._work.BATCH_SECONDS``.
        poll_seconds: between two looks at the jobs.
    """
    return _Submitit(executor, poll_seconds, jobs)
