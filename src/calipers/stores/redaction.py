"""Redaction: hooks take out what must not be written, before it is written.

A hook is a function that takes plain data and returns what may be stored of it. It is given one value after the other:

- of a run: its metadata, its parameters, and the arguments of its evaluators;
- of an attempt: inputs, metadata, expectation, each tag, output, attributes, the message and traceback of an error, the
  cluster, and from a trace and its spans each text, each tool's arguments and output, each object of metadata or attributes;
- of each evaluator: each result's name, value, reason and metadata, each failure's message, traceback and metadata, each
  reason to skip, with its metadata;
- of the report: its metadata, its notes, what failed, and the texts of its analyses;
- of a person's label: its value and its note; of a judge's passport: all of it, as one object.

A hook never sees the layout around these values, so whatever it hides, the run can be read. For a text it must return a text,
and for an object an object. Names of runs, tasks, cases, evaluators, metrics, questions and persons, types of errors, declared versions and ids in
traces are not given to hooks: things are found and counted by them.

Where hooks take something away, the attempt notes it, and so do the results of an evaluator that judges it later. Hidden
clusters stay apart from each other, by a digest. The identity of an evaluator keeps digests of its parameters.

Answers of models are not kept in a store with hooks: they quote what hooks would hide, in words of their own.

A hook that raises stops the writing: nothing of its batch is stored.
"""

import re
from collections.abc import Sequence
from math import isfinite
from typing import Any, Final

import msgspec

from calipers.data.human_label import HumanLabel
from calipers.data.jsonable import plain
from calipers.data.redaction import REDACTED
from calipers.errors import InvalidOptionError, StoreError
from calipers.identity.callables import PARAMETER
from calipers.identity.fingerprint import digest

from .run_info import StoredEvaluator
from .store import Redact
from .stored_attempt import StoredAttempt, StoredCell
from .stored_passport import StoredPassport


def hide_keys(*names: str) -> Redact:
    """A hook that replaces the values of these keys by `[redacted]`, at any depth. Case does not matter.

    Parts of an attempt (`inputs`, `output`, …) are not keys: to leave out a whole one, take it out of the task or the case.

    Raises:
        InvalidOptionError: there are no names, or something else than names.
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
        InvalidOptionError: it is not a regular expression.
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
        except BaseException as error:
            # Neither the data nor the error's own text, which may quote it, belongs in a message.
            raise StoreError(
                f"the redaction hook {getattr(hook, '__name__', hook)!r} raised {type(error).__name__}: "
                "nothing of this batch was stored"
            ) from None
    return data


def redacted_attempt(attempt: StoredAttempt, hooks: Sequence[Redact]) -> StoredAttempt:
    """An attempt after all hooks, without cells: those are redacted one by one."""
    given, output, facts = (
        msgspec.json.decode(text) for text in (attempt.given, attempt.output, attempt.facts)
    )
    trace = None if attempt.trace is None else msgspec.json.decode(attempt.trace)
    hidden_facts = _hidden_facts(facts, hooks)
    hidden_given, hidden_output = _hidden(given, _GIVEN, hooks), _hidden(output, _OUTPUT, hooks)
    hidden_trace = _hidden(trace, _TRACE, hooks)
    # Decoded once more, since a hook may have changed what it was given.
    hides_tags = hidden_facts.get("tags") != msgspec.json.decode(attempt.facts).get("tags")
    hides_case = hides_tags or hidden_given != msgspec.json.decode(attempt.given)
    noted = {"redacted_case": True} if hides_case else {}
    if hidden_output != msgspec.json.decode(attempt.output) or (
        attempt.trace is not None and hidden_trace != msgspec.json.decode(attempt.trace)
    ):
        noted["redacted"] = True
    if noted:
        hidden_output["notes"] = {**hidden_output.get("notes", {}), **noted}
        # A hash of what was hidden would confirm a guess.
        hidden_output["notes"].pop("form", None)
    return msgspec.structs.replace(
        attempt,
        facts=_text(hidden_facts),
        given=_text(hidden_given),
        output=_text(hidden_output),
        trace=None if trace is None else _text(hidden_trace),
        cells=None,
    )


def _hidden_facts(facts: dict[str, Any], hooks: Sequence[Redact]) -> dict[str, Any]:
    found: dict[str, Any] = _hidden(facts, {"teardown_failure": _FAILURE, "tags": [str]}, hooks)
    cluster = facts.get("cluster")
    if isinstance(cluster, str) and (hidden := _hidden(cluster, str, hooks)) != cluster:
        # Two clusters must not become one: error bars depend on them.
        found["cluster"] = f"{hidden} {digest(cluster.encode('utf-8', 'surrogatepass'))[:12]}"
    return found


def redacted_cell(cell: StoredCell, hooks: Sequence[Redact]) -> StoredCell:
    """A cell after all hooks; its layout stays as it is."""
    data = msgspec.json.decode(cell.body)
    if not isinstance(data, dict):
        return msgspec.structs.replace(cell, body=_text(_hidden(data, _SCALAR, hooks)))
    hidden = _hidden(data, _CELL, hooks)
    for skip in hidden.get("skipped", ()):
        if skip.get("key_of") is not None:  # else the name is that of its evaluator
            skip["name"] = _hidden(skip["name"], str, hooks)
    return msgspec.structs.replace(cell, body=_text(hidden))


def redacted_evaluator(evaluator: StoredEvaluator, hooks: Sequence[Redact]) -> StoredEvaluator:
    """An evaluator after all hooks."""
    if not hooks:
        return evaluator
    # A parameter stands there as text, in which a hook cannot find keys.
    parts = {
        label: digest(text.encode("utf-8", "surrogatepass"))
        if label.startswith(f"{PARAMETER} ")
        else _hidden(text, str, hooks)
        for label, text in evaluator.parts.items()
    }
    return msgspec.structs.replace(
        evaluator,
        spec=msgspec.structs.replace(
            evaluator.spec, arguments=_hidden(evaluator.spec.arguments, dict, hooks)
        ),
        parts=parts,
        unknown=_hidden(evaluator.unknown, str, hooks),
    )


def redacted_parameters(parameters: dict[str, Any], hooks: Sequence[Redact]) -> dict[str, Any]:
    """The parameters of a run after all hooks; the store's own notes among them keep their form."""
    own = {name: value for name, value in parameters.items() if name in {"reuse", "task"}}
    others = {name: value for name, value in parameters.items() if name not in own}
    hidden: dict[str, Any] = {**_hidden(others, dict, hooks), **own}
    task = own.get("task")
    if isinstance(task, dict):
        hidden["task"] = _hidden(
            task, {"parts": dict.fromkeys(task.get("parts", ()), str), "unknown": str}, hooks
        )
    return hidden


