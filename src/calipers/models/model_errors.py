"""Which `ModelError` an answer of a server is, and whether to ask again.

What decides, in this order: the header `x-should-retry`, the code in the body, for status 400 the words of the message, the
status. Codes come first, since a 429 may mean that there is no credit, and a 400 that the key is wrong. Words are looked at only
where providers have no code, and never those of a whole body: a message may repeat the question.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from calipers.data.infrastructure import is_infrastructure
from calipers.data.retry_after import wait_of
from calipers.errors import (
    ModelConnectionError,
    ModelContextError,
    ModelError,
    ModelFilteredError,
    ModelKeyError,
    ModelOverloadedError,
    ModelQuotaError,
    ModelRateError,
    ModelRequestError,
    ModelTimeoutError,
)

from .http_request import Reply, Request
from .model_answer import is_list, read
from .request_redaction import shown_address, shown_text

_CODES: Mapping[str, type[ModelError]] = {
    **dict.fromkeys(
        ("content_filter", "content_policy_violation", "responsibleaipolicyviolation"), ModelFilteredError
    ),
    **dict.fromkeys(
        (
            "insufficient_quota",
            "billing_hard_limit_reached",
            "credit_balance_exhausted",
            "organization_usage_limit_exceeded",
            "billing_error",
        ),
        ModelQuotaError,
    ),
    **dict.fromkeys(("invalid_api_key", "api_key_invalid", "authentication_error"), ModelKeyError),
    **dict.fromkeys(("context_length_exceeded", "exceed_context_size_error"), ModelContextError),
    **dict.fromkeys(("request_too_large",), ModelContextError),
    **dict.fromkeys(("rate_limit_exceeded", "rate_limit_error"), ModelRateError),
    **dict.fromkeys(("timeout_error", "deadline_exceeded"), ModelTimeoutError),
    **dict.fromkeys(("overloaded_error", "server_is_overloaded", "unavailable"), ModelOverloadedError),
    **dict.fromkeys(("model_not_found", "not_found_error"), ModelRequestError),
}
_STATUSES: Mapping[int, type[ModelError]] = {
    401: ModelKeyError,
    402: ModelQuotaError,
    403: ModelKeyError,
    408: ModelTimeoutError,
    409: ModelOverloadedError,
    413: ModelContextError,
    429: ModelRateError,
    504: ModelTimeoutError,
}
_ANY_FAILURE = frozenset({"server_error", "api_error", "internal"})
"""Codes that say no more than that the server failed."""
_TOO_LONG = (
    "maximum context length",
    "reduce the length of the messages",
    "prompt is too long",
    "exceed context limit",
    "exceeds the available context size",
    "context size has been exceeded",
)
"""How servers without a code for it say that a question is too long."""
_NO_CREDIT = "credit balance is too low"
_AGAIN = (ModelRateError, ModelOverloadedError, ModelTimeoutError)
"""What may pass."""


class Trouble(NamedTuple):
    """An answer that is an error."""

    error: ModelError
    again: bool
    """Whether to ask again."""
    wait: float | None = None
    """Seconds to wait before, as the server wants it; `None` if it does not say."""
    parameter: str | None = None
    """The parameter that the provider complains about, in its own word."""
    words: str = ""
    """What the provider says, in lower case."""


class _Facts(NamedTuple):
    """What an error says in its body, in one form for all providers."""

    message: str
    codes: tuple[str, ...]
    """In lower case, the most precise first."""
    parameter: str | None
    status: int | None
    """The status in the body, where it is a number."""
    moderated: bool


def trouble_of(
    reply: Reply, request: Request, *, name: str, key_variables: tuple[str, ...], request_id: str | None
) -> Trouble:
    """What a reply that is no answer means: one with another status than 2xx, or with an error in its body."""
    body = _decoded(reply)
    facts = _facts(body)
    status = reply.status
    if 200 <= status < 300 and facts.status is not None and facts.status >= 400:
        status = facts.status
    kind = _kind(facts, status)
    said = shown_text(facts.message or reply.text, request.secrets) or "without a word"
    code = facts.codes[0] if facts.codes else None
    details: dict[str, Any] = {"status": reply.status, "code": code, "request_id": request_id}
    has_key = bool(request.secrets)
    error = kind(_message(kind, name, reply, facts, said, key_variables, has_key=has_key), **details)
    wait = wait_of(reply.headers, body)
    if isinstance(error, ModelRateError):
        error.retry_after = wait
    if isinstance(error, ModelRequestError):
        error.parameter = facts.parameter
    told = str(reply.headers.get("x-should-retry", "")).strip().lower()
    again = told == "true" or (kind in _AGAIN and told != "false")
    return Trouble(error, again, wait, facts.parameter, facts.message.lower() if status == 400 else "")


def kind_of(body: Any, status: int) -> type[ModelError]:
    """Which error a status with this body is."""
    return _kind(_facts(body), status)


def _kind(facts: _Facts, status: int) -> type[ModelError]:
    for code in facts.codes:
        if code in _CODES:
            return _CODES[code]
        if code.endswith("_spend_limit_exceeded"):
            return ModelQuotaError
    words = facts.message.lower()
    if status == 400 and _NO_CREDIT in words:
        return ModelQuotaError
    if status == 400 and (
        any(phrase in words for phrase in _TOO_LONG)
        or ("input token count" in words and "tokens allowed" in words)
    ):
        return ModelContextError
    if status == 500 and _TOO_LONG[-1] in words:
        return ModelContextError
    if status == 403 and facts.moderated:
        return ModelFilteredError
    failed = status >= 500 or not _ANY_FAILURE.isdisjoint(facts.codes)
    return _STATUSES.get(status, ModelOverloadedError if failed else ModelRequestError)


def _message(
    kind: type[ModelError],
    name: str,
    reply: Reply,
    facts: _Facts,
    said: str,
    key_variables: tuple[str, ...],
    *,
    has_key: bool,
) -> str:
    status = f"status {reply.status} {reply.reason}".strip()
    if kind is ModelKeyError:
        where = " or ".join(key_variables) or "the headers"
        if not has_key and key_variables:
            return f"{name} wants a key, and there is none ({status}): {said}. Set {where}"
        return f"{name} refused the key ({status}): {said}. Check the key in {where}"
    if kind is ModelQuotaError:
        return f"{name} has no credit left ({status}): {said}"
    if kind is ModelContextError:
        return f"the question is longer than {name} can read ({status}): {said}"
    if reply.status == 404 or "model_not_found" in facts.codes:
        return f"{name} was not found ({status}): {said}. Check the name of the model and the address"
    if 300 <= reply.status < 400:
        where = f" to {shown_address(reply.location)}" if reply.location else ""
        return (
            f"{name} has moved{where} ({status}), and a key is not sent to another address: give the new one"
        )
    if 200 <= reply.status < 300 and not facts.message:
        return f"the answer of {name} cannot be read: {said}"
    return f"{name} answered with an error ({status}): {said}"


# ---------------------------------------------------------------------- error bodies


def _decoded(reply: Reply) -> Any:
    try:
        body = msgspec.json.decode(reply.body)
    except (msgspec.DecodeError, RecursionError):
        return None
    return body[0] if is_list(body) and body else body


def _facts(body: Any) -> _Facts:
    error = read(body, "error")
    if error is None:
        error = read(read(body, "response"), "error") or body
    if isinstance(error, str):
        return _Facts(error, (), None, None, moderated=False)
    message, parameter, code = read(error, "message", "detail"), read(error, "param"), read(error, "code")
    codes = tuple(word.lower() for word in _codes(error) if isinstance(word, str) and word)
    status = code if isinstance(code, int) and not isinstance(code, bool) else None
    text = message if isinstance(message, str) else "" if message is None else repr(message)
    moderated = isinstance(read(error, "metadata"), Mapping)
    named = parameter if isinstance(parameter, str) else None
    return _Facts(text, codes, named, status, moderated)


def _codes(error: Any) -> Iterator[Any]:
    """Every word of an error that is one of a closed set, the most precise first."""
    yield read(read(error, "innererror"), "code")
    details = read(error, "details")
    yield read(details, "error_code")
    for detail in details if is_list(details) else ():
        yield read(detail, "reason")
    yield read(error, "code")
    yield read(error, "type")
    yield read(error, "status")


def model_error(error: Exception, name: str) -> ModelError:
    """What an error of another library's client means; a key in its text is hidden."""
    if isinstance(error, ModelError):
        return error
    said = f"{name}: {type(error).__name__}: {shown_text(str(error), [])}"
    status = read(error, "status_code", "code")
    body = read(error, "body")
    if isinstance(status, int) and not isinstance(status, bool) and status >= 300:
        return kind_of(body, status)(said, status=status)
    if isinstance(error, TimeoutError) or "timeout" in type(error).__name__.lower():
        return ModelTimeoutError(said)
    return ModelConnectionError(said) if is_infrastructure(error) else ModelError(said)
