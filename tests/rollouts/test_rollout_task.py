import pytest

from calipers import Case, Dataset
from calipers.data.trace import ToolCall, Trace
from calipers.errors import InvalidCaseError, InvalidOptionError, TaskContractError
from calipers.rollouts import Environment, Graph, LeakModerator, Reply, RolloutTask
from calipers.rollouts.conversation import conversation_trace
from calipers.rollouts.rollout_task import read_inputs


class Vault:
    """Gives its word away where the tester draws well."""

    blocking = False
    name = "vault"

    def reply(self, messages):
        if messages[-1].content == "fail":
            raise ConnectionError("the line is dead")
        return Reply("open sesame" if messages[-1].content > "5" else "no", cost=0.5)


def drawing(so_far):
    return str(so_far.random.randrange(10))


def make(tester=drawing, **options):
    return RolloutTask(Environment(Vault(), tester, LeakModerator("open sesame"), depth=2, **options))


def gave_way(graph):
    return any(node.success for node in graph.walk())


def test_rollouts_run_over_a_dataset_with_repeats_and_come_out_the_same_again():
    dataset = Dataset(cases=[Case(name="word", inputs="get the word")], evaluators=[gave_way])
    reports = [dataset.evaluate_sync(make(), repeat=6, seed=0) for _ in range(2)]
    said = [[[node.attack for node in case.output.walk()] for case in report.cases] for report in reports]
    assert said[0] == said[1]
    assert len({tuple(attacks) for attacks in said[0]}) > 1
    case = reports[0].cases[0]
    assert isinstance(case.output, Graph)
    assert case.output.metadata["goal"] == "get the word"
    assert case.metrics == {"turns": 2, "cost": 1.0}
    assert reports[0].name == "vault"


def test_a_seed_as_inputs_draws_a_goal_and_gives_that_rollout():
    dataset = Dataset(cases=[Case(inputs=7), Case(inputs={"goal": "c", "seed": 7})])
    seeded, both = dataset.evaluate_sync(make(goals=["a", "b"])).cases
    assert seeded.output.seed == both.output.seed == 7
    assert seeded.output.metadata["goal"] in {"a", "b"}
    assert both.output.metadata["goal"] == "c"


def test_a_rollout_that_fails_is_a_failure_and_its_turns_are_kept():
    report = Dataset(cases=[Case(inputs="g")], evaluators=[gave_way]).evaluate_sync(make(["1", "fail"]))
    (failure,) = report.failures
    assert failure.error_type == "ConnectionError"
    assert failure.error_message.endswith("(turn 2: the target failed)")
    assert [turn.content for turn in failure.trace.turns] == ["1", "no"]


@pytest.mark.parametrize(
    "inputs",
    [None, "", "  ", 1.5, True, [], {}, {"goal": 3}, {"seed": "a"}, {"goal": "a", "sed": 1}, {"goal": None}],
    ids=repr,
)
def test_inputs_that_are_neither_goal_nor_seed_are_refused(inputs):
    with pytest.raises(InvalidCaseError, match="a goal"):
        read_inputs(inputs)


@pytest.mark.parametrize(
    ("inputs", "read"),
    [
        ("g", ("g", None)),
        (0, (None, 0)),
        ({"goal": "g"}, ("g", None)),
        ({"seed": 0}, (None, 0)),
        ({"goal": "g", "seed": 1}, ("g", 1)),
    ],
    ids=repr,
)
def test_inputs_are_a_goal_a_seed_or_both(inputs, read):
    assert read_inputs(inputs) == read


@pytest.mark.parametrize("wrong", [None, Vault(), Environment, lambda text: "no"], ids=range(4))
def test_what_is_no_environment_cannot_be_rolled_out(wrong):
    with pytest.raises(InvalidOptionError, match=r"RolloutTask\(Environment\(target, tester, moderator\)\)"):
        RolloutTask(wrong)


def test_an_environment_in_the_place_of_a_task_is_refused_with_the_way_to_make_it_one():
    environment = make().environment
    with pytest.raises(
        TaskContractError, match=r"becomes a task as calipers\.rollouts\.RolloutTask\(environment\)"
    ):
        Dataset(cases=[Case(inputs="g")]).evaluate_sync(environment)


def test_the_trace_of_a_conversation_has_what_was_said_and_done():
    target = lambda text: Trace(output_text="done", tool_calls=[ToolCall("open", {})])
    graph = Environment(target, ["a", "b"], goals=["g"]).rollout(0)
    trace = conversation_trace(graph, "vault")
    assert [turn.turn_type.value for turn in trace.turns] == [
        "user_message",
        "tool_call",
        "agent_message",
    ] * 2
    assert (trace.agent_name, trace.input_text, trace.output_text) == ("vault", "g", "done")
    assert conversation_trace(Graph("", [])).turns == ()
