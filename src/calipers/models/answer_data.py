"""The data in a model's answer: read strictly, checked against the schema, never made up.

An answer becomes data if the model had said everything (`finish` is `stop`) and the whole of it is JSON that follows the
schema; a Markdown code fence around it is taken off. Of an answer that ended at the limit of tokens, JSON that is complete and
follows the schema counts.

- **JSON is not looked for inside of prose.** An answer may quote what it judges, and a quoted verdict is not the model's.
- **What was cut off is not completed.** `json-repair` fixes quotes and commas; an answer whose braces do not close is not
  given to it, since a number may have lost its last digits.
- **A key that occurs twice** makes the answer unreadable: it says two things. In JSON that has to be repaired, a key inside of a
  quoted text counts, since the quotes may be what is broken.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

import msgspec

from calipers.errors import InvalidOptionError, MissingExtraError, ModelFilteredError, UnreadableAnswerError

from .model_answer import Completion, Finish
from .provider_schema import without_nulls

_FENCE = re.compile(r"\A\s*```[\w-]*[ \t]*\r?\n(.*?)\r?\n?[ \t]*```\s*\Z", re.DOTALL)
_SHOWN = 3
"""How many violations of a schema a message shows."""


def read_data(completion: Completion, schema: Mapping[str, Any]) -> Any:
    """The data in an answer.

    Raises:
        UnreadableAnswerError: it is not JSON that follows the schema, or was cut off.
        ModelFilteredError: the model or its provider declined to answer.
        MissingExtraError: a library that this needs is not installed.
    """
    check_finish(completion, ("stop", "length"))
    text, finish = completion.text, completion.finish
    details = _details(completion)
    if text is None:
        raise UnreadableAnswerError(
            f"the answer is empty{' and ended at the limit of tokens' if finish == 'length' else ''}",
            **details,
        )
    data: Any = None
    try:
        data = without_nulls(_parse(text, repair=finish == "stop"), schema)
        problem = violations_of(data, schema)
    except ValueError as error:
        problem = str(error)
    if not problem:
        return data
    if finish == "length":
        problem = f"the answer was cut off at the limit of tokens ({problem})"
    raise UnreadableAnswerError(problem, text=text, **details)


def is_readable(completion: Completion, schema: Mapping[str, Any]) -> bool:
    """Whether an answer is data that follows a schema."""
    try:
        read_data(completion, schema)
    except (UnreadableAnswerError, ModelFilteredError):
        return False
    return True


def check_finish(completion: Completion, allowed: Sequence[Finish]) -> None:
    """Refuse an answer that ended in another way than these.

    Raises:
        ModelFilteredError: the model or its provider declined to answer.
        UnreadableAnswerError: it was cut off, or is something else than what was asked for.
    """
    text, finish, details = completion.text, completion.finish, _details(completion)
    if finish in allowed:
        return
    if finish in ("refused", "filtered"):
        by = "the model declined to answer" if finish == "refused" else "the provider filtered the answer"
        raise ModelFilteredError(f"{by}: {completion.refusal or text or 'without a word'}"[:500], **details)
    raise UnreadableAnswerError(f"{_ENDINGS[finish]}, so it is no answer", text=text, **details)


def _details(completion: Completion) -> dict[str, Any]:
    return {"request_id": completion.request_id, "tries": completion.tries}


_ENDINGS = {
    "stop": "the answer is not a call of a tool",
    "length": "the answer ended at the limit of tokens",
    "tool_call": "the answer is a call of a tool",
    "unfinished": "the answer is not finished",
    "error": "the provider failed while it answered",
    "unknown": "the answer does not say how it ended",
}


def _parse(text: str, *, repair: bool) -> Any:
    fenced = _FENCE.match(text)
    inner = fenced[1] if fenced else text
    try:
        return json.loads(inner, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("the answer is nested too deeply") from None
    except json.JSONDecodeError as error:
        if not repair or not _is_closed(inner) or "\\u" in inner:  # an escape may spell a key
            raise ValueError(f"the answer is not JSON: {error}") from None
    try:
        import json_repair
    except ImportError as error:
        raise MissingExtraError.of("Reading a model's JSON that is not quite right", "models") from error
    data = json_repair.loads(inner, strict=True)
    if any(len(_key(name).findall(inner)) != count for name, count in Counter(_keys(data)).items()):
        raise ValueError("the answer is not JSON, and a key occurs twice in it")
    return data


def _is_closed(text: str) -> bool:
    """Whether a text is one object or list that is closed again, as far as its brackets tell."""
    text = text.strip()
    return (
        text[:1] + text[-1:] in ("{}", "[]")
        and text.count("{") == text.count("}")
        and text.count("[") == text.count("]")
    )


def _keys(data: Any) -> Iterator[str]:
    """All keys in some data."""
    if isinstance(data, dict):
        yield from data
    for each in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        yield from _keys(each)


def _key(name: str) -> re.Pattern[str]:
    """What a key looks like in a text that is not quite JSON. Inside of a string it looks the same, which is why it is counted."""
    return re.compile(rf"(?<!\w){re.escape(name)}[\"']?\s*:")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice in the answer")
    return found


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"the answer is not JSON: {name} is not a JSON value")


# ---------------------------------------------------------------------- schemas


def load_reader() -> None:
    """Load the libraries that reading an answer may need, where they are installed."""
    with suppress(ImportError):
        import json_repair  # noqa: F401
        import jsonschema_rs  # noqa: F401


def check_schema(schema: Any) -> None:
    """Refuse what is not a JSON Schema.

    Raises:
        InvalidOptionError: it is not a mapping, is empty, or is not valid.
    """
    if not isinstance(schema, Mapping) or not schema:
        raise InvalidOptionError(
            f"the schema must be a JSON Schema as a non-empty mapping, got {schema!r:.200}"
        )
    try:
        _validator(msgspec.json.encode(schema))
    except MissingExtraError:
        return  # a question can be asked without it
    except (TypeError, ValueError) as error:
        raise InvalidOptionError(f"the JSON schema {schema!r:.200} is not valid: {error}") from None


def violations_of(data: Any, schema: Mapping[str, Any]) -> str:
    """What is wrong with data by a schema, in words; empty if nothing is."""
    found = [
        f"{error.message} at {'.'.join(map(str, error.instance_path)) or 'the top'}"
        for error in _validator(msgspec.json.encode(schema)).iter_errors(data)
    ]
    if not found:
        return ""
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return f"the answer does not follow the schema: {'; '.join(found[:_SHOWN])}{more}"


@lru_cache(maxsize=256)
def _validator(schema: bytes) -> Any:
    try:
        import jsonschema_rs
    except ImportError as error:
        raise MissingExtraError.of("Checking a model's answer against a schema", "models") from error
    try:
        return jsonschema_rs.validator_for(msgspec.json.decode(schema), retriever=_refuse_to_fetch)
    except ValueError as error:
        raise InvalidOptionError(getattr(error, "message", None) or str(error)) from None


def _refuse_to_fetch(uri: str) -> Any:
    raise ValueError(f"nothing is fetched: put the schema of {uri!r} under $defs and refer to it there")


# ---------------------------------------------------------------------- by prompt


def instructions(schema: Mapping[str, Any]) -> str:
    """What to tell a model that has no other way to be given a schema."""
    return (
        "Answer with JSON alone, without any other text and without a code fence. "
        f"It must follow this JSON Schema:\n{msgspec.json.encode(schema).decode()}"
    )


def with_instructions(messages: Any, schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """A conversation that asks for data in words, in its first system message."""
    found = list(messages)
    told = instructions(schema)
    for place, message in enumerate(found):
        if message["role"] == "system" and isinstance(message["content"], str):
            found[place] = {**message, "content": f"{message['content']}\n\n{told}"}
            return found
    return [{"role": "system", "content": told}, *found]


def repair_messages(text: str | None, problem: str, schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What to say after an answer that is not data, to get one that is."""
    asked = f"That cannot be read: {problem}. Give the same answer again. {instructions(schema)}"
    said = [{"role": "assistant", "content": text}] if text else []
    return [*said, {"role": "user", "content": asked}]