def redacted_label(label: HumanLabel, hooks: Sequence[Redact]) -> HumanLabel:
    """A label of a person after all hooks."""
    if not hooks:
        return label
    value = _hidden(label.value, _SCALAR, hooks)
    return msgspec.structs.replace(
        label, note=_hidden(label.note, str, hooks), value=REDACTED if value == "" else value
    )


def redacted_passport(passport: StoredPassport, hooks: Sequence[Redact]) -> StoredPassport:
    """A passport after all hooks."""
    body = plain(passport.body)
    return msgspec.structs.replace(passport, body=_hidden(body, dict, hooks))


def redacted_metadata(metadata: dict[str, Any] | None, hooks: Sequence[Redact]) -> dict[str, Any] | None:
    """The metadata of a run after all hooks."""
    return _hidden(metadata, dict, hooks)  # type: ignore[no-any-return]


def redacted_ending(ending: dict[str, Any], hooks: Sequence[Redact]) -> dict[str, Any]:
    """What a report says besides its attempts, after all hooks."""
    return _hidden(ending, _ENDING, hooks)  # type: ignore[no-any-return]


# ---------------------------------------------------------------------- layouts

# The values that hooks are given, by key, with the type that must come back. All other values stay as they are.
_NAME: Final = "name"
"""A text that must not become empty."""
_SCALAR: Final = (bool, int, float, str)
_FAILURE: Final = {"error_message": str, "error_stacktrace": str}
_SOURCED: Final = {**_FAILURE, "source": {"arguments": dict}, "metadata": dict}
_EVENT: Final = {"name": _NAME, "attributes": dict}
_GIVEN: Final = {
    **dict.fromkeys(("inputs", "metadata", "expected_output"), object),
    "expected_tool_calls": [object],
}
_OUTPUT: Final = {
    "output": object,
    "attributes": dict,
    **_FAILURE,
    "notes": {"spans": {"spans": [{**_EVENT, "events": [_EVENT]}]}},
}
_TRACE: Final = {
    **dict.fromkeys(("agent_name", "model", "input_text", "output_text"), str),
    "tags": [object],
    "metadata": dict,
    "turns": [
        {
            "content": str,
            "llm_call": {"model": _NAME, "input_text": str, "output_text": str, "metadata": dict},
            "tool_call": {"name": _NAME, "arguments": dict, "output": object, "error": str},
        }
    ],
}
_CELL: Final = {
    "results": [
        {
            "name": _NAME,
            "value": _SCALAR,
            "reason": str,
            "metadata": dict,
            "source": {"arguments": dict},
        }
    ],
    "failures": [_SOURCED],
    "skipped": [{"reason": str, "metadata": dict}],
    "notes": {"original": object},
}
_ENDING: Final = {
    "metadata": dict,
    "incomplete": {"reason": str},
    "report_evaluator_failures": [_SOURCED],
    "reuse": {"notes": [str]},
    "analyses": [
        {
            **dict.fromkeys(("title", "description", "note", "unit", "x_label", "y_label"), str),
            "class_labels": [str],
            "columns": [str],
            "rows": [[object]],
            "lines": [{"name": str}],
            "nodes": [dict.fromkeys(("label", "outcome", "text", "answer"), str)],
        }
    ],
}


def _hidden(data: Any, layout: Any, hooks: Sequence[Redact]) -> Any:
    """The data with each value of a layout after all hooks; `None` is nothing to hide."""
    if data is None:
        return None
    if isinstance(layout, list):
        return [_hidden(item, layout[0], hooks) for item in data]
    if isinstance(layout, dict):
        return {
            key: _hidden(value, layout[key], hooks) if key in layout else value for key, value in data.items()
        }
    if layout is _NAME:
        return _hidden(data, str, hooks) or REDACTED
    hidden = redacted_data(data, hooks)
    if not isinstance(hidden, layout) or (
        layout is _SCALAR and isinstance(hidden, float) and not isfinite(hidden)
    ):
        wanted = {str: "a text", dict: "an object"}.get(layout, "a bool, a number or a text")
        raise StoreError(
            f"a redaction hook was given {wanted} and must return one, not {type(hidden).__name__}: nothing of this "
            "batch was stored"
        )
    return hidden


def _text(data: Any) -> str:
    try:
        return msgspec.json.encode(data).decode()
    except (TypeError, ValueError):
        raise StoreError(
            "a redaction hook must return plain data, which JSON can hold: nothing of this batch was stored"
        ) from None
