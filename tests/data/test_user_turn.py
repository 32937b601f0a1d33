"""Scripted users: cases with turns, in Python and in files."""

import json

import jsonschema_rs
import pytest

from calipers import Case, Dataset, Retry, UserTurn
from calipers.agents import tool
from calipers.data.user_turn import TurnEvaluator
from calipers.errors import DatasetFileError, InvalidCaseError
from calipers.evaluators import Contains, Length, ToolCallCount
from calipers.files import dataset_schema
from calipers.rollouts import Graph, Message
from calipers.stores import MemoryStore
from calipers.testing import make_context
from calipers.views.transcript import transcript_of


@tool
def look_up(order):
    return f"order {order} was sent"


def chat(messages):
    said = messages[-1]["content"]
    return look_up(17) if "17" in said else f"Which order? ({len(messages)} messages)"


async def chat_later(messages):
    return chat(messages)


class Bot:
    """A target that is no function."""

    def reply(self, messages):
        assert all(isinstance(message, Message) for message in messages)
        return chat([{"content": message.content} for message in messages])


TURNS = [
    UserTurn("Where is my parcel?", expected_output="Which order? (1 messages)"),
    UserTurn("It is 17.", evaluators=[Contains("was sent"), ToolCallCount("look_up", maximum=0)]),
    "Thanks.",
]


def only(report):
    assert not report.failures, report.failures
    (case,) = report.cases
    return case


def said(case):
    return {result.name: result.value for result in case.results}


@pytest.mark.parametrize("task", [chat, chat_later, Bot()], ids=["sync", "async", "target"])
@pytest.mark.parametrize("lazy", [False, True], ids=["list", "lazy"])
def test_each_turn_is_answered_with_the_conversation_so_far_and_judged_by_its_own_evaluators(task, lazy):
    cases = [Case(name="parcel", turns=TURNS, evaluators=[ToolCallCount("look_up", minimum=1, maximum=1)])]
    case = only(Dataset(cases=iter(cases) if lazy else cases).evaluate_sync(task, progress=False))
    assert case.inputs == ["Where is my parcel?", "It is 17.", "Thanks."]
    assert [node.response for node in case.output.walk()][2] == "Which order? (5 messages)"
    assert said(case) == {
        "turn 1: EqualsExpected": True,
        "turn 2: Contains": True,
        "turn 2: ToolCallCount": False,
        "ToolCallCount": True,
    }
    talk = transcript_of(case)
    assert (talk.asker, talk.answerer) == ("user", "agent")
    assert [[result.name for result in turn.results] for turn in talk.turns] == [
        ["turn 1: EqualsExpected"],
        ["turn 2: Contains", "turn 2: ToolCallCount"],
        [],
    ]


def test_the_state_of_a_conversation_is_kept_from_turn_to_turn_and_is_new_in_the_next():
    def counting(messages, state):
        state["n"] = state.get("n", 0) + 1
        return str(state["n"])

    cases = [Case(name=name, turns=["a", "b"]) for name in "xy"]
    report = Dataset(cases=cases).evaluate_sync(counting, repeat=3, progress=False)
    assert [[node.response for node in case.output.walk()] for case in report.cases] == [["1", "2"]] * 6


def test_cases_with_inputs_go_to_the_same_task_as_before():
    def either(messages):
        return messages.upper() if isinstance(messages, str) else "talk"

    cases = [Case(name="plain", inputs="a"), Case(name="talk", turns=["b"])]
    plain, talk = Dataset(cases=cases).evaluate_sync(either, progress=False).cases
    assert plain.output == "A"
    assert isinstance(talk.output, Graph)


def test_a_target_of_conversations_says_that_a_case_has_no_turns():
    cases = [Case(name="plain", inputs="a"), Case(name="talk", turns=["b"])]
    report = Dataset(cases=cases).evaluate_sync(Bot(), progress=False)
    assert "give it turns=[...]" in report.failures[0].error_message


def test_an_agent_that_fails_in_a_turn_fails_the_attempt_and_leaves_the_turns_before_it():
    def fragile(messages):
        if len(messages) > 1:
            raise ConnectionError("gone")
        return look_up(17)

    (failure,) = Dataset(cases=[Case(turns=["a", "b"])]).evaluate_sync(fragile, progress=False).failures
    assert failure.error_type == "ConnectionError"
    assert failure.error_message == "ConnectionError: gone (turn 2: the target failed)"
    assert [turn.content for turn in failure.trace.turns if turn.content] == ["a", "order 17 was sent"]


@pytest.mark.parametrize("on", [ConnectionError, lambda error: isinstance(error, ConnectionError)])
def test_a_conversation_is_tried_again_for_the_errors_that_retry_names(on):
    calls = []

    def fragile(messages):
        calls.append(len(messages))
        if len(calls) == 2:
            raise ConnectionError("gone")
        return "yes"

    retry = Retry(attempts=2, backoff=0, on=on)
    only(Dataset(cases=[Case(turns=["a", "b"])]).evaluate_sync(fragile, progress=False, retry=retry))
    assert calls == [1, 3, 1, 3]


