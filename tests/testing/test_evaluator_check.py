import asyncio
import itertools
import json
import threading
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest

from calipers import (
    CalipersError,
    EvaluationReason,
    Evaluator,
    EvalVerdict,
    Skipped,
    ToolCall,
    Trace,
    evaluators,
)
from calipers.data.result import EvalResult, EvaluatorSpec
from calipers.errors import InvalidOptionError
from calipers.spans import SpanNode, SpanTree
from calipers.testing import ConformanceError, check_evaluator, make_context
from calipers.testing.evaluator_check import ADVICE

# ---------------------------------------------------------------------- evaluators that keep the contract


@dataclass
class Mentions(Evaluator):
    word: str = "Paris"
    ignore_case: bool = True

    def evaluate(self, ctx):
        if not isinstance(ctx.output, str):
            return Skipped("the output is no text")
        text = ctx.output.lower() if self.ignore_case else ctx.output
        return EvaluationReason(self.word.lower() in text, f"looked for {self.word!r}")


class SameCalls:
    def evaluate(self, expected, actual):
        return expected == actual


class UsedTools:
    name = "used_tools"

    async def evaluate(self, test_case, trace):
        await asyncio.sleep(0)
        used = bool(trace.tool_calls)
        return EvalResult(self.name, EvalVerdict.PASS if used else EvalVerdict.FAIL, float(used))


class Turns:
    def compute_metrics(self, graph):
        return SimpleNamespace(per_turn=[], overall={"turns": len(graph.children), "first_bad_turn": None})

    def aggregate_metrics(self, all_metrics):
        return {"turns": sum(m.overall["turns"] for m in all_metrics) / len(all_metrics)}


def is_json(output):
    json.loads(output)  # raises on most of what it is shown, which is legal where nothing promises otherwise
    return True


def by_difficulty(ctx):
    harder = (ctx.metadata or {}).get("difficulty") == "hard"
    return {"quality": 0.5 if harder else 0.8, "band": "hard" if harder else "easy"}


@pytest.mark.parametrize(
    ("evaluator", "judged"),
    [
        (Mentions(), 4),
        (SameCalls(), 6),
        (UsedTools(), 1),
        (Turns(), 1),
        (is_json, 1),
        (by_difficulty, 7),
        (lambda output, expected_output: output == expected_output, 6),
    ],
    ids=["dataclass", "pair", "trace", "rollout", "raises on the odd", "mapping", "function"],
)
def test_a_good_evaluator_of_each_style_passes_and_the_check_says_what_it_did(evaluator, judged):
    checked = check_evaluator(evaluator)
    assert checked.judged == judged
    assert checked.judged + checked.skipped + checked.raised == 7
    assert checked.odd > 30
    assert checked.calls == 3 * 7 + checked.odd
    assert checked.not_copied == ()


# ---------------------------------------------------------------------- one broken evaluator per finding

count = itertools.count()


def flips(output):
    return next(count) % 2 == 0


def knows_objects_by_their_place():
    known = []

    def check(output):
        seen_as_equal = any(other == output for other in known)
        seen = any(other is output for other in known)
        known.append(output)
        return seen or not seen_as_equal

    return check


@dataclass
class Named(Evaluator):
    called: object = "fine"

    def get_default_evaluation_name(self):
        return self.called() if callable(self.called) else self.called

    def evaluate(self, ctx):
        return True

    def as_spec(self):
        return EvaluatorSpec("Named")


class Renames(Evaluator):
    judged = 0

    def get_default_evaluation_name(self):
        return f"after {self.judged}"

    def evaluate(self, ctx):
        self.judged = 1
        return True


@dataclass
class Speced(Evaluator):
    parameter: object = None
    spec: object = None

    def evaluate(self, ctx):
        return True

    def as_spec(self):
        return self.spec() if self.spec else super().as_spec()


class Versioned(Evaluator):
    def __init__(self, version):
        self.version = version

    def get_evaluator_version(self):
        return self.version()

    def evaluate(self, ctx):
        return True


class Unshowable(Evaluator):
    def __repr__(self):
        raise RuntimeError("no repr")

    def evaluate(self, ctx):
        return True


def raises(kind):
    def check(output):
        if output is None:
            raise kind("stop")
        return True

    return check


async def exits_later(output):
    await asyncio.sleep(0)
    if output == "":
        raise SystemExit(2)
    return True


def recurses(output):
    def letters(left):
        return 1 + letters(left - 1) if left else 0

    return letters(len(output))


