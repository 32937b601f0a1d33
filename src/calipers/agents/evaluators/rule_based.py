"""An evaluator made of simple rules about an agent's answer, written as data.

| rule_type | parameters | holds if the output |
|---|---|---|
| `contains_any` | `values` (or `substrings`) | contains at least one of the texts |
| `not_contains` | `values` (or `substrings`) | contains none of the texts |
| `max_length` | `max` (or `max_length`) | has at most so many characters |
| `regex` | `pattern` | matches the pattern somewhere |
| `json_valid` | | is JSON |

Case counts. A rule that could not fail, such as one that forbids nothing, is an error when it is made.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from calipers.agents.test_case import TestCase
from calipers.agents.verdict_evaluator import (
    BaseEvaluator,
    Scale,
    check_items,
    instead,
    skip,
    some_of,
    weighted_share,
)
from calipers.data.argument_checks import check_number, check_share, check_text, check_whole_number
from calipers.data.result import EvalResult
from calipers.data.trace import Trace
from calipers.data.value_text import show
from calipers.errors import InvalidOptionError
from calipers.evaluators.json_text import parse_json
from calipers.evaluators.pattern import compile_pattern, is_found


@dataclass(frozen=True)
class RuleSpec:
    """One rule: its type, its parameters, and how much it counts."""

    rule_type: str
    """`contains_any`, `not_contains`, `max_length`, `regex` or `json_valid`."""
    params: dict[str, Any] = field(default_factory=dict)
    """By name; each type of rule has its own."""
    weight: float = 1.0
    """How much the rule counts among the others; above 0."""
    description: str = ""
    """What the rule is about, for readers; default: what it checks."""

    def __post_init__(self) -> None:
        _argument(self)
        check_number(f"weight of the rule {self.rule_type!r}", self.weight, above=0)
        check_text(f"description of the rule {self.rule_type!r}", self.description, or_empty=True)


@dataclass
class RuleBasedEvaluator(BaseEvaluator):
    """PASS if every rule holds, PARTIAL if a large enough share of the weights does, else FAIL.

    Without rules the verdict is SKIP.
    """

    rules: list[RuleSpec] = field(default_factory=list)
    """What must hold."""
    name: str = "rule-based"
    timeout_seconds: float = field(default=1.0, kw_only=True)
    """How long one search for a `regex` rule may take before the verdict is ERROR."""
    partial_threshold: float = field(default=0.5, kw_only=True)
    """The lowest share of the weights that is a PARTIAL."""

    def __post_init__(self) -> None:
        check_items("RuleBasedEvaluator", "rules", self.rules, "RuleSpec")
        check_share("partial_threshold of RuleBasedEvaluator", self.partial_threshold, or_zero=False)
        check_number("timeout_seconds of RuleBasedEvaluator", self.timeout_seconds, above=0)
        for rule in self.rules:
            if not isinstance(rule, RuleSpec):
                raise InvalidOptionError(
                    f"a rule is RuleSpec(rule_type, params), such as RuleSpec('max_length', {{'max': 500}}), got {rule!r:.200}"
                )

    async def _evaluate(self, test_case: TestCase, trace: Trace) -> EvalResult:  # noqa: ARG002
        if not self.rules:
            return skip(self.name, "there are no rules to check")
        results = [_check(rule, trace.output_text, self.timeout_seconds) for rule in self.rules]
        failed = [f"{each['description']} ({each['reason']})" for each in results if not each["passed"]]
        return Scale(1.0, self.partial_threshold).result(
            self.name,
            weighted_share([each["passed"] for each in results], [each["weight"] for each in results]),
            f"{len(failed)} of {len(results)} rules do not hold: {some_of(failed)}"
            if failed
            else f"{len(results)} of {len(results)} rules hold",
            rule_results=results,
        )


def _check(rule: RuleSpec, text: str, seconds: float) -> dict[str, Any]:
    """What a rule says of a text."""
    problem = _KINDS[rule.rule_type].check(_argument(rule), text, seconds)
    return {
        "rule_type": rule.rule_type,
        "description": rule.description or rule.rule_type,
        "passed": problem is None,
        "weight": rule.weight,
        "reason": problem or "holds",
    }


# Each takes the rule's argument, the text, and how long it may take, and says what is wrong, or None.


def _contains_any(values: list[str], text: str, _: float) -> str | None:
    return None if any(value in text for value in values) else f"none of {show(values)} found"


def _not_contains(values: list[str], text: str, _: float) -> str | None:
    found = [value for value in values if value in text]
    return f"found {show(found)}" if found else None


def _max_length(most: int, text: str, _: float) -> str | None:
    return f"{len(text)} characters, allowed {most}" if len(text) > most else None


def _regex(pattern: str, text: str, seconds: float) -> str | None:
    found = is_found(compile_pattern(pattern), text, seconds)
    return None if found else f"no match of {pattern!r}"


def _json_valid(_: None, text: str, __: float) -> str | None:
    try:
        parse_json(text)
    except ValueError as error:
        return str(error)
    return None


# Each takes the rule's name and its argument, and refuses an argument with which the rule could not fail.


def _check_texts(owner: str, given: Any) -> None:
    if (
        not isinstance(given, list | tuple)
        or not given
        or not all(isinstance(each, str) and each for each in given)
    ):
        raise InvalidOptionError(f"{owner} needs a list of non-empty texts as values, got {given!r:.200}")


def _check_length(owner: str, given: Any) -> None:
    check_whole_number(f"max of {owner}", given, at_least=0)


def _check_pattern(owner: str, given: Any) -> None:
    if not isinstance(given, str) or not given:
        raise InvalidOptionError(f"{owner} needs non-empty text as pattern, got {given!r:.200}")
    compile_pattern(given)


class _Kind(NamedTuple):
    """One type of rule."""

    check: Callable[[Any, str, float], str | None]
    spellings: tuple[str, ...] = ()
    """What its parameter is called; all of them mean the same. None: it has no parameter."""
    validate: Callable[[str, Any], None] = lambda owner, given: None  # noqa: ARG005


_KINDS: Final[Mapping[str, _Kind]] = {
    "contains_any": _Kind(_contains_any, ("values", "substrings"), _check_texts),
    "not_contains": _Kind(_not_contains, ("values", "substrings"), _check_texts),
    "max_length": _Kind(_max_length, ("max", "max_length"), _check_length),
    "regex": _Kind(_regex, ("pattern",), _check_pattern),
    "json_valid": _Kind(_json_valid),
}


def _argument(rule: RuleSpec) -> Any:
    """The one argument of a rule, checked; `None` for a rule that takes none."""
    kind = _KINDS.get(rule.rule_type) if isinstance(rule.rule_type, str) else None
    if kind is None:
        raise InvalidOptionError(f"{rule.rule_type!r} is not a type of rule{instead(rule.rule_type, _KINDS)}")
    owner = f"the rule {rule.rule_type!r}"
    if not isinstance(rule.params, Mapping):
        raise InvalidOptionError(f"{owner} needs a dict as params, got {rule.params!r:.200}")
    for key in rule.params:
        if key not in kind.spellings:
            raise InvalidOptionError(f"{owner} has no parameter {key!r}{instead(key, kind.spellings)}")
    if not kind.spellings:
        return None
    given = [rule.params[key] for key in kind.spellings if key in rule.params]
    if len(given) != 1:
        raise InvalidOptionError(
            f"{owner} needs {' or '.join(kind.spellings)}, once, got {dict(rule.params)!r:.200}"
        )
    kind.validate(owner, given[0])
    return given[0]
