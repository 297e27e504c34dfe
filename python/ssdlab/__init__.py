"""An SSD laboratory in software: simulated drives, the tests of the classic reviews, sweeps and fleets.

>>> import ssdlab
>>> drive = ssdlab.Drive("ideal-32die", {"gc.policy": "cost-benefit"})
>>> drive.test("random-read", queue_depth=4, seconds=1).metrics["iops"].unit
'IOPS'

Whatever takes its time leaves the interpreter free, so that threads scale; Ctrl-C stops it within a tenth of a second;
``progress`` shows how far it is: ``None`` where somebody watches (a notebook, a terminal), ``True`` or ``False``, or a
function that is called with the share that is done.

Columns (:class:`Table`) leave through the Arrow PyCapsule interface. Errors are those of the command line, with its
words: :class:`SsdlabError` and what is derived of it.
"""

from __future__ import annotations

import json
from typing import Any

from . import _native, executors
from ._columns import OPS
from ._drive import Drive, behind, raid0
from ._errors import (
    BadInput,
    DriveFileError,
    FolderError,
    JobFileError,
    ParameterError,
    PlanError,
    ResultsError,
    RunError,
    SsdlabError,
    SweepInterrupted,
    TestError,
    TraceError,
)
from ._fleet import FleetReport, FleetResult, Workload, fleet
from ._jobs import Job, JobFile
from ._result import Chart, JobResult, Metric, Result
from ._review import Review, claims, compare, review
from ._sweep import SweepResult, sweep
from ._table import Table

__version__: str = _native.__version__


def devices() -> list[dict[str, Any]]:
    """Every drive, disk and array of the catalog: ``name``, ``capacity_bytes``, ``description``."""
    return json.loads(_native.list_json("devices"))["devices"]  # type: ignore[no-any-return]


def adapters() -> list[dict[str, Any]]:
    """Every host adapter of the catalog, for :func:`behind`."""
    return json.loads(_native.list_json("adapters"))["adapters"]  # type: ignore[no-any-return]


def nand() -> list[dict[str, Any]]:
    """Every die type of the catalog."""
    return json.loads(_native.list_json("nand"))["dies"]  # type: ignore[no-any-return]


def tests() -> dict[str, Any]:
    """Every test with its parameters and metrics, as ``ssdlab list tests --json`` prints them."""
    return json.loads(_native.list_json("tests"))  # type: ignore[no-any-return]


__all__ = [
    "OPS",
    "BadInput",
    "Chart",
    "Drive",
    "DriveFileError",
    "FleetReport",
    "FleetResult",
    "FolderError",
    "Job",
    "JobFile",
    "JobFileError",
    "JobResult",
    "Metric",
    "ParameterError",
    "PlanError",
    "Result",
    "ResultsError",
    "Review",
    "RunError",
    "SsdlabError",
    "SweepInterrupted",
    "SweepResult",
    "Table",
    "TestError",
    "TraceError",
    "Workload",
    "adapters",
    "behind",
    "claims",
    "compare",
    "devices",
    "executors",
    "fleet",
    "nand",
    "raid0",
    "review",
    "sweep",
    "tests",
]