def test_a_turn_that_expects_none_is_judged_and_one_that_expects_nothing_is_not():
    case = only(
        Dataset(cases=[Case(turns=[UserTurn("a", expected_output=None), "b"])]).evaluate_sync(
            chat, progress=False
        )
    )
    assert said(case) == {"turn 1: EqualsExpected": False}


def test_an_evaluator_of_a_turn_is_skipped_where_there_is_no_such_turn():
    for output in ("text", Graph("", []), {"calipers_rollout": 1, "turns": 7}):
        found = TurnEvaluator(Contains("x"), 1).evaluate(make_context(output))
        assert "no conversation with a turn 1" in found.reason


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"turns": ["a"], "inputs": 1}, "has turns: they are its inputs"),
        ({"turns": ["a"], "expected_output": 1}, "each of them may state an expected_output"),
        ({"turns": "a"}, "turns are a list"),
        ({"turns": [1]}, "a turn is a UserTurn or a text"),
        ({"turns": [""]}, "what the user says"),
    ],
    ids=repr,
)
def test_a_script_that_says_nothing_or_two_things_is_refused(options, message):
    with pytest.raises(InvalidCaseError, match=message):
        Case(**options)


# ---------------------------------------------------------------------- files

YAML = """\
name: support
cases:
- name: parcel
  turns:
  - user: Where is my parcel?
    expected_output: Which order? (1 messages)
  - user: It is 17.
    evaluators:
    - Contains: was sent
    - ToolCallCount: {tool: look_up, maximum: 0}
  - Thanks.
"""


def test_a_script_is_read_from_a_file_and_written_to_it(tmp_path):
    path = tmp_path / "support.yaml"
    path.write_text(YAML)
    dataset = Dataset.from_file(path)
    assert list(dataset.cases[0].turns) == list(Case(turns=TURNS).turns)
    for name in ("again.yaml", "again.json", "again.jsonl"):
        dataset.to_file(tmp_path / name)
        again = Dataset.from_file(tmp_path / name)
        assert list(again.cases) == dataset.cases
    case = only(dataset.evaluate_sync(chat, progress=False))
    assert said(case)["turn 2: ToolCallCount"] is False


def test_a_table_says_that_it_cannot_hold_turns(tmp_path):
    with pytest.raises(DatasetFileError, match="a table cannot hold the turns of a case"):
        Dataset(cases=[Case(turns=["a"])]).to_file(tmp_path / "x.csv")


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ({}, "the case has no inputs"),
        ({"turns": []}, "at least one"),
        ({"turns": ["a"], "inputs": 1}, "a case with turns has none"),
        ({"turns": [{"user": ""}]}, "what the user says"),
        ({"turns": [3]}, "expected what the user says, or user"),
        ({"turns": [{"user": "a", "expects": 1}]}, "unknown key 'expects'"),
        ({"turns": [{"user": "a", "evaluators": ["Nope"]}]}, "Nope"),
    ],
    ids=repr,
)
def test_what_is_wrong_with_a_script_is_said_and_the_schema_knows_it(tmp_path, case, message):
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"cases": [{"turns": ["fine"]}, case]}))
    with pytest.raises(DatasetFileError, match=message):
        Dataset.from_file(path)
    validator = jsonschema_rs.validator_for(dataset_schema())
    assert not validator.is_valid({"cases": [case]})
    assert validator.is_valid({"cases": [{"turns": ["a", {"user": "b", "expected_output": None}]}]})


def test_results_of_turns_are_reused_as_long_as_nothing_changed(tmp_path):
    store = tmp_path / "runs.db"

    def run(expected):
        turns = [UserTurn("a", expected_output=expected), UserTurn("b", evaluators=[Length(1, 99)])]
        dataset = Dataset(cases=[Case(name="talk", turns=turns)])
        return dataset.evaluate_sync(chat, store=store, reuse=True, progress=False)

    assert said(only(run("x"))) == {"turn 1: EqualsExpected": False, "turn 2: Length": True}
    again = run("Which order? (1 messages)")
    assert said(only(again)) == {"turn 1: EqualsExpected": True, "turn 2: Length": True}
    assert again.reuse is not None


def by_seed(seed):
    return seed % 2 == 0


def number_of_results(results):
    return len(results)


def test_a_conversation_is_reused_under_another_seed_unless_an_evaluator_of_a_turn_asks_for_it():
    def run(store, seed, *evaluators):
        turns = [UserTurn("Where is my parcel?", evaluators=evaluators)]
        data = Dataset(name="d", cases=[Case(name="a", turns=turns)])
        reuse = data.evaluate_sync(chat, store=store, reuse=True, seed=seed, progress=False).reuse
        return reuse.attempts_reused, reuse.cells_reused

    with MemoryStore() as store:
        run(store, 1, Contains("Which"))
        assert run(store, 2, Contains("Which")) == (1, 1)
    with MemoryStore() as store:
        run(store, 1, by_seed)
        assert run(store, 1, by_seed) == (1, 1)
        assert run(store, 2, by_seed) == (0, 0)
    with MemoryStore() as store:
        run(store, 1, Contains("Which"), number_of_results)
        assert run(store, 2, Contains("order"), number_of_results) == (1, 0)
