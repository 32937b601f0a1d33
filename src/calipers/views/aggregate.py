"""What a rollout metric says of all rollouts, as rows of a name and a value."""

from collections.abc import Mapping
from typing import Any


def aggregate_rows(data: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """One row per entry; an object of plain values gives a row for each of them, so that a summary can be read."""
    rows: list[tuple[str, Any]] = []
    for key, value in data.items():
        if isinstance(value, Mapping) and not any(isinstance(v, Mapping | list) for v in value.values()):
            rows += [(f"{key}.{name}", inner) for name, inner in value.items()] or [(key, value)]
        else:
            rows.append((str(key), value))
    return rows
