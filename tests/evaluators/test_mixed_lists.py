"""Every shipped evaluator in one list over attempts of every kind: what it cannot judge it skips, and nothing fails."""

import importlib
import inspect
from pathlib import Path
from types import SimpleNamespace

import pytest

from calipers import Case, Dataset
from calipers.data.trace import LLMCall, ToolCall, Trace
from calipers.report.report_evaluator import ReportEvaluator
from calipers.rollouts import Environment, Graph, Node
from calipers.voice import AgentResponse

SAMPLES = Path(__file__).parents[1] / "samples"
NAMESPACES = ("calipers.evaluators", "calipers.agents", "calipers.voice", "calipers.rollouts")

ARGUMENTS = {
    "CalibrationEvaluator": ("score",),
    "KolmogorovSmirnovEvaluator": ("score",),
    "PrecisionRecallEvaluator": ("score",),
    "ROCEvaluator": ("score",),
    "CompositeEvaluator": ([lambda output: bool(output), lambda trace: bool(trace)],),
    "Contains": ("x",),
    "ContainsAll": (["x"],),
    "ContainsAny": (["x"],),
    "CostBudgetEvaluator": (0.5,),
    "EmbeddingSimilarityEvaluator": (0.8, lambda texts: [[1.0, float(len(text))] for text in texts]),
    "Equals": ("x",),
    "FollowsBaseline": (str(SAMPLES / "baseline.yaml"),),
    "FollowsTrajectory": ({"steps": ["search"], "never": ["delete"]},),
    "HasMatchingSpan": ({"name_equals": "x"},),
    "InLanguage": ("en",),
    "InRange": (0, 1),
    "IsInstance": ("str",),
    "JsonSchemaEvaluator": ({"type": "object"},),
    "JudgeCorrectionEvaluator": ("score",),
    "JudgeTurns": (lambda output: "x" in str(output),),
    "Length": (1, 100),
    "MatchesJSONSchema": ({"type": "object"},),
    "MatchesRegex": ("x",),
    "MaxDuration": (1.0,),
    "NotContains": ("x",),
    "RegexPatternMatcher": ([{"pattern": "x"}],),
    "SpanCount": ({"name_equals": "x"},),
    "StatisticalEvaluator": (lambda output: bool(output),),
    "ToolCallCount": ("search",),
    "ToolUsageAuditor": (["search"],),
    "TraceComparisonEvaluator": (Trace(output_text="x", tool_calls=[ToolCall("search")]),),
}
"""What those evaluators need that cannot be made without arguments."""
OPTIONS = {
    "SpanCount": {"minimum": 1},
    "ToolCallCount": {"maximum": 3},
    "RuleBasedEvaluator": {},
    "ASTEvaluator": {"moderator": lambda text: 0.0},
    "SemanticEvaluator": {"judge": lambda one, other: one == other},
}


def shipped():
    """Every class of the public namespaces that judges attempts or reports."""
    for namespace in NAMESPACES:
        module = importlib.import_module(namespace)
        for name in module.__all__:
            kind = getattr(module, name)
            judges = inspect.isclass(kind) and (hasattr(kind, "evaluate") or hasattr(kind, "compute_metrics"))
            if judges and not inspect.isabstract(kind) and not getattr(kind, "_is_protocol", False):
                yield pytest.param(kind, id=f"{namespace.removeprefix('calipers.')}.{name}")


SHIPPED = list(shipped())


def made(kind):
    return kind(*ARGUMENTS.get(kind.__name__, ()), **OPTIONS.get(kind.__name__, {}))


def spoken():
    return Environment(lambda text: f"x {text}", ["a", "b"], lambda text: 0.2, goals=["g"]).rollout(0)


def outputs():
    """One output of every kind, by its name."""
    search = ToolCall("search", {"query": "x"})
    tree = Environment(lambda text: text, lambda so_far: "y", width=2, depth=2, goals=["g"]).rollout(0)
    return {
        "a text": "x marks the spot",
        "an empty text": "",
        "None": None,
        "a mapping": {"x": 1},
        "a number": 0.5,
        "a flag": True,
        "bytes": b"x",
        "a list": ["x"],
        "an object": object(),
        "tool calls": [search],
        "no tool calls": [],
        "a trace": Trace(
            input_text="?", output_text="x", tool_calls=[search], llm_calls=[LLMCall(model="m")]
        ),
        "an empty trace": Trace(),
        "a rollout": spoken(),
        "a rollout without a judgement": tree,
        "a rollout without turns": Graph("", []),
        "a rollout that broke off": Graph("", [Node("", "a", "b", success=False)], broke_off=True),
        "a rollout of other nodes": SimpleNamespace(
            context="",
            children=[SimpleNamespace(context="", attack="a", response="b", reward=0.0, children=[])],
        ),
        "a rollout of numbers": Graph(0, [Node(0, 1, 2, trace=Trace())]),
        "a stored rollout": spoken().to_dict(),
        "a stored rollout that is damaged": {"calipers_rollout": 1, "turns": 7},
        "a voice response": AgentResponse(tool_calls=[search]),
    }


EXPECTATIONS = {
    "nothing": (),
    "None": (None,),
    "a text": ("x",),
    "calls": ([ToolCall("search", {"query": "x"})],),
}
EXPECTATIONS |= {"True": (True,), "False": (False,)}
EXPECTATIONS |= {"a mapping": ({"x": 1},), "an object": (object(),), "a number": (0.5,), "no calls": ([],)}


def mixed(evaluators=(), report_evaluators=()):
    """A run over all of them."""
    given = outputs()
    cases = [
        Case(
            name=f"{name}, expecting {wanted}",
            inputs=name,
            **({"expected_output": expected[0]} if expected else {}),
        )
        for name in given
        for wanted, expected in EXPECTATIONS.items()
    ]
    dataset = Dataset(cases=cases, evaluators=list(evaluators), report_evaluators=list(report_evaluators))
    return dataset.evaluate_sync(given.__getitem__, progress=False)


@pytest.mark.parametrize(
    "kind", [each for each in SHIPPED if not issubclass(each.values[0], ReportEvaluator)]
)
def test_an_evaluator_judges_or_skips_an_attempt_of_any_kind_and_never_fails(kind):
    report = mixed([made(kind)])
    assert not report.failures
    failed = {
        case.name: case.evaluator_failures[0].error_message
        for case in report.cases
        if case.evaluator_failures
    }
    assert not failed
    silent = [case.name for case in report.cases if not case.results and not case.skipped]
    assert not silent
    assert all(skip.reason for case in report.cases for skip in case.skipped)
    assert not report.report_evaluator_failures


@pytest.mark.parametrize("kind", [each for each in SHIPPED if issubclass(each.values[0], ReportEvaluator)])
def test_a_report_evaluator_uses_what_applies_and_says_how_much_it_left_out(kind):
    def score(output):
        return 0.5 if isinstance(output, str) else {}

    report = mixed([score], [made(kind)])
    assert [failure.error_message for failure in report.report_evaluator_failures] == []
    notes = " ".join(str(analysis.note) for analysis in report.analyses)
    assert "left out" in notes, notes
