"""Which errors no further call can escape."""

import socket

import pytest

from calipers.data.hopeless import hopeless
from calipers.errors import (
    AgentConnectionError,
    ModelConnectionError,
    ModelFilteredError,
    ModelKeyError,
    ModelOverloadedError,
    ModelQuotaError,
    ModelRateError,
    ModelRequestError,
    ModelTimeoutError,
)


def caused(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ModelKeyError("no"), "key"),
        (ModelQuotaError("no"), "credit"),
        (ModelRequestError("no", status=404), "model"),
        (ModelRequestError("no", status=400, code="model_not_found"), "model"),
        (ModelRequestError("a parameter", status=400), None),
        (caused(ModelConnectionError("no"), ConnectionRefusedError()), "host"),
        (caused(AgentConnectionError("no"), socket.gaierror(socket.EAI_NONAME, "unknown")), "host"),
        (caused(ModelConnectionError("no"), socket.gaierror(socket.EAI_AGAIN, "later")), None),
        (caused(ModelConnectionError("hung up"), ConnectionResetError()), None),
        (ModelRateError("later"), None),
        (ModelOverloadedError("later"), None),
        (ModelTimeoutError("late"), None),
        (ModelFilteredError("no"), None),
        (ConnectionRefusedError("of the task's own"), None),
        (caused(RuntimeError("a framework"), ModelKeyError("no")), "key"),
        (ValueError("401"), None),
        (None, None),
    ],
)
def test_its_class_decides_and_not_its_words(error: BaseException | None, expected: str | None) -> None:
    assert hopeless(error) == expected


def test_an_error_on_purpose_is_none() -> None:
    error = ModelKeyError("a fault of a tool")
    vars(error)["on_purpose"] = True
    assert hopeless(error) is None


def test_errors_that_are_their_own_causes_end() -> None:
    first, second = RuntimeError("a"), RuntimeError("b")
    first.__cause__, second.__cause__ = second, first
    assert hopeless(first) is None
