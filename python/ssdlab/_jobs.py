"""fio jobs as objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Union

#: A value of an option, as a job file has it: ``bs="4k"``, ``iodepth=32``, ``time_based=True``.
Option = Union[str, int, float, bool]


@dataclass(frozen=True)
class Job:
    """One job: its name, and fio's options by their names in a job file (``docs/fio-jobs.md`` lists them).

    >>> print(Job("writes", rw="randwrite", bs="4k", ioengine="libaio", iodepth=32, runtime="60s", time_based=True))
    [writes]
    rw=randwrite
    bs=4k
    ioengine=libaio
    iodepth=32
    runtime=60s
    time_based=1
    """

    name: str
    options: Mapping[str, Option] = field(default_factory=dict)

    def __init__(self, name: str, options: Mapping[str, Option] | None = None, **more: Option) -> None:
        object.__setattr__(self, "name", _plain(name, "the name of a job", "]"))
        # `global` and other words that Python keeps for itself may end in an underscore.
        given = {**(options or {}), **{key.rstrip("_"): value for key, value in more.items()}}
        object.__setattr__(self, "options", {_plain(key, "an option", "="): _value(key, v) for key, v in given.items()})

    def __str__(self) -> str:
        lines = [f"{key}={value}" for key, value in self.options.items()]
        return "\n".join([f"[{self.name}]", *lines])


@dataclass(frozen=True)
class JobFile:
    """Several jobs, and the options that all of them have."""

    jobs: tuple[Job, ...]
    common: Mapping[str, Option] = field(default_factory=dict)

    def __init__(self, jobs: Iterable[Job], common: Mapping[str, Option] | None = None) -> None:
        object.__setattr__(self, "jobs", tuple(jobs))
        object.__setattr__(self, "common", dict(common or {}))

    def __str__(self) -> str:
        parts = [Job("global", self.common)] if self.common else []
        return "\n".join(str(job) for job in [*parts, *self.jobs])


def _value(key: str, value: Option) -> str:
    # NumPy's numbers among them.
    value = value.item() if not isinstance(value, (str, int, float)) and hasattr(value, "item") else value
    if isinstance(value, bool):
        return str(int(value))
    if not isinstance(value, (str, int, float)):
        raise TypeError(f"{key} is a {type(value).__name__}; options are text or numbers")
    return _plain(str(int(value) if _is_whole(value) else value), f"the value of {key}", "")


def _is_whole(value: object) -> bool:
    """Whether it is a float that stands for a whole number, such as ``1e9``."""
    return isinstance(value, float) and value.is_integer() and abs(value) <= 2**53


def _plain(text: str, what: str, without: str) -> str:
    if not isinstance(text, str):
        raise TypeError(f"{what} must be text, not {type(text).__name__}")
    if "\n" in text or "\r" in text or any(c in text for c in without):
        raise ValueError(f"{what} must not hold {text!r}")
    return text
