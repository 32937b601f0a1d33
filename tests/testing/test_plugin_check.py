"""The check that authors run on their own plugin."""

import itertools
from dataclasses import dataclass

import pytest

from calipers import Evaluator, Skipped
from calipers.evaluators import ROCEvaluator
from calipers.plugins import AdapterPlugin, EvaluatorPlugin, PluginBase, StorePlugin, ViewPlugin
from calipers.testing import ConformanceError, check_plugin, make_context
from calipers.testing.plugin_check import ADVICE


@dataclass
class Polite(Evaluator):
    word: str = "please"

    def evaluate(self, ctx):
        if not isinstance(ctx.output, str):
            return Skipped("only text can be polite")
        return self.word in ctx.output


def brief(output, words: int):
    return len(str(output).split()) <= words


def is_text(output):
    return isinstance(output, str)


class Score(ROCEvaluator):
    pass


class Tone(EvaluatorPlugin, ViewPlugin):
    name = "tone"
    version = "1.0"
    evaluator_types = (Polite, brief, is_text, Score)

    def __init__(self):
        self.heard = []

    def create_evaluator(self, word: str = "thanks"):
        return Polite(word)

    def create_view(self):
        return lambda report: f"{report.name}: {len(report.cases)} attempts"

    def on_test_end(self, record):
        self.heard.append(record.name)


class Sender:
    def write(self, report, path):
        raise AssertionError("this must not be sent anywhere")


class Agent:
    name = "agent"

    def invoke(self, input_text):
        return input_text


def test_a_plugin_that_keeps_the_contract_is_told_what_was_checked():
    checked = check_plugin(Tone)
    assert (checked.name, checked.version, checked.types) == ("tone", "1.0", ("evaluator", "view"))
    assert list(checked.evaluators) == ["Polite", "is_text", "tone"]
    assert all(each.judged for each in checked.evaluators.values())
    assert checked.not_checked == ("brief", "Score")


@pytest.mark.parametrize(
    ("base", "members"),
    [
        (PluginBase, {}),
        (AdapterPlugin, {"create_adapter": lambda self: Agent()}),
        (ViewPlugin, {"create_reporter": lambda self: lambda report: b"drawn"}),
        (ViewPlugin, {"create_view": lambda self: Sender()}),
        (StorePlugin, {"create_store": lambda self: object()}),
        (EvaluatorPlugin, {"create_evaluator": lambda self: is_text}),
    ],
    ids=["hooks", "adapter", "view", "writer", "store", "evaluator"],
)
def test_a_plugin_of_every_type_can_be_checked(base, members):
    assert check_plugin(type("Mine", (base,), {"name": "mine", **members})).name == "mine"


def test_the_options_are_those_of_the_check_of_evaluators():
    count = itertools.count()
    plugin = type(
        "Mine", (EvaluatorPlugin,), {"name": "m", "create_evaluator": lambda self: lambda output: next(count)}
    )
    with pytest.raises(ConformanceError, match="unstable"):
        check_plugin(plugin)
    contexts = [make_context("a"), make_context("b")]
    assert check_plugin(plugin, contexts=contexts, deterministic=False).evaluators["m"].judged == 2


def failing(self, *_, **__):
    raise ValueError("no")


SHARED = Polite()
NAMES = (f"name {number}" for number in itertools.count())


def broken(base=EvaluatorPlugin, **members):
    if base is EvaluatorPlugin and "evaluator_types" not in members:
        members.setdefault("create_evaluator", lambda self: is_text)
    return type("Broken", (base,), {"name": "broken", **members})


BROKEN = {
    "no class": ("load", 5, "a plugin is a class, got 5"),
    "no plugin": ("load", Polite, "Polite is not a plugin"),
    "no name": ("load", type("Unnamed", (PluginBase,), {}), "Unnamed has no name"),
    "needs arguments": ("load", broken(__init__=lambda self, needed: None), "create failed: TypeError"),
    "old": ("load", broken(requires_calipers=">=99"), "it needs calipers >=99"),
    "changes its name": (
        "load",
        broken(name=property(lambda self: next(NAMES))),
        "said .* of itself, and then",
    ),
    "fails to load": ("load", broken(on_load=failing), "on_load failed: ValueError: no"),
    "fails to make": ("make", broken(create_evaluator=failing), "create_evaluator: ValueError: no"),
    "makes no evaluator": ("make", broken(create_evaluator=lambda self: 5), "create_evaluator: TypeError"),
    "asks for more": (
        "make",
        broken(create_evaluator=lambda self, x: is_text),
        "create_evaluator: TypeError",
    ),
    "makes no adapter": (
        "make",
        broken(AdapterPlugin, create_adapter=lambda self: 5),
        "an adapter has a name",
    ),
    "makes no view": (
        "make",
        broken(ViewPlugin, create_view=lambda self: 5),
        "a view is a function of a report, or an object with write",
    ),
    "draws nothing": (
        "view",
        broken(ViewPlugin, create_view=lambda self: print),
        "must return text or bytes, got None",
    ),
    "draws no empty report": (
        "view",
        broken(ViewPlugin, create_view=lambda self: lambda report: f"{report.pass_rate().value:.0%}"),
        "of a report without attempts: the view 'broken' failed: NotKnownError",
    ),
    "has the name of a format": (
        "load",
        broken(ViewPlugin, name="html", create_view=lambda self: str),
        "'html' is a format of Calipers",
    ),
    "makes no store": ("make", broken(StorePlugin, create_store=lambda self: None), "it made nothing"),
    "shares": ("shared", broken(create_evaluator=lambda self: SHARED), "gave the same Polite twice"),
    "makes a bad judge": (
        "evaluator",
        broken(create_evaluator=lambda self: lambda output: None),
        "broken: output: returned None, which is not a judgement",
    ),
    "has a bad type": (
        "evaluator",
        broken(evaluator_types=[type("Bad", (Polite,), {"evaluate": lambda self, ctx: [1]})]),
        r"Bad: output: returned \[1\]",
    ),
    "fails to hear": ("hook", broken(on_test_end=failing), r"on_test_end failed \(6 times\): ValueError: no"),
    "fails at the end": ("hook", broken(on_unload=failing), "on_unload failed: ValueError: no"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_plugin_is_told_what_is_broken(case):
    rule, plugin, message = BROKEN[case]
    with pytest.raises(ConformanceError, match=message) as caught:
        check_plugin(plugin)
    assert rule in {finding.rule for finding in caught.value.findings}
    assert "breaks the contract of a plugin" in str(caught.value)
    assert ADVICE[caught.value.findings[0].rule] in str(caught.value)


def test_every_rule_has_a_way_out_and_a_broken_plugin_above():
    assert set(ADVICE) == {rule for rule, _, _ in BROKEN.values()}
