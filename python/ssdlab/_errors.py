"""Errors, with the words of the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar


class SsdlabError(Exception):
    """Something that ssdlab has to say. ``str()`` is what the command line prints."""

    def __init__(
        self,
        message: str,
        *,
        what: str = "",
        help: Sequence[str] = (),  # noqa: A002 - the word of the command line
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        result: Any = None,
    ) -> None:
        super().__init__(message)
        #: The problem alone, in one line.
        self.what: str = what or message
        #: What would be right.
        self.help: list[str] = list(help)
        #: Name of the file that the message points into, if it does.
        self.file: str | None = file
        #: Line of it, from 1.
        self.line: int | None = line
        #: Column of the line, from 1, in characters.
        self.column: int | None = column
        #: What a run has found that ended well, where only a file beside it could not be written; of a sweep, all there is.
        self.result: Any = result

    def __reduce__(self) -> tuple[object, ...]:
        details = {key: getattr(self, key) for key in ("what", "help", "file", "line", "column", "result")}
        return (_rebuilt, (type(self), self.args[0], details))


def _rebuilt(kind: type[SsdlabError], message: str, details: dict[str, object]) -> SsdlabError:
    return kind(message, **details)  # type: ignore[arg-type]


_Error = TypeVar("_Error", bound=SsdlabError)


def told(kind: type[_Error], what: str, *help: str) -> _Error:  # noqa: A002
    """An error in the form in which the command line prints them."""
    return kind("\n  = help: ".join([f"error: {what}", *help]), what=what, help=help)


class BadInput(SsdlabError, ValueError):
    """What was given cannot be used. Nothing ran."""


class DriveFileError(BadInput):
    """A drive, disk, array or die file, a device expression, a name of the catalog, or a changed key."""


class ParameterError(BadInput):
    """A name of a test, or a parameter that it does not take."""


class TestError(BadInput):
    """A test that makes no sense on a drive, or with these settings."""

    __test__ = False


class JobFileError(BadInput):
    """A fio job file."""


class TraceError(BadInput):
    """A block trace, in a file or in a table."""


class PlanError(BadInput):
    """A plan of a sweep, or of a fleet."""


class ResultsError(BadInput):
    """A document of results."""


class FolderError(BadInput):
    """A folder that cannot be written to."""


class RunError(SsdlabError, RuntimeError):
    """The input was sound, but the run failed."""


class SweepInterrupted(SsdlabError, RuntimeError):
    """An executor gave up before every point, or life, was finished. What is finished is kept; the same call goes on from there."""
