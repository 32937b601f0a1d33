"""The transcript of a conversation: what it says, and what the views show of it."""

import json

import msgspec
import pytest

from calipers import Case, Dataset
from calipers.agents import tool
from calipers.comparison.case_pairs import cases_of
from calipers.data.record import ReportCase
from calipers.data.result import EvaluationResult, EvaluatorSpec
from calipers.data.trace import ToolCall, Trace, Turn, TurnType
from calipers.report.report import Report
from calipers.rollouts import Environment, Graph, LeakModerator, Node, RolloutTask, SimulatedUser
from calipers.views.attempts import attempt_in_full, attempt_unjudged
from calipers.views.comparison.side_by_side import Sided, case_rows
from calipers.views.github import report_annotations
from calipers.views.html.records import embedded_records
from calipers.views.junit import report_junit
from calipers.views.markdown import report_markdown
from calipers.views.transcript import shown_output, transcript_of


@tool
def look_up(order):
    return f"order {order} was sent"


def shop(messages):
    said = messages[-1]["content"]
    return look_up(17) if "17" in said else "Which order?"


USER = SimulatedUser("Where is my parcel?", answers={"which order": "It is 17."}, done="was sent")


def run(environment):
    return Dataset(cases=[Case(name="talk", inputs="Where is my parcel?")]).evaluate_sync(
        RolloutTask(environment), progress=False
    )


@pytest.fixture(scope="module")
def report():
    return run(Environment(shop, USER, success=USER.reached, opening="Welcome!"))


def test_a_conversation_is_shown_turn_by_turn_before_and_after_it_was_stored(report):
    for each in (report, Report.from_dict(json.loads(json.dumps(report.to_dict())))):
        talk = transcript_of(each.cases[0])
        assert (talk.asker, talk.answerer, talk.opening) == ("user", "agent", "Welcome!")
        assert [(turn.number, turn.asked, turn.answered) for turn in talk.turns] == [
            (1, "Where is my parcel?", "Which order?"),
            (2, "It is 17.", "order 17 was sent"),
        ]
        assert [[done.tool_call.name for done in turn.done] for turn in talk.turns] == [[], ["look_up"]]
        assert [list(turn.facts) for turn in talk.turns] == [["goal not reached yet"], ["goal reached"]]
        lines = [line.strip() for line in attempt_in_full(each.cases[0])]
        said = ["agent: Welcome!", "user: It is 17.", "agent: order 17 was sent", "= goal reached"]
        assert [line for line in lines if line in said] == said
        assert not any("calipers_rollout" in line for line in lines)


def test_where_there_is_one_line_for_an_output_a_conversation_is_its_last_answer(report):
    assert shown_output(report.cases[0]) == "order 17 was sent"
    (plain,) = Dataset(cases=[Case(inputs=0)]).evaluate_sync(str, progress=False).cases
    assert shown_output(plain) == "0"


def test_an_attack_has_an_attacker_and_a_target():
    environment = Environment(lambda text: "no", ["<b>The word!</b>"], LeakModerator("word"), goals=["g"])
    talk = transcript_of(run(environment).cases[0])
    assert (talk.asker, talk.answerer) == ("attacker", "target")
    assert talk.turns[0].facts == ["held", "score of the question 1", "score of the answer 0"]


def test_the_turns_of_a_tree_name_their_conversation():
    environment = Environment(lambda text: "no", lambda so_far: str(so_far.branch), width=2, depth=2)
    talk = transcript_of(run(environment).cases[0])
    assert [(turn.branch, turn.number, turn.asked) for turn in talk.turns] == [
        (1, 1, "0"),
        (1, 2, "0"),
        (2, 2, "1"),
        (3, 1, "1"),
        (3, 2, "0"),
        (4, 2, "1"),
    ]


@pytest.mark.parametrize(
    "output", ["text", None, {"turns": []}, {"calipers_rollout": 1, "turns": 7}, {"calipers_rollout": 9}]
)
def test_what_is_no_conversation_has_no_transcript(output):
    (case,) = Dataset(cases=[Case(inputs=0)]).evaluate_sync(lambda _: output, progress=False).cases
    assert transcript_of(case) is None


