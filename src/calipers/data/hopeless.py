"""Which errors no further call can escape: a wrong key, no credit, a host that is gone, a model that there is not.

They say nothing about the agent. A run in which one attempt after another ends this way ends early (`calipers.run.runner`), and a run that is resumed makes
such attempts again.

What decides is the class of an error, its status and its code, and those of the errors it was raised from: Calipers' own errors, and those of the SDKs of OpenAI and Anthropic. An
error of another kind with such a status may well be about what one case asks for, and does not count. Nor does a host that could once be reached and
did not answer: it may be busy.
"""

import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from calipers.data.result import Hopeless
from calipers.errors import (
    AgentConnectionError,
    ModelConnectionError,
    ModelError,
    ModelKeyError,
    ModelQuotaError,
    ModelRequestError,
)

WAYS_OUT: Final[Mapping[Hopeless, str]] = {
    "key": "check the key",
    "credit": "add credit, or use another key",
    "model": "check the name of the model and the address",
    "host": "check that the server runs, and its address",
}
_DEEP: Final = 10
_NO_MODEL: Final = frozenset({"model_not_found", "not_found_error", "not_found"})
_NO_CREDIT: Final = frozenset(
    {
        "insufficient_quota",
        "billing_hard_limit_reached",
        "billing_error",
        "credit_balance_exhausted",
        "organization_usage_limit_exceeded",
    }
)
_SDKS: Final = frozenset({"openai", "anthropic"})
_CONNECTIONS: Final = frozenset({"APIConnectionError"})
_CONNECTS: Final = frozenset(
    {
        "aiohttp.ClientConnectorError",
        "httpcore.ConnectError",
        "httpcore2.ConnectError",
        "httpx.ConnectError",
        "httpx2.ConnectError",
    }
)
"""Errors of clients that could not connect."""


def hopeless(error: BaseException | None) -> Hopeless | None:
    """What is wrong, if no further call can escape it; `None` if one may, or if that is not known."""
    with suppress(Exception):  # an error that cannot be read tells nothing
        for each in _chain(error):
            if getattr(each, "on_purpose", False):
                return None
            if (found := _of_ours(each) or _of_sdk(each)) is not None:
                return found
    return None


def _chain(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None and len(found) < _DEEP:
        found.append(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return found


def _of_ours(error: BaseException) -> Hopeless | None:
    if isinstance(error, ModelKeyError):
        return "key"
    if isinstance(error, ModelQuotaError):
        return "credit"
    if isinstance(error, ModelRequestError):
        return "model" if error.status == 404 or error.code in _NO_MODEL else None
    if isinstance(error, ModelConnectionError | AgentConnectionError):
        return "host" if _is_gone(error) else None
    return None


def _of_sdk(error: BaseException) -> Hopeless | None:
    kinds = {kind.__name__ for kind in type(error).__mro__ if kind.__module__.partition(".")[0] in _SDKS}
    if not kinds or isinstance(error, ModelError):
        return None
    status = getattr(error, "status_code", None)
    codes = {code for code in _codes(error) if isinstance(code, str)}
    if codes & _NO_CREDIT or status == 402:
        return "credit"
    if status in {401, 403}:
        return "key"
    if status == 404:
        return "model"
    if kinds & _CONNECTIONS and "APITimeoutError" not in kinds:
        return "host" if _is_gone(error) else None
    return None


def _codes(error: BaseException) -> list[Any]:
    body = getattr(error, "body", None)
    inner = body.get("error") if isinstance(body, Mapping) else None
    found = [getattr(error, "code", None), getattr(error, "type", None)]
    for part in (body, inner):
        if isinstance(part, Mapping):
            found += [part.get("code"), part.get("type")]
    return found


def _is_gone(error: BaseException) -> bool:
    """Whether no connection could be made at all: nothing listens there, or no one knows the host."""
    for each in _chain(error):
        if isinstance(each, ConnectionRefusedError):
            return True
        socket = sys.modules.get("socket")  # what is not loaded raises nothing
        if socket is not None and isinstance(each, OSError) and isinstance(each, socket.gaierror):
            return bool(each.errno != socket.EAI_AGAIN)
        names = {f"{kind.__module__.partition('.')[0]}.{kind.__name__}" for kind in type(each).__mro__}
        if names & _CONNECTS:
            return True
    return False
