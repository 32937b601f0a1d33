"""The metrics of rollouts as files: JSON of everything, and tables of turns or rollouts as CSV or Parquet.

Numbers of numpy and tensors of one element are numbers, arrays are lists, and `GraphMetrics` are objects with their fields.
A number that is not finite becomes `null`, or an empty cell, since JSON has no NaN; a `RuntimeWarning` names every place.

Files are written whole or not at all, in UTF-8; missing folders are made.

A table has the columns `rollout` (its number, from 1) and `seed`, where it is known, and then one column per metric; a metric
that is itself called `rollout` or `seed` becomes `rollout_2` or `seed_2`. What was not measured is an empty cell. A value
that is not text, a number or a flag stands as JSON text.
"""

import json
import math
import os
import warnings
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from numbers import Integral, Real
from typing import Any, Literal, TypeAlias, get_args

from calipers.data.argument_checks import check_choice
from calipers.data.jsonable import plain, safe_repr
from calipers.data.result_names import unique
from calipers.errors import InvalidOptionError, InvalidOutputError
from calipers.files.parquet_file import arrow_array, parquet_bytes
from calipers.files.problem import Problems
from calipers.process.atomic_file import write_whole
from calipers.rollouts.metrics import GraphMetrics, metrics_data
from calipers.views.csv_file import table_lines

Rows: TypeAlias = Literal["turns", "rollouts"]
_SHOWN = 5
"""Places that a warning names."""


def write_json(data: Any, path: str | os.PathLike[str]) -> None:
    """Write data as JSON, indented; NaN becomes `null`, and a warning says where.

    Raises:
        InvalidOutputError: the data contains itself, or nests too deeply for JSON.
    """
    lost: list[str] = []
    try:
        text = json.dumps(_finite(data, "", lost), ensure_ascii=False, indent=4, allow_nan=False)
    except RecursionError:
        raise InvalidOutputError(
            f"{os.fspath(path)} was not written: the data contains itself, or nests too deeply for JSON"
        ) from None
    write_whole(path, [text.encode(), b"\n"])
    _warn(lost, path)


def write_csv(data: Any, path: str | os.PathLike[str], *, rows: Rows = "turns") -> None:
    """Write a row for every turn of every rollout, or one for every rollout, as CSV.

    Text that a spreadsheet would take for a formula gets an apostrophe in front, since a model may write such text.

    Args:
        data: what `Evaluator.evaluate` returned, if it holds `details`; or the metrics themselves (`evaluator.metrics`).
        path: of the file.
        rows: `"turns"` for what was measured of each turn, `"rollouts"` for the overall metrics.
    """
    lost: list[str] = []
    columns = _columns(data, rows, lost)
    cells = zip(*columns.values(), strict=True)
    write_whole(path, table_lines(list(columns), ([_cell(value) for value in row] for row in cells)))
    _warn(lost, path)


def write_parquet(data: Any, path: str | os.PathLike[str], *, rows: Rows = "turns") -> None:
    """Write the same table as Parquet; needs the extra `parquet`. A column of mixed kinds stands as JSON text."""
    lost: list[str] = []
    columns = {name: _array(values) for name, values in _columns(data, rows, lost).items()}
    problems = Problems(os.fspath(path))
    written = parquet_bytes(columns, problems)
    if problems.found:
        raise InvalidOutputError(f"Parquet cannot hold these metrics: {problems.found[0].message}")
    write_whole(path, [written])
    _warn(lost, path)


def _warn(lost: list[str], path: str | os.PathLike[str]) -> None:
    if lost:
        more = f" and {len(lost) - _SHOWN:,} more" if len(lost) > _SHOWN else ""
        warnings.warn(
            f"{os.fspath(path)}: numbers that are not finite were left out at "
            f"{', '.join(lost[:_SHOWN])}{more}",
            RuntimeWarning,
            stacklevel=3,
        )


