"""Arrays and tables that go into the laboratory: checked, and brought to bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Numbers of the commands.
OPS = {"read": 0, "write": 1, "trim": 2, "flush": 3, "write_zeroes": 4}
_SHORT = {"r": 0, "w": 1, "d": 2, "t": 2, "f": 3, "discard": 2, "R": 0, "W": 1, "D": 2, "F": 3, "Read": 0, "Write": 1}
_UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
#: Of NumPy's dates and durations; those of months and years are not of one length.
_NUMPY_UNITS = {**_UNITS, "m": 60 * 10**9, "h": 3_600 * 10**9, "D": 86_400 * 10**9, "W": 604_800 * 10**9}
#: The latest time that is looked at at all, in nanoseconds; a drive's clock ends after 366 days.
LATEST = 10**18


def array(values: Any) -> Any:
    """A NumPy array of a column of any kind of table."""
    import numpy

    if hasattr(values, "__arrow_c_array__") and not hasattr(values, "to_numpy"):
        import pyarrow

        values = pyarrow.array(values)
    if hasattr(values, "to_numpy"):
        # pyarrow refuses to copy unless it is told that it may.
        try:
            values = values.to_numpy(zero_copy_only=False)
        except TypeError:
            values = values.to_numpy()
    if numpy.ma.is_masked(values):
        raise ValueError("a masked array has values that are not there: fill them, or leave their rows out")
    return numpy.asarray(values)


def whole(values: Any, name: str, rows: int | None = None) -> bytes:
    """Whole numbers from 0 on, as little-endian bytes, eight each. A single number stands for ``rows`` of it.

    Raises:
        TypeError: if they are no numbers.
        ValueError: if one is negative, not whole, NaN or too large, or there are not ``rows`` of them.
    """
    import numpy

    given = array(values)
    if given.ndim == 0 and rows is not None:
        given = numpy.broadcast_to(given, (rows,))
    if given.ndim != 1:
        raise ValueError(f"{name} must have one dimension, not {given.ndim}")
    if rows is not None and len(given) != rows:
        raise ValueError(f"{name} has {len(given)} values, where {rows} are needed")
    if given.dtype.kind in "mM":
        raise TypeError(f"{name} is a time; it must be a number of bytes")
    if given.dtype == object:
        listed = given.tolist()
        if any(isinstance(value, int) and abs(value) >= 2**64 for value in listed):
            raise ValueError(f"{name} has a value beyond 64 bits")
        given = numpy.array(listed)
    if given.dtype.kind == "b" or given.dtype.kind not in "iuf":
        raise TypeError(f"{name} must be whole numbers, not {given.dtype}")
    if given.dtype.kind == "f":
        bad = ~(numpy.isfinite(given) & (given == numpy.floor(given)) & (given < 2.0**63))
        _refuse(bad, given, name, "is no whole number below 2**63")
    if given.dtype.kind in "if":
        _refuse(given < 0, given, name, "is negative")
    return bytes(given.astype("<u8", casting="unsafe", copy=False).tobytes())


def nanoseconds(values: Any, name: str, unit: str | None, *, begin: bool) -> bytes:
    """Times as whole nanoseconds. With ``begin``, they are made relative to the first of them if they are dates.

    Raises:
        TypeError: if they are plain numbers without a unit.
        ValueError: as :func:`whole`.
    """
    import numpy

    given = times(values)
    if given.dtype.kind in "mM":
        if unit is not None:
            raise ValueError(f"{name} is a {given.dtype}, which has its own unit; leave time_unit out")
        if given.ndim != 1:
            raise ValueError(f"{name} must have one dimension, not {given.ndim}")
        if given.dtype.kind == "M" and not begin:
            raise TypeError(f"{name} must be a duration, not a date")
        return _since_first(given, name) if given.dtype.kind == "M" else _durations(given, name)
    if unit is None:
        raise TypeError(f"{name} is a number without a unit: give time_unit='ns', 'us', 'ms' or 's'")
    if unit not in _UNITS:
        raise ValueError(f"time_unit={unit!r} is none of {', '.join(_UNITS)}")
    if begin and given.ndim == 1 and len(given) and given.dtype.kind in "iuf":
        # Those since 1970, or since the machine was started, are later than any drive is old.
        _refuse(given < 0, given, name, "is negative")
        if given.dtype.kind != "f" or numpy.isfinite(given).all():
            given = given - given.min()
    if given.dtype.kind == "f":
        _refuse(~numpy.isfinite(given), given, name, "is no time")
        _refuse(given > LATEST / _UNITS[unit], given, name, "is too late")
        return whole(numpy.rint(given * _UNITS[unit]), name)
    numbers = numpy.frombuffer(whole(given, name), dtype="<u8")
    _refuse(numbers > LATEST // _UNITS[unit], numbers, name, "is too late")
    return bytes((numbers * numpy.uint64(_UNITS[unit])).tobytes())


def times(values: Any) -> Any:
    """A NumPy array of numbers, dates or durations; those of Python, with a time zone among them, become those of NumPy."""
    import datetime

    import numpy

    given = array(values)
    if given.dtype != object or given.ndim != 1 or not len(given):
        return given
    values = given.tolist()
    # pandas' NaT is a date, and stands among durations, too.
    dates = [value for value in values if isinstance(value, datetime.datetime) and value == value]
    durations = [value for value in values if isinstance(value, datetime.timedelta)]
    if not all(isinstance(value, (datetime.datetime, datetime.timedelta)) for value in values) or dates and durations:
        return given
    return numpy.array([_date(value) if dates else _duration(value) for value in values])


def _date(value: Any) -> Any:
    import datetime

    import numpy

    # NumPy takes those of pandas for those of Python, which end at microseconds.
    if hasattr(value, "to_datetime64"):
        return value.to_datetime64()
    if value.tzinfo is not None:
        value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    return numpy.datetime64(value, "us")


def _duration(value: Any) -> Any:
    import numpy

    if hasattr(value, "to_timedelta64"):
        return value.to_timedelta64()
    return numpy.timedelta64(value, "us") if value == value else numpy.timedelta64("NaT")


def _durations(given: Any, name: str) -> bytes:
    """Durations of NumPy in whole nanoseconds."""
    import numpy

    unit, count = numpy.datetime_data(given.dtype)
    _refuse(numpy.isnat(given), given, name, "is not a time")
    if unit not in _NUMPY_UNITS:
        raise TypeError(f"{name} is a {given.dtype}; use seconds down to nanoseconds")
    factor = _NUMPY_UNITS[unit] * count
    numbers = given.astype("<i8")
    _refuse(numbers < 0, given, name, "is negative")
    _refuse(numbers > LATEST // factor, given, name, "is too late")
    return whole(numbers * factor, name)


def _since_first(given: Any, name: str) -> bytes:
    """Dates of NumPy as nanoseconds since the first of them."""
    import numpy

    _refuse(numpy.isnat(given), given, name, "is not a time")
    unit, count = numpy.datetime_data(given.dtype)
    if unit in ("Y", "M"):
        given, unit, count = given.astype("datetime64[D]"), "D", 1
    if unit not in _NUMPY_UNITS:
        raise TypeError(f"{name} is a {given.dtype}; use days down to nanoseconds")
    numbers = given.astype("<i8")
    first = int(numbers.min()) if len(numbers) else 0
    far = numbers > min(first + LATEST // (_NUMPY_UNITS[unit] * count), 2**63 - 1)
    _refuse(far, given, name, "is too late after the first")
    return _durations((numbers - first).astype(f"timedelta64[{count}{unit}]"), name)


def ops(values: Any, rows: int | None = None) -> bytes:
    """Commands by name or number, as a byte each.

    Raises:
        ValueError: if there is no such command.
    """
    import numpy

    if hasattr(values, "__index__") and not getattr(values, "ndim", 0) and rows is not None:
        number = values.__index__()
        if not 0 <= number < len(OPS):
            raise ValueError(f"op is {number}, which is no command: they are {_numbered()}")
        return bytes([number]) * rows
    if isinstance(values, str):
        if rows is None:
            raise ValueError("op is a single word: give one for each row")
        return bytes([_op(values, 0)]) * rows
    given = array(values)
    if given.ndim != 1:
        raise ValueError(f"op must have one dimension, not {given.ndim}")
    if rows is not None and len(given) != rows:
        raise ValueError(f"op has {len(given)} values, where {rows} are needed")
    if len(given) == 0:
        return b""
    if given.dtype.kind in "iu":
        _refuse((given < 0) | (given >= len(OPS)), given, "op", "is no command: they are " + _numbered())
        return bytes(given.astype("u1").tobytes())
    if given.dtype.kind not in "OUST":
        raise TypeError(f"op must be names or numbers of commands, not {given.dtype}")
    words, places = numpy.unique(given.astype(str), return_inverse=True)
    numbers = numpy.array([_op(word, int((places == i).argmax())) for i, word in enumerate(words)], dtype="u1")
    return bytes(numbers[places.ravel()].tobytes())


def columns_of(table: Any) -> Mapping[str, Any]:
    """The columns of a table: pandas, polars, Arrow, DuckDB, this package's own, or a dictionary."""
    if isinstance(table, Mapping):
        return table
    if type(table).__module__.partition(".")[0] == "duckdb":
        # Its columns are relations again, and not values.
        import pyarrow

        table = pyarrow.table(table)
    names = getattr(table, "column_names", None) or getattr(table, "columns", None)
    if names is not None and hasattr(table, "__getitem__") and not callable(names):
        return {str(name): table[name] for name in names}
    if hasattr(table, "__arrow_c_stream__"):
        import pyarrow

        return columns_of(pyarrow.table(table))
    raise TypeError(f"a {type(table).__name__} is no table: give a data frame, an Arrow table or a dictionary of columns")


def _op(word: str, row: int) -> int:
    number = OPS.get(word, OPS.get(word.lower(), _SHORT.get(word)))
    if number is None:
        raise ValueError(f"op[{row}] is {str(word)!r}, which is no command: they are {_numbered()}")
    return number


def _numbered() -> str:
    return ", ".join(f"{name} ({number})" for name, number in OPS.items())


def _refuse(bad: Any, values: Any, name: str, why: str) -> None:
    if not bad.any():
        return
    if not bad.ndim:
        raise ValueError(f"{name} is {values}, which {why}")
    row = int(bad.argmax())
    raise ValueError(f"{name}[{row}] is {values[row]}, which {why}")
