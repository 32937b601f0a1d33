"""An evaluator of answers in JSON: how much of them complies with a JSON Schema.

The score is the share of the answer's parts that are right. The parts of an object are the properties that the schema
lists, and any others that are wrong; those of an array are its items. A violation counts against its part, and so does a
required property that is missing. A violation of the whole (too few properties, no branch of an `anyOf`) counts as one
more part; if the whole has the wrong type, the score is 0.
"""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from calipers.agents.test_case import TestCase
from calipers.agents.verdict_evaluator import ALL_OR_SOME, BaseEvaluator
from calipers.data.result import EvalResult
from calipers.data.trace import Trace
from calipers.errors import InvalidOptionError
from calipers.evaluators.code_block import code_in
from calipers.evaluators.json_text import (
    MatchesJSONSchema,
    check_schema,
    describe_violation,
    describe_violations,
    parse_json,
)

_WHOLE: Final[Hashable] = object()
"""The part that is the answer itself."""


@dataclass
class JsonSchemaEvaluator(BaseEvaluator):
    """PASS if the output is JSON that complies with a schema, PARTIAL if some of its parts do, else FAIL.

    The schema is of draft 2020-12 unless its `$schema` names another. Nothing is fetched: references must lead to places
    within the schema.
    """

    schema: dict[str, Any]
    """The schema as data. An empty one accepts everything and is refused."""
    name: str = "json-schema"
    check_formats: bool = field(default=True, kw_only=True)
    """Whether `format` is a condition (email, date, uri and so on) or only a remark."""
    allow_fence: bool = field(default=False, kw_only=True)
    """Whether the JSON may stand in a Markdown code block, with or without text around it."""

    def __post_init__(self) -> None:
        if not isinstance(self.schema, dict) or not self.schema:
            raise InvalidOptionError(
                f"JsonSchemaEvaluator needs a schema as a non-empty dict, got {self.schema!r}"
            )
        check_schema(self.schema, check_formats=self.check_formats)

    @cached_property
    def _matcher(self) -> MatchesJSONSchema:
        return MatchesJSONSchema(self.schema, check_formats=self.check_formats)

    async def _evaluate(self, test_case: TestCase, trace: Trace) -> EvalResult:  # noqa: ARG002
        text = trace.output_text
        try:
            data = parse_json(code_in(text, ("json",)) if self.allow_fence else text)
            violations = self._matcher.violations(data)
        except InvalidOptionError:
            raise
        except ValueError as error:
            self._matcher.violations(None)  # an invalid schema is an error, not a failed answer
            hint = " (allow_fence=True reads it)" if not self.allow_fence and "```" in text else ""
            return ALL_OR_SOME.result(self.name, 0.0, f"{error}{hint}")
        if not violations:
            return ALL_OR_SOME.result(self.name, 1.0, "the output complies with the schema", error_count=0)
        return ALL_OR_SOME.result(
            self.name,
            _share_right(self.schema, data, violations),
            describe_violations(violations),
            error_count=len(violations),
            first_error=describe_violation(violations[0]),
        )


def _share_right(schema: dict[str, Any], data: Any, violations: list[Any]) -> float:
    """The share of the parts that no violation is about; below 1, as there are violations."""
    if any(not violation.instance_path and violation.kind.name == "type" for violation in violations):
        return 0.0
    wrong = {part for violation in violations for part in _parts_wrong(violation)}
    parts = wrong | _parts_listed(schema, data)
    return 1 - len(wrong) / len(parts)


def _parts_wrong(violation: Any) -> Iterator[Hashable]:
    """The parts of the answer that a violation is about."""
    kind = violation.kind
    if violation.instance_path:
        yield violation.instance_path[0]
    elif kind.name == "required":
        yield kind.property
    elif kind.name in {"additionalProperties", "unevaluatedProperties"}:
        yield from kind.unexpected
    else:
        yield _WHOLE


def _parts_listed(schema: dict[str, Any], data: Any) -> set[Hashable]:
    """The parts that the answer should have, as far as the schema lists them."""
    if isinstance(data, list):
        return set(range(len(data)))
    described = _follow(schema)
    return {*described.get("properties", ()), *described.get("required", ())}


def _follow(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema that a reference at the top leads to; schemas made of recursive models begin with one."""
    seen: set[str] = set()
    found: Any = schema
    while isinstance(path := found.get("$ref"), str) and path.startswith("#/") and path not in seen:
        seen.add(path)
        found = schema
        for step in path[2:].split("/"):
            found = found.get(step)
            if not isinstance(found, dict):
                return {}
    return found  # type: ignore[no-any-return]