def _finite(value: Any, path: str, lost: list[str]) -> Any:
    """The value as plain data, with `None` for every number that is not finite; `lost` collects where they were."""
    if isinstance(value, GraphMetrics):
        value = metrics_data(value)
    if isinstance(value, Mapping):
        # `plain` turns keys into text, and keeps 1 and "1" apart.
        keys = plain(dict.fromkeys(value))
        return {
            key: _finite(item, f"{path}.{key}" if path else key, lost)
            for key, item in zip(keys, value.values(), strict=True)
        }
    if isinstance(value, list | tuple | AbstractSet):
        items = sorted(value, key=repr) if isinstance(value, AbstractSet) else value
        return [_finite(item, f"{path}[{index}]", lost) for index, item in enumerate(items)]
    if isinstance(value, Integral):
        return plain(value if isinstance(value, bool) else int(value))
    if isinstance(value, Real):
        if math.isfinite(number := float(value)):
            return number
        lost.append(path or "the number itself")
        return None
    if callable(listed := getattr(value, "tolist", None)) and not isinstance(value, type):
        return _finite(listed(), path, lost)
    return plain(value)


# ---------------------------------------------------------------------- tables


def _columns(data: Any, rows: Rows, lost: list[str]) -> dict[str, list[Any]]:
    """The columns of the table, each with a cell for every row."""
    check_choice("rows", rows, get_args(Rows))
    rollouts = [
        (rollout, rollout["per_turn"] if rows == "turns" else [rollout["overall"]])
        for rollout in _rollouts(data)
    ]
    taken = {"rollout", "seed"}.union(*(row for _, mine in rollouts for row in mine))
    renamed = {name: unique(name, taken) for name in ("rollout", "seed")}
    found: list[dict[str, Any]] = []
    for number, (rollout, mine) in enumerate(rollouts, 1):
        known = {"rollout": number, **({"seed": rollout["seed"]} if "seed" in rollout else {})}
        for place, row in enumerate(mine):
            where = f"rollout {number}" + (f", row {place + 1}" if rows == "turns" else "")
            own = {renamed.get(name, name): value for name, value in row.items()}
            found.append(_finite({**known, **own}, where, lost))
    names = dict.fromkeys(name for row in found for name in row)
    return {name: [row.get(name) for row in found] for name in names or ["rollout"]}


def _rollouts(data: Any) -> Iterable[Mapping[str, Any]]:
    """Each rollout as an object with `overall` and `per_turn`."""
    listed = data.get("details") if isinstance(data, Mapping) else data
    if isinstance(listed, list | tuple):
        each = [_rollout(item) for item in listed]
        if all(each):
            return [item for item in each if item]
    raise InvalidOptionError(
        "a table is made of the metrics of rollouts: pass evaluator.metrics, or what evaluate returned if it holds "
        f"'details', each with 'overall' and 'per_turn'; got {safe_repr(data)[:200]}"
    )


def _rollout(item: Any) -> Mapping[str, Any] | None:
    if not isinstance(item, Mapping):
        names = ("seed", "overall", "per_turn")
        item = {name: found for name in names if (found := getattr(item, name, None)) is not None}
    turns = item.get("per_turn")
    fits = isinstance(item.get("overall"), Mapping) and isinstance(turns, list | tuple)
    return item if fits and all(isinstance(turn, Mapping) for turn in turns or ()) else None


def _cell(value: Any) -> Any:
    return value if isinstance(value, str | int | float | None) else json.dumps(value, ensure_ascii=False)


def _array(values: list[Any]) -> Any:
    """A column with a type of its own if its values have one in common, else of JSON text."""
    kinds = {type(value) for value in values if value is not None}
    try:
        if kinds <= {int, float} or (len(kinds) == 1 and kinds <= {bool, str}):
            return arrow_array([float(v) if float in kinds and v is not None else v for v in values])
    except (ValueError, OverflowError):  # an integer of more than 64 bits
        pass
    return arrow_array([None if value is None else json.dumps(value, ensure_ascii=False) for value in values])