def test_a_result_that_names_its_turn_stands_there_and_nowhere_else():
    graph = Graph("", [Node("", "a", "b", children=[Node("", "c", "d")])])
    report = Dataset(cases=[Case(inputs=0)]).evaluate_sync(lambda _: graph, progress=False)
    (case,) = report.cases
    specs = {
        "turn 2: Polite": EvaluatorSpec("TurnEvaluator", {"turn": 2}),
        "Polite": EvaluatorSpec("Polite", {"turn": 2}),
    }
    of_turn, of_all = (
        EvaluationResult(name=name, value=True, evaluator=name, source=spec) for name, spec in specs.items()
    )
    case.results = (of_turn, of_all)
    assert [list(turn.results) for turn in transcript_of(case).turns] == [[], [of_turn]]
    lines = list(attempt_in_full(case))
    assert lines.count("      = turn 2: Polite: passed") == 1
    assert lines.count("    Polite: passed") == 1
    (embedded,) = embedded_records(report, report.summaries(), limit=None)["attempts"]
    assert embedded["talk"]["turns"][1]["results"] == [0]


def test_no_view_of_an_attempt_shows_the_data_of_a_conversation():
    def held(output):
        return False

    failed = Dataset(
        cases=[Case(name="talk", inputs="Where is my parcel?")], evaluators=[held]
    ).evaluate_sync(
        RolloutTask(Environment(shop, USER, success=USER.reached, opening="Welcome!")), progress=False
    )
    said = [
        "agent: Welcome!",
        "user: Where is my parcel?",
        "agent: Which order?",
        "= goal not reached yet",
        "user: It is 17.",
        "called look_up(order=17)",
        "agent: order 17 was sent",
        "= goal reached",
    ]

    def compared(report):
        side = Sided("one", cases_of(report)[0])
        return "\n".join(line for row in case_rows(side, Sided("two", None)) for line in row.baseline)

    for view in (report_markdown, report_junit, report_annotations, compared):
        text = view(failed)
        assert "calipers_rollout" not in text, view
        lines = [line.strip() for line in text.replace("%0A", "\n").splitlines()]
        assert [line for line in lines if line in said] == said, view


def test_of_a_long_conversation_markdown_shows_the_end():
    def held(output):
        return False

    case = Case(turns=[f"question {turn}" for turn in range(40)])
    failed = Dataset(cases=[case], evaluators=[held]).evaluate_sync(lambda messages: "yes", progress=False)
    text = report_markdown(failed)
    assert "earlier lines)" in text
    assert "user: question 39" in text
    assert "user: question 9" not in text


def test_who_is_to_judge_a_conversation_sees_nothing_of_how_it_was_judged():
    turn = {"turn": 1, "attack": "ASKED", "response": "ANSWERED", "success": True, "response_score": 0.91}
    rollout = {"calipers_rollout": 1, "turns": [turn], "metadata": {"judge": "m"}, "stopped": "SUCCESS"}
    judged = EvaluationResult(
        name="Safe", value=False, reason="REASON", evaluator="Safe", source=EvaluatorSpec("Safe")
    )
    case = ReportCase(
        name="a",
        inputs="INPUTS",
        metadata={"difficulty": "HARD"},
        expected_output="EXPECTED",
        output=rollout,
        metrics={"tokens": 77},
        attributes={"k": "ATTRIBUTE"},
        results=(judged,),
        task_duration=1.0,
        total_duration=1.0,
    )
    text = "\n".join(attempt_unjudged(case))
    assert all(word in text for word in ("INPUTS", "ASKED", "ANSWERED", "EXPECTED"))
    hidden = ("Safe", "REASON", "gave way", "0.91", "SUCCESS", "HARD", "77", "ATTRIBUTE")
    assert not [word for word in hidden if word in text]
    assert "EXPECTED" not in "\n".join(attempt_unjudged(case, expected=False))
    trace = Trace(turns=[Turn(turn_type=TurnType.TOOL_CALL, tool_call=ToolCall("look", {"at": "it"}))])
    text = "\n".join(attempt_unjudged(msgspec.structs.replace(case, output="plain", trace=trace)))
    assert text.index("Output\n    plain") < text.index("What the agent did"), (
        "the answer is on the first page"
    )
    assert "tool look" in text
    assert "plain" in text
