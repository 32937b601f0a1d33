"""Which errors say nothing about the agent's answer: the way to it, or what it runs on, failed.

- a time-out, of the client or of the run (`task_timeout`);
- a connection that was refused, broken or never made;
- a server's reply of 5xx, or one that asks to come back later: 408, 425, 429.

An error counts if it is of such a type, or carries such a status, or was raised `from` one that does; a group of errors
counts if all in it do. A bug in the task does not count, and neither does a reply of 4xx: the request was wrong.

An error that was put in the place of a tool's result on purpose (`on_purpose`) does not count, whatever its type: how the agent takes it is
the question.

An agent that is too slow by its own fault runs into a time-out as well, and the error does not say which it was. A
pass rate therefore counts all of them as not passed, and `Report.infrastructure` says what it is in other readings.
"""

from contextlib import suppress
from errno import errorcode
from typing import Any, Final

from .argument_checks import is_whole_number

_DEEP: Final = 10
"""How many causes of an error are followed."""

_LATER: Final = frozenset({408, 425, 429})
"""Replies below 500 that mean: not now."""

_NUMBERS: Final = frozenset({"EHOSTDOWN", "EHOSTUNREACH", "ENETDOWN", "ENETUNREACH", "EMFILE", "ENFILE"})
"""Errors of the system: no way to the host, or no socket left to open one."""

_TYPES: Final = frozenset(
    {
        "aiohttp.ClientConnectionError",
        "aiohttp.ClientPayloadError",
        "anthropic.APIConnectionError",
        "botocore.ConnectionError",
        "botocore.HTTPClientError",
        "httpcore.NetworkError",
        "httpcore.ProtocolError",
        "httpcore.TimeoutException",
        "httpx.TransportError",
        "openai.APIConnectionError",
        "requests.ConnectionError",
        "requests.Timeout",
        "socket.gaierror",
        "ssl.SSLError",
        "urllib3.HTTPError",
        "websockets.ConnectionClosedError",
    }
)
"""Types that do not derive from the built-in two, as package and name: none of them is imported here."""


def is_infrastructure(error: BaseException | None) -> bool:
    """Whether an error, or what it was raised from, is the infrastructure's. An error that cannot be read is not."""
    found = False
    with suppress(Exception):
        for _ in range(_DEEP):
            if error is None or getattr(error, "on_purpose", False):
                return found and error is None
            if isinstance(error, BaseExceptionGroup):
                return all(map(is_infrastructure, error.exceptions))
            found = found or _is_one(error)
            reason = getattr(error, "reason", None)  # where urllib keeps it
            error = error.__cause__ or (reason if isinstance(reason, BaseException) else None)
    return found


def _is_one(error: BaseException) -> bool:
    if isinstance(error, TimeoutError | ConnectionError):
        return True
    if isinstance(error, OSError) and errorcode.get(error.errno or 0) in _NUMBERS:
        return True
    if any(f"{kind.__module__.partition('.')[0]}.{kind.__name__}" in _TYPES for kind in type(error).__mro__):
        return True
    status = status_of(error)
    return status is not None and (500 <= status < 600 or status in _LATER)


def status_of(error: BaseException) -> int | None:
    """The status of the reply that an error is about, by the names that clients give it; `None` if it has none."""
    places: list[tuple[Any, str]] = [(error, "status_code"), (error, "status")]
    places += [(getattr(error, "response", None), name) for name in ("status_code", "status")]
    if isinstance(error, OSError):  # urllib's; a `code` elsewhere may mean anything
        places.append((error, "code"))
    for holder, name in places:
        found = getattr(holder, name, None)
        if is_whole_number(found):
            return found
    return None