def gives(value, *, on=None):
    def check(output):
        return value if on is None or output == on else True

    return check


class Verdict:
    def __init__(self, verdict, score):
        self.result = EvalResult("Verdict", verdict, score)

    def evaluate(self, ctx):
        return self.result


def changes(field_name, change):
    def check(ctx):
        change(getattr(ctx, field_name))
        return True

    check.__name__ = f"changes_{field_name}"
    return check


def rebinds(ctx):
    ctx.output = "something else"
    return True


@dataclass
class BadTurns:
    computed: object
    aggregated: object = field(default=dict)

    def compute_metrics(self, graph):
        return self.computed

    def aggregate_metrics(self, all_metrics):
        return self.aggregated()

    def __repr__(self):
        return "BadTurns()"


METRICS = SimpleNamespace(per_turn=[], overall={"turns": 1})


def fails():
    raise LookupError("nothing there")


BROKEN = [
    ("style", 3, "3 is not an evaluator"),
    ("style", Mentions, "is a class, not an evaluator"),
    ("style", lambda outptu: True, "did you mean 'output'"),
    ("name", Named(""), "a non-empty string as their name, got ''"),
    ("name", Named("  "), "the name is '  '"),
    ("name", Named(7), "a non-empty string as their name, got 7"),
    ("name", Named(fails), "name: LookupError: nothing there"),
    ("name", Renames(), "changed from 'after 0' while it judged"),
    ("spec", Speced(parameter=object()), "tells parameter only by a place in memory"),
    ("spec", Speced(parameter=[lambda: 1]), "tells parameter only by a place in memory"),
    ("spec", Speced(spec=fails), "LookupError: nothing there"),
    ("spec", Speced(spec=lambda: EvaluatorSpec("S", {"n": next(count)})), r"as_spec gave .* and then"),
    ("version", Versioned(lambda: 2), "the version is 2"),
    ("version", Versioned(fails), "get_evaluator_version raised LookupError"),
    ("version", Versioned(lambda: str(next(count))), r"the version was '\d+' and then '\d+'"),
    ("repr", Unshowable(), "repr raised RuntimeError: no repr"),
    ("exit", raises(SystemExit), r"raised SystemExit: stop \(on output None\)"),
    ("exit", raises(KeyboardInterrupt), "raised KeyboardInterrupt: stop"),
    ("exit", raises(asyncio.CancelledError), "raised CancelledError"),
    ("exit", raises(RecursionError), "raised RecursionError: stop"),
    ("exit", exits_later, "raised SystemExit: 2"),
    ("exit", recurses, "raised RecursionError"),
    ("output", gives(float("nan"), on=""), "returned nan, which is no finite score"),
    ("output", gives(float("inf")), "returned inf, which is no finite score"),
    ("output", lambda output: None, "returned None, which is not a judgement"),
    ("output", gives([True]), r"returned \[True\], which is not a judgement"),
    ("output", gives({1: True}), "strings as keys"),
    ("output", gives(EvaluationReason(True, 3)), "a reason must be a string"),
    ("output", Verdict("splendid", 1.0), "the verdict 'splendid'"),
    ("verdict", Verdict(EvalVerdict.PASS, 0.0), "the verdict is pass, the score 0"),
    ("verdict", Verdict(EvalVerdict.FAIL, 1.0), "the verdict is fail, the score 1"),
    ("output", gives(SimpleNamespace(verdict="partial", score=1.5)), "with the score 1.5"),
    ("kind", gives("n/a", on=""), "of kind assertion on context 1, .* and then of kind label"),
    ("kind", lambda output: output and "Paris" in str(output), "and then of kind label"),
    ("changes", changes("metadata", lambda m: m.update(seen=True)), "changed metadata"),
    ("changes", changes("metrics", lambda m: m.clear()), "changed metrics"),
    ("changes", changes("attributes", lambda a: a.update(seen=True)), "changed attributes"),
    ("changes", rebinds, "changed output"),
    ("unstable", flips, "judged the same context differently: True, then False|False, then True"),
    ("unstable", knows_objects_by_their_place(), "judged an equal copy of the context differently"),
    ("idle", lambda output: Skipped("not today"), r"judged none of 7 contexts \(skipped: not today\)"),
    ("idle", lambda output: {}, "judged none of 7 contexts"),
    ("idle", lambda output: output.no_such_thing, "raised: AttributeError"),
    ("aggregate", BadTurns({"turns": 1}), "gave 1 attempts no metrics object"),
    ("aggregate", BadTurns(METRICS, fails), "LookupError: nothing there"),
]


