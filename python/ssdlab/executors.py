"""Executors that are almost ``concurrent.futures.Executor``, made so.

Dask's ``client.get_executor()`` and ``mpi4py.futures.MPIPoolExecutor`` are ones already.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future
from contextlib import suppress
from typing import Any


def _call(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return fn(*args, **kwargs)


class _Ray(Executor):
    def __init__(self, options: dict[str, Any]) -> None:
        import ray as module

        if not module.is_initialized():
            module.init()
        self._max_workers = int(module.cluster_resources().get("CPU", 1))
        self._call = module.remote(_call).options(**options)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = self._call.remote(fn, *args, **kwargs).future()
        return future


def ray(**options: Any) -> Executor:
    """An executor on the Ray cluster of this process, which is begun here if there is none. ``options`` are those of
    ``ray.remote``; tasks whose worker dies are run again three times unless ``max_retries`` says otherwise."""
    return _Ray({"max_retries": 3, **options})


class _Submitit(Executor):
    def __init__(self, executor: Any, poll_seconds: float, jobs: int) -> None:
        self._executor = executor
        self._poll_seconds = poll_seconds
        self._max_workers = jobs
        self._jobs: list[tuple[Any, Future[Any]]] = []
        self._lock = threading.Lock()
        self._shut = False
        self._thread = threading.Thread(target=self._watch, name="submitit jobs", daemon=True)
        self._thread.start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        # Held while the job is handed in: whoever watches ends once it is shut down and has no job left.
        with self._lock:
            if self._shut:
                raise RuntimeError("cannot schedule new futures after shutdown")
            self._jobs.append((self._executor.submit(fn, *args, **kwargs), future))
        return future

    def _watch(self) -> None:
        over = False
        while not over:
            time.sleep(self._poll_seconds)
            with self._lock:
                ended = [pair for pair in self._jobs if pair[0].done()]
                self._jobs = [pair for pair in self._jobs if pair not in ended]
                over = self._shut and not self._jobs
            for job, future in ended:
                try:
                    future.set_result(job.result())
                except BaseException as e:  # noqa: BLE001 - whatever it is, it belongs to who waits
                    future.set_exception(e)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        with self._lock:
            self._shut = True
            cancelled = self._jobs if cancel_futures else []
            if cancel_futures:
                self._jobs = []
        for job, future in cancelled:
            with suppress(Exception):
                job.cancel()
            future.set_exception(CancelledError())
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
