"""Reviews, published figures, and results side by side."""

from __future__ import annotations

import html
import json
import os
import warnings
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Union

from . import _native
from ._drive import Drive, Value, _common_seed, _flag, _text, _whole
from ._progress import Progress, shown
from ._result import Result


class Review:
    """Tests of one or several drives, and the published figures about them."""

    def __init__(self, native: _native.Review, drives: list[Drive]) -> None:
        self._native = native
        self._drives = {drive.name: drive for drive in drives}

    @cached_property
    def results(self) -> list[Result]:
        """Every outcome, in the order of the report."""
        named = ((outcome, json.loads(outcome.outcome_json())["device"]) for outcome in self._native.outcomes())
        return [Result(outcome, self._drives[name]) for outcome, name in named]

    @property
    def failures(self) -> list[str]:
        """Why tests have no outcome, in words."""
        return self._native.failures

    @cached_property
    def claims(self) -> list[dict[str, Any]]:
        """Published figures beside ours."""
        return list(json.loads(self.json()).get("claims", []))

    def json(self) -> str:
        """The document that ``ssdlab review`` writes as ``results.json``."""
        return self._native.results_json()

    def save(self, folder: str | os.PathLike[str], *, force: bool = False) -> None:
        """Writes ``index.html``, ``results.json``, series and charts, as ``ssdlab review --out`` does: into the folder
        ``unfinished`` within it if tests failed, so that a whole review stays what it is.

        Raises:
            FolderError: if the folder cannot be written to, or has files in the way that ssdlab did not write.
        """
        self._native.save(folder, force)

    def plot(self) -> Any:
        """Every chart of every test below the other, by altair."""
        import altair

        charts = [chart.plot().properties(title=f"{r.device}: {chart.title}") for r in self.results for chart in r.charts.values()]
        return altair.vconcat(*charts)

    def __str__(self) -> str:
        return self._native.text() + "".join(f"{failure}\n" for failure in self.failures)

    def __repr__(self) -> str:
        without = f", {len(self.failures)} without an outcome" if self.failures else ""
        return f"<ssdlab.Review of {len(self.results)} tests{without}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def review(
    drives: str | os.PathLike[str] | Drive | Iterable[str | os.PathLike[str] | Drive],
    *,
    only: str | Iterable[str] = (),
    settings: Mapping[str, Value] | None = None,
    figures: str | os.PathLike[str] | None = None,
    quick: bool = False,
    seed: int | None = None,
    threads: int | None = None,
    progress: Progress = None,
) -> Review:
    """Puts drives through the suite, as ``ssdlab review`` does, on all cores.

    Args:
        only: names of tests; without them, all that belong into a review.
        settings: parameters for every test that takes them.
        figures: a file of published figures of your own, beside those of the catalog.
        quick: on an eighth of the drive for an eighth of the time (Storage Bench: a hundredth of its requests, which puts drives
            in no order); figures that depend on the size of the drive are left out.
        seed: of every random number; without it, that of the drives.
        threads: tests that run at the same time; never changes a result.

    Why a test has no outcome is a warning, and stands in ``failures``.

    Raises:
        ParameterError: if there is no such test or parameter, a drive is named twice, or no figure is about these drives.
        DriveFileError: if a drive or the file of figures cannot be used.
        ValueError: if the drives have seeds that differ, and none is given.
    """
    listed = [drives] if isinstance(drives, (str, os.PathLike, Drive)) else list(drives)
    named = [drive if isinstance(drive, Drive) else Drive(drive) for drive in listed]
    if any(drive._has_policies() for drive in named):
        raise ValueError("a review has drives with built-in policies only: use test() for those of your own")
    if not named:
        raise ValueError("a review needs a drive")
    tests = [only] if isinstance(only, str) else list(only)
    set_ = [f"{key}={_text(key, value)}" for key, value in (settings or {}).items()]
    with shown(progress, f"review of {', '.join(d.name for d in named)}") as report:
        native = _native.Review(
            [drive._native for drive in named],
            tests,
            set_,
            None if figures is None else os.fspath(figures),
            _common_seed(named) if seed is None else _whole(seed, "seed"),
            _flag(quick, "quick"),
            None if threads is None else _whole(threads, "threads", 1),
            report,
        )
    _warn(native.failures)
    return Review(native, named)


def _warn(failures: Iterable[str]) -> None:
    """Of tests without an outcome, to the caller of whoever calls this."""
    for failure in failures:
        warnings.warn(failure, stacklevel=3)


def claims(
    drives: str | Iterable[str] = (),
    *,
    figures: str | os.PathLike[str] | None = None,
    quick: bool = False,
    seed: int = 1,
    threads: int | None = None,
    progress: Progress = None,
) -> dict[str, Any]:
    """Published figures beside simulated ones, as ``ssdlab claims --json`` prints them; without drives, all there are. Why
    tests have no outcome is a warning, and stands in ``failures``.

    Args:
        figures: a file of published figures of your own, beside those of the catalog; without drives, those that it is about.

    Raises:
        DriveFileError: if nothing was published about a drive, or the file of figures cannot be used.
    """
    names = [drives] if isinstance(drives, str) else list(drives)
    with shown(progress, "claims") as report:
        threads_ = None if threads is None else _whole(threads, "threads", 1)
        file = None if figures is None else os.fspath(figures)
        text = _native.claims_json(names, file, _whole(seed, "seed"), _flag(quick, "quick"), threads_, report)
    document: dict[str, Any] = json.loads(text)
    _warn(document["failures"])
    return document


def compare(
    first: Union[Review, Result, str, os.PathLike[str]], second: Union[Review, Result, str, os.PathLike[str]]
) -> dict[str, Any]:
    """The figures of two results side by side, as ``ssdlab compare --json`` prints them. Each is a review, a result, or
    the path of a ``results.json``.

    Raises:
        ResultsError: if a file is none, or the two have no test in common.
    """

    def document(of: Union[Review, Result, str, os.PathLike[str]], name: str) -> tuple[str | None, str]:
        if isinstance(of, (Review, Result)):
            return of.json(), name
        return None, os.fspath(of)

    text = _native.compare_json(document(first, "first"), document(second, "second"))
    return json.loads(text)  # type: ignore[no-any-return]
