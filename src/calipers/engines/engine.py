"""Engines by name: `processes`, `processes:4`, `ray`, `ray:8`, or the address of a Ray cluster."""

from typing import Any

from calipers.errors import InvalidOptionError
from calipers.run.place import Engine

from .processes import ProcessEngine


def as_engine(value: Any, *, setup: Any = None) -> Engine | None:
    """The engine that a name or an address stands for; an engine stands for itself, and `None` for none.

    Args:
        value: what the user gave.
        setup: what workers call before their first attempt, where the engine is made here.

    Raises:
        InvalidOptionError: it stands for none.
    """
    if value is None or not isinstance(value, str):
        if value is None or (isinstance(value, Engine) and not isinstance(value, type)):
            return value
        raise InvalidOptionError(f"engine must be {_WHAT}, got {value!r}")
    name, colon, number = value.partition(":")
    workers = int(number) if number.isdecimal() and int(number) else None
    if name == "processes" and (workers is not None or not colon):
        return ProcessEngine(workers, setup=setup)
    raise InvalidOptionError(f"engine must be {_WHAT}, got {value!r}")


_WHAT = "'processes', 'processes:N' with a number of workers, or an engine"
