"""Columns that come out of the laboratory."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator
from typing import Any

from . import _native


class Table:
    """Named columns of one length, in Arrow's memory.

    Whatever reads the Arrow PyCapsule interface takes it as it is, without copies: ``polars.DataFrame(table)``,
    ``pyarrow.table(table)``, ``pandas.DataFrame.from_arrow(table)`` (pandas 3), ``duckdb.from_arrow(table)``.
    ``table["name"]`` is a NumPy array that cannot be written to (``.copy()`` of it can). For columns, and for what shows them,
    NumPy is needed.
    """

    __slots__ = ("_native",)

    def __init__(self, native: _native.Table) -> None:
        self._native = native

    @property
    def column_names(self) -> list[str]:
        """Names of the columns."""
        return self._native.column_names

    @property
    def units(self) -> dict[str, str]:
        """Unit of each column that has one. It also stands in the metadata of the Arrow field, as ``unit``."""
        return dict(self._native.units)

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return len(self._native)

    def __len__(self) -> int:
        return len(self._native)

    def __iter__(self) -> Iterator[str]:
        return iter(self.column_names)

    def __getitem__(self, name: str) -> Any:
        """A column as a NumPy array; text as an array of ``str``. Values that are not there are NaN."""
        import numpy

        column = self._native.column(name)
        values: Any
        if column[0] is None:
            values = numpy.array(column[1], dtype=str)
        else:
            values = numpy.frombuffer(column[1], dtype=column[0])
            if len(column) == 3:
                values = numpy.array(column[2], dtype=str)[values]
        values.flags.writeable = False
        return values

    def keys(self) -> list[str]:
        """Names of the columns, so that ``dict(table)`` has a NumPy array for each."""
        return self.column_names

    def to_pandas(self) -> Any:
        """A pandas data frame; pandas must be installed."""
        import pandas

        return pandas.DataFrame({name: self[name] for name in self.column_names})

    def __reduce__(self) -> tuple[Any, ...]:
        units, optional = self.units, set(self._native.optional)

        def parts(name: str) -> tuple[str, str, str | None, bytes, list[str]]:
            column = self._native.column(name)
            if column[0] is None:
                return (name, units.get(name, ""), None, b"", column[1])
            kind = f"{column[0]}?" if name in optional else column[0]
            return (name, units.get(name, ""), kind, column[1], column[2] if len(column) == 3 else [])

        return (_restored, ([parts(name) for name in self.column_names],))

    def to_dict(self) -> dict[str, list[Any]]:
        """Every column as a list."""
        return {name: self[name].tolist() for name in self.column_names}

    def __arrow_c_schema__(self) -> object:
        return self._native.__arrow_c_schema__()

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        return self._native.__arrow_c_array__(requested_schema)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._native.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        units = self.units
        names = ", ".join(f"{n} [{units[n]}]" if n in units else n for n in self.column_names)
        return f"<ssdlab.Table of {len(self)} rows: {names}>"

    def _repr_html_(self) -> str:
        return self._html(10)

    def _html(self, rows_shown: int) -> str:
        units = self.units
        heads = "".join(
            f"<th>{html.escape(n)}" + (f"<br><small>{html.escape(units[n])}</small>" if n in units else "") + "</th>"
            for n in self.column_names
        )
        shown = min(len(self), rows_shown)
        columns = [self[n][:shown].tolist() for n in self.column_names]
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_cell(c[i]))}</td>" for c in columns) + "</tr>" for i in range(shown)
        )
        more = f"<p>… {len(self) - shown} more rows</p>" if len(self) > shown else ""
        return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{more}"


def _restored(columns: list[tuple[str, str, str | None, bytes, list[str]]]) -> Table:
    return Table(_native.Table.of(columns))


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return str(value)
