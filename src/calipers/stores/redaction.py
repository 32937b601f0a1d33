"""Taking out what must not be written, before it is written.

A hook is a function that takes plain data and returns what of it may be stored. It is given, one after the other: the
metadata and parameters of a run; of each attempt an object with `inputs`, `metadata`, `expected_output`, `output`,
`attributes`, `error_message`, `error_stacktrace` and `trace`, as far as there is something in them; of each evaluator
what it said: a bare value, or an object with `results`, `failures` and `skipped`; and what the report says besides its
attempts. Names of cases and evaluators are not looked at: a run is found by them.

A hook that raises stops the writing: nothing of its batch is stored.
"""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from calipers.agents.redaction import REDACTED
from calipers.errors import InvalidOptionError, StoreError

from .records import StoredAttempt, StoredCell
from .store import Redact


def hide_keys(*names: str) -> Redact:
    """A hook that replaces what stands under these keys, wherever they are, by `[redacted]`. Case does not matter.

    Raises:
        InvalidOptionError: no names, or something else than names.
    """
    if not names or not all(isinstance(name, str) for name in names):
        raise InvalidOptionError(f"hide_keys takes the names of keys, such as 'api_key', got {names!r}")
    hidden = {name.lower() for name in names}

    def hide(data: Any) -> Any:
        if isinstance(data, dict):
            return {key: REDACTED if key.lower() in hidden else hide(value) for key, value in data.items()}
        return [hide(item) for item in data] if isinstance(data, list) else data

    return hide


def hide_matches(pattern: str, *, by: str = REDACTED) -> Redact:
    """A hook that replaces whatever matches a regular expression, in every text and every key.

    Raises:
        InvalidOptionError: it is no regular expression.
    """
    try:
        search = re.compile(pattern)
    except (re.error, TypeError) as error:
        raise InvalidOptionError(
            f"hide_matches takes a regular expression, got {pattern!r}: {error}"
        ) from None

    def hide(data: Any) -> Any:
        if isinstance(data, str):
            return search.sub(by, data)
        if isinstance(data, dict):
            return {search.sub(by, key): hide(value) for key, value in data.items()}
        return [hide(item) for item in data] if isinstance(data, list) else data

    return hide


def redacted_data(data: Any, hooks: Sequence[Redact]) -> Any:
    """Plain data after all hooks."""
    for hook in hooks:
        try:
            data = hook(data)
        except Exception as error:
            # Neither the data nor the error's own text, which may quote it, belongs into a message.
            raise StoreError(
                f"the redaction hook {getattr(hook, '__name__', hook)!r} raised {type(error).__name__}: "
                "nothing of this batch was stored"
            ) from None
    return data


def redacted_attempt(attempt: StoredAttempt, hooks: Sequence[Redact]) -> StoredAttempt:
    """An attempt after all hooks, without cells: those are redacted one by one."""
    parts: dict[str, dict[str, Any]] = {
        part: msgspec.json.decode(getattr(attempt, part)) for part in ("given", "output")
    }
    whole = {name: value for part in parts.values() for name, value in part.items() if name != "format"}
    if attempt.trace is not None:
        whole["trace"] = msgspec.json.decode(attempt.trace)
    told = redacted_data(whole, hooks)
    if not isinstance(told, dict):
        raise StoreError(
            "a redaction hook must return an object for an attempt: nothing of this batch was stored"
        )
    fields: dict[str, Any] = {
        part: _text({"format": data["format"], **{name: told[name] for name in data if name in told}})
        for part, data in parts.items()
    }
    trace = told.get("trace")
    # A trace that is hidden as a whole is none any more.
    fields["trace"] = _text(trace) if isinstance(trace, dict) else None
    fields["cells"] = None
    return msgspec.structs.replace(attempt, **fields)


def redacted_cell(cell: StoredCell, hooks: Sequence[Redact]) -> StoredCell:
    """A cell after all hooks; its layout stays as it is."""
    data = msgspec.json.decode(cell.body)
    told = redacted_data(data, hooks)
    if isinstance(data, dict) != isinstance(told, dict):
        raise StoreError(
            "a redaction hook must return an object for an object: nothing of this batch was stored"
        )
    if isinstance(data, dict):
        told = {**told, "format": data["format"]}
    return msgspec.structs.replace(cell, body=_text(told))


def _text(data: Any) -> str:
    return msgspec.json.encode(data).decode()
