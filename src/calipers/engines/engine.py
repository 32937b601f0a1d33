"""Engines by name: `processes`, `processes:4`, `ray`, `ray:8`, or the address of a Ray cluster."""

from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from calipers.errors import InvalidOptionError
from calipers.run.place import Engine

from .processes import ProcessEngine
from .ray_engine import RayEngine


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
    if name in {"processes", "ray"} and (workers is not None or not colon):
        return ProcessEngine(workers, setup=setup) if name == "processes" else RayEngine(workers, setup=setup)
    address = _cluster_address(value)
    if address is None:
        raise InvalidOptionError(f"engine must be {_WHAT}, got {value!r}")
    return RayEngine(address.workers, address=address.address, variables=address.variables, setup=setup)


class _Address(NamedTuple):
    address: str
    workers: int | None
    variables: tuple[str, ...]


def _cluster_address(value: str) -> _Address | None:
    """The address of a cluster, with what stands behind its question mark; `None` if it is no such address."""
    try:
        parts = urlsplit(value if "://" in value else f"//{value}")
        options = parse_qs(parts.query, strict_parsing=True) if parts.query else {}
        port = parts.port
    except ValueError:
        return None
    workers = options.pop("workers", ["0"])[-1]
    variables = [name for given in options.pop("env", []) for name in given.split(",") if name]
    is_address = parts.scheme in {"", "ray"} and parts.hostname and port and port >= _FIRST_PORT
    if not is_address or parts.path or parts.fragment or options or not workers.isdecimal():
        return None
    return _Address(value.partition("?")[0], int(workers) or None, tuple(variables))


_FIRST_PORT = 1024
"""Ray takes no port below."""
_WHAT = (
    "'processes' or 'ray', each also with a number of workers, as in 'processes:4', the address of a Ray cluster, such as "
    "'ray://host:10001' or 'host:6379', with ?workers=N and ?env=NAME for variables that workers get, or an engine"
)