@pytest.mark.parametrize(
    ("rule", "evaluator", "message"), BROKEN, ids=lambda x: x if isinstance(x, str) else ""
)
def test_a_broken_evaluator_is_told_what_is_broken(rule, evaluator, message):
    with pytest.raises(ConformanceError, match=message) as caught:
        check_evaluator(evaluator, timeout=20)
    assert rule in {finding.rule for finding in caught.value.findings}
    assert ADVICE[rule] in str(caught.value)


def test_every_rule_has_a_way_out_and_a_broken_evaluator_above_or_below():
    tested_below = {"time", "raises"}
    assert {rule for rule, _, _ in BROKEN} | tested_below == set(ADVICE)


# ---------------------------------------------------------------------- how it checks


def test_what_hangs_is_left_behind_and_not_called_again():
    forever = threading.Event()
    called = []

    def hangs(output):
        called.append(output)
        return forever.wait()

    try:
        with pytest.raises(ConformanceError, match=r"did not finish within 0\.05 s") as caught:
            check_evaluator(hangs, timeout=0.05)
    finally:
        forever.set()
    assert [finding.rule for finding in caught.value.findings] == ["time"]
    assert len(called) == 1


def test_raising_is_a_finding_on_the_contexts_that_the_author_gave():
    with pytest.raises(ConformanceError) as caught:
        check_evaluator(is_json, contexts=[make_context("[1]"), make_context("no JSON", name="prose")])
    assert [(finding.rule, finding.where) for finding in caught.value.findings] == [
        ("raises", ("context 2, 'prose'",))
    ]
    assert check_evaluator(is_json, contexts=[make_context("[1]")]).judged == 1


def test_an_error_verdict_counts_as_raising():
    class Errs:
        def evaluate(self, ctx):
            if ctx.output != "fine":
                return EvalResult("Errs", EvalVerdict.ERROR, 0.0, "no model")
            return EvalResult("Errs", EvalVerdict.PASS, 1.0)

    assert check_evaluator(Errs(), contexts=[make_context("fine")]).judged == 1
    with pytest.raises(ConformanceError, match="no model") as caught:
        check_evaluator(Errs(), contexts=[make_context("not fine")])
    assert [finding.rule for finding in caught.value.findings] == ["raises"]


def test_all_findings_are_listed_and_equal_ones_are_listed_once():
    class Everything(Unshowable):
        def evaluate(self, ctx):
            ctx.metrics["seen"] = ctx.metrics.get("seen", 0) + 1
            return float("nan")

    with pytest.raises(AssertionError) as caught:
        check_evaluator(Everything())
    assert isinstance(caught.value, CalipersError)
    rules = [finding.rule for finding in caught.value.findings]
    assert rules == ["repr", "changes", "output"]
    nan = caught.value.findings[2]
    assert len(nan.where) > 30
    assert f"and {len(nan.where) - 5} more" in str(nan)


def test_a_judge_that_cannot_be_repeated_may_say_so():
    assert check_evaluator(flips, deterministic=False).judged == 7


def test_the_wording_of_a_reason_may_vary():
    checked = check_evaluator(lambda output: EvaluationReason(True, f"call {next(count)}"))
    assert checked.judged == 7


def test_odd_contexts_vary_the_first_context_that_was_judged():
    seen = []

    def looks(output, metadata):
        seen.append(metadata)
        return Skipped("no text") if isinstance(output, int) else True

    check_evaluator(
        looks, contexts=[make_context(1, metadata={"n": 1}), make_context("a", metadata={"n": 2})]
    )
    assert {"n": 2} in seen[6:]
    assert {"n": 1} not in seen[6:]


def test_a_context_that_cannot_be_copied_is_checked_as_far_as_it_can_be():
    ctx = make_context("x", metadata={"lock": threading.Lock()}, name="locked")
    checked = check_evaluator(lambda output: True, contexts=[ctx])
    assert checked.not_copied == ("context 1, 'locked'",)
    with pytest.raises(ConformanceError, match="judged the same context differently"):
        check_evaluator(flips, contexts=[ctx])


def test_objects_without_equality_are_not_taken_for_changed():
    class Opaque:
        def __init__(self):
            self.parts = [object()]

    trace = Trace(tool_calls=[ToolCall("t", {"x": Opaque()})])
    ctx = make_context(Opaque(), inputs=Opaque(), metadata={"o": Opaque()}, trace=trace)
    assert check_evaluator(lambda output: True, contexts=[ctx]).judged == 1


def test_it_works_where_an_event_loop_runs():
    async def main():
        return check_evaluator(UsedTools())

    assert asyncio.run(main()).name == "used_tools"


@pytest.mark.parametrize("contexts", [[], ["text"], [None]])
def test_nothing_to_check_on_is_an_error_rather_than_a_pass(contexts):
    with pytest.raises(InvalidOptionError, match="one or more EvaluatorContext"):
        check_evaluator(is_json, contexts=contexts)


@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
def test_a_timeout_that_allows_nothing_is_refused(timeout):
    with pytest.raises(InvalidOptionError, match="timeout must be"):
        check_evaluator(is_json, timeout=timeout)


# ---------------------------------------------------------------------- the evaluators that come with Calipers

SAMPLES = Path(__file__).parents[1] / "samples"
PARIS = [make_context("Paris is big.", expected_output="Paris is big.")]
SPANS = [
    make_context(
        "x", span_tree=SpanTree([SpanNode("answer", trace_id=1, span_id=1, start_ns=0, end_ns=10**9)])
    )
]
SEARCHED = [{"name": "search", "arguments": {"query": "Paris"}}, {"name": "answer", "arguments": {}}]
CALLS = [
    make_context("x", trace=Trace(tool_calls=[ToolCall(**call) for call in calls]), expected_output=SEARCHED)
    for calls in (SEARCHED, SEARCHED[:1])
]

BUILT_IN = {
    "CloseTo": ({}, [make_context(1.0, expected_output=1.1)]),
    "Contains": ({"value": "Paris"}, PARIS),
    "ContainsExpected": ({}, PARIS),
    "ContainsAll": ({"values": ["Paris", "big"]}, PARIS),
    "ContainsAny": ({"values": ["Paris", "Lyon"]}, PARIS),
    "Equals": ({"value": "Paris"}, PARIS),
    "EqualsExpected": ({}, PARIS),
    "FollowsBaseline": (
        {"path": str(SAMPLES / "baseline.yaml")},
        [make_context("Paris", inputs="capital?", trace=Trace(tool_calls=[ToolCall("search")]))],
    ),
    "FollowsTrajectory": ({"trajectory": ["search", "answer"]}, CALLS),
    "HasMatchingSpan": ({"query": {"name_equals": "answer"}}, SPANS),
    "InLanguage": ({"language": "en"}, PARIS),
    "InRange": ({"minimum": 0, "maximum": 1}, [make_context(0.5)]),
    "IsInstance": ({"type_name": "str"}, PARIS),
    "IsJSON": ({}, [make_context("{}")]),
    "IsReadOnlySQL": ({}, [make_context("SELECT 1")]),
    "Length": ({"maximum": 100}, PARIS),
    "MatchesJSONSchema": ({"schema": {"type": "object"}}, [make_context("{}")]),
    "MatchesRegex": ({"pattern": "Par"}, PARIS),
    "MaxDuration": ({"seconds": 1}, [make_context("Paris is big.", duration=0.5)]),
    "MinSentiment": ({}, PARIS),
    "NoPersonalData": ({}, PARIS),
    "NoProfanity": ({}, PARIS),
    "NotContains": ({"value": "Lyon"}, PARIS),
    "ParsesAsSQL": ({}, [make_context("SELECT 1")]),
    "RunsPython": ({}, [make_context("print(1)")]),
    "SimilarText": ({"minimum": 0.5}, PARIS),
    "SpanCount": ({"query": {"name_equals": "answer"}, "minimum": 1}, SPANS),
    "TextSentiment": ({}, PARIS),
    "TextSimilarity": ({}, PARIS),
    "ToolCallCount": ({"minimum": 1}, CALLS),
    "ToolCallsMatch": ({}, CALLS),
}
"""Arguments for each built-in evaluator, and contexts that it is meant for."""


def built_in_evaluators():
    found = {name: getattr(evaluators, name) for name in evaluators.__all__}
    kinds = {name: kind for name, kind in found.items() if isinstance(kind, type)}
    return {name for name, kind in kinds.items() if issubclass(kind, Evaluator) and kind is not Evaluator}


def test_every_built_in_evaluator_has_a_row_here():
    assert built_in_evaluators() == set(BUILT_IN)


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_built_in_evaluator_keeps_the_contract(name):
    arguments, contexts = BUILT_IN[name]
    checked = check_evaluator(getattr(evaluators, name)(**arguments), contexts=contexts, timeout=60)
    assert checked.judged == len(contexts)
