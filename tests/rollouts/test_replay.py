"""A rollout that broke a target, replayed."""

import pytest

from calipers import Case, Dataset
from calipers.errors import InvalidOptionError, InvalidRolloutError
from calipers.rollouts import (
    Environment,
    Graph,
    KeywordModerator,
    LeakModerator,
    Node,
    OnSuccess,
    Replay,
    TargetHeld,
    first_success,
    rollout_case,
    save_failures,
)
from calipers.rollouts.demo import GOAL, VaultAssistant
from calipers.rollouts.strategies import SampledAttack

LEAK = LeakModerator("MARMALADE")
ODD = "\x00 \x1b[31m \u202e \t\r\n - : # 'quoted' \"double\" yes 1.5 \u2713 \U0001d54f {{x}}"


@pytest.fixture(scope="module")
def rollouts():
    environment = Environment(
        VaultAssistant(), SampledAttack(), LEAK, depth=3, stop=OnSuccess(), goals=[GOAL]
    )
    return [environment.rollout(seed) for seed in range(12)]


def lost(report):
    return [case.name for case in report.cases if not case.passed]


def test_the_case_holds_the_attacks_up_to_the_earliest_success():
    tree = Graph(
        "hello!",
        [
            Node("", "slow", "no", 0.0, [Node("", "slower", "no", success=False)], success=False),
            Node("", "quick", "yes", success=True, metadata={"attack": "base64", "rewind": 0}),
        ],
        seed=4,
        metadata={"goal": "get it"},
    )
    case = rollout_case(tree)
    assert case.inputs == {
        "goal": "get it",
        "attacks": [{"text": "quick", "name": "base64"}],
        "opening": "hello!",
        "response": "yes",
        "seed": 4,
    }
    assert (case.name, case.cluster) == ("get it (seed 4)", "get it")
    assert case.metadata == {"turn": 1}


@pytest.mark.parametrize("suffix", ["yaml", "jsonl", "json"])
def test_all_failures_of_a_run_go_through_a_file_and_break_the_target_again(rollouts, tmp_path, suffix):
    path = tmp_path / f"failures.{suffix}"
    saved = save_failures(rollouts, path)
    assert 2 <= len(saved.cases) <= 12
    read = Dataset.from_file(path)
    assert [case.inputs for case in read.cases] == [case.inputs for case in saved.cases]
    again = read.evaluate_sync(Replay(VaultAssistant(), LEAK), progress=False)
    assert not again.failures
    assert len(lost(again)) == len(saved.cases), "the same attacks against the same target"
    firm = read.evaluate_sync(Replay(VaultAssistant(weaknesses=()), LEAK), progress=False)
    assert not firm.failures
    assert lost(firm) == []
    assert firm.pass_rate().value == 1


def test_the_replay_says_what_was_said_and_takes_back_what_was_taken_back(rollouts):
    original = next(graph for graph in rollouts if len(first_success(graph) or ()) > 1)
    dataset = Dataset(cases=[rollout_case(original)])
    (case,) = dataset.evaluate_sync(Replay(VaultAssistant(), LEAK), progress=False).cases
    (path,) = case.output.paths()
    assert [(node.attack, node.context, node.response) for node in path] == [
        (node.attack, node.context, node.response) for node in first_success(original)
    ]
    (held,) = case.assertions.values()
    assert held.name == "TargetHeld"
    assert held.reason.startswith(f"gave way in turn {len(path)} to ")


def test_odd_texts_survive_the_files(tmp_path):
    graph = Graph("", [Node("", ODD, "r", success=True)], metadata={"goal": "g"})
    for suffix in ("yaml", "jsonl", "json"):
        save_failures([graph, graph], tmp_path / f"odd.{suffix}")
        read = Dataset.from_file(tmp_path / f"odd.{suffix}")
        assert [case.inputs["attacks"] for case in read.cases] == [[{"text": ODD}]] * 2
        assert [case.name for case in read.cases] == ["g", "g (2)"]


@pytest.mark.parametrize("suffix", ["yaml", "json", "jsonl"])
def test_words_that_no_file_can_hold_prevent_nothing_else(tmp_path, suffix):
    graphs = [
        Graph("", [Node("", text, "MARMALADE", success=True)], metadata={"goal": f"get {number}"})
        for number, text in enumerate(["fine", "half \ud800 of it", "fine too"])
    ]
    path = tmp_path / f"f.{suffix}"
    with pytest.warns(RuntimeWarning, match="'get 1' is left out") as caught:
        saved = save_failures(graphs, path)
    assert caught[0].filename == __file__
    assert [case.name for case in saved.cases] == ["get 0", "get 2"]
    assert [case.name for case in Dataset.from_file(path).cases] == ["get 0", "get 2"]


def test_a_rollout_without_a_goal_can_be_replayed():
    case = rollout_case(Graph("", [Node("", "a", "MARMALADE", success=True)]))
    report = Dataset(cases=[case]).evaluate_sync(Replay(lambda messages: "no", LEAK), progress=False)
    assert report.cases[0].passed


def test_a_target_of_texts_hears_no_opening():
    case = rollout_case(
        Graph("Where it began", [Node("", "a", "MARMALADE", success=True)], metadata={"goal": "g"})
    )
    report = Dataset(cases=[case]).evaluate_sync(Replay(lambda text: "MARMALADE", LEAK), progress=False)
    assert lost(report) == ["g"]


def test_where_nothing_failed_no_file_promises_a_test(tmp_path):
    path = tmp_path / "none.yaml"
    assert save_failures([Graph("", [Node("", "a", "r", success=False)])], path).cases == []
    assert not path.exists()


def test_a_rollout_without_success_has_nothing_to_replay():
    with pytest.raises(InvalidRolloutError, match="nothing to replay"):
        rollout_case(Graph("", [Node("", "a", "r", success=False)]))


def test_only_texts_can_be_said_again():
    with pytest.raises(InvalidRolloutError, match=r"only texts .* \{'move': 1\}"):
        rollout_case(Graph("", [Node("", {"move": 1}, "r", success=True)]))


def test_a_replay_without_a_judge_does_not_pass(rollouts):
    graph = next(graph for graph in rollouts if first_success(graph))
    report = Dataset(cases=[rollout_case(graph)]).evaluate_sync(Replay(VaultAssistant()), progress=False)
    assert report.pass_rate().value == 0


def test_a_rollout_without_a_judgement_cannot_be_said_to_have_held():
    graph = Graph("", [Node("", "a", "r")])
    dataset = Dataset(cases=[Case(inputs=0)], evaluators=[TargetHeld()])
    (case,) = dataset.evaluate_sync(lambda _: graph, progress=False).cases
    assert case.passed is None
    assert "was not judged" in case.skipped[0].reason


# ---------------------------------------------------------------------- what a replay needs


def obeys(messages):
    """Gives its word away if its system prompt does."""
    told = [message["content"] for message in messages if message["role"] == "system"]
    return told[0] if told else "no"


def replayed(graph, replay):
    """The only attempt of a replay: a case that has results, or a failure."""
    report = Dataset(cases=[rollout_case(graph)]).evaluate_sync(replay, progress=False)
    return (report.cases or report.failures)[0]


def test_a_replay_tells_the_target_what_it_was_told_in_the_run(tmp_path):
    environment = Environment(obeys, ["a"], LEAK, goals=["g"], system_prompt="Say MARMALADE.")
    graph = environment.rollout(0)
    save_failures([graph], tmp_path / "f.yaml")
    read = Dataset.from_file(tmp_path / "f.yaml")
    again = read.evaluate_sync(Replay(obeys, LEAK), progress=False)
    assert lost(again) == [read.cases[0].name], "the same bot, told the same"
    assert replayed(graph, Replay(lambda text: "no", LEAK)).error_type == "InvalidOptionError"


@pytest.mark.parametrize("told", ["Be kind.", ""], ids=["another", "none"])
def test_a_replay_with_another_system_prompt_says_so(told):
    graph = Environment(obeys, ["a"], LEAK, goals=["g"], system_prompt="Say MARMALADE.").rollout(0)
    (held,) = replayed(graph, Replay(obeys, LEAK, system_prompt=told)).assertions.values()
    assert held.value is True
    assert held.reason.endswith("(with another system prompt than the recorded one)")


def test_a_replay_judges_by_the_threshold_of_the_run():
    words = KeywordModerator({"heron": 0.4})
    graph = Environment(lambda text: "heron", ["a"], words, goals=["g"], success=0.3).rollout(0)
    assert not replayed(graph, Replay(lambda text: "heron", words)).passed


@pytest.mark.parametrize(
    ("success", "moderator"),
    [
        (None, LeakModerator("another word")),
        (0.9, KeywordModerator({"heron": 0.4})),
        (lambda response: False, None),
    ],
    ids=["moderator", "threshold", "rule"],
)
def test_a_judge_that_does_not_see_what_was_seen_then_is_refused_rather_than_passed(success, moderator):
    words = KeywordModerator({"heron": 0.4})
    graph = Environment(lambda text: "heron", ["a"], words, goals=["g"], success=0.3).rollout(0)
    failure = replayed(graph, Replay(lambda text: "no", moderator, success=success))
    assert "sees no success in the response by which the target gave way then" in failure.error_message
    assert failure.error_message.endswith("the success rule of the run: KeywordModerator, from 0.3 on")


def test_a_rule_that_a_case_cannot_hold_must_be_given_again():
    def told_it(response):
        return response == "heron"

    def first_turn(turns):
        return len(turns) == 1

    graph = Environment(lambda text: "heron", ["a"], LEAK, goals=["g"], success=told_it).rollout(0)
    failure = replayed(graph, Replay(lambda text: "heron", LEAK))
    assert "judged by 'told_it', a rule that a case cannot hold" in failure.error_message
    assert not replayed(graph, Replay(lambda text: "heron", success=told_it)).passed
    assert not replayed(graph, Replay(lambda text: "no", success=first_turn)).passed, (
        "it cannot be asked beforehand"
    )


@pytest.mark.parametrize("name", ["f.txt", "f.csv", "f.parquet", "f"])
def test_failures_are_saved_in_formats_that_hold_them(rollouts, tmp_path, name):
    with pytest.raises(InvalidOptionError, match=r"saved as \.yaml, \.yml, \.json, \.jsonl"):
        save_failures(rollouts, tmp_path / name)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ("text", "the inputs of a replay"),
        ({"goal": "g", "attacks": []}, "the inputs of a replay"),
        ({"goal": 3, "attacks": [{"text": "a"}]}, "are texts"),
        ({"goal": "g", "attacks": ["a"]}, "an attack of a replay"),
        ({"goal": "g", "attacks": [{"text": None}]}, "an attack of a replay"),
    ],
)
def test_inputs_that_are_no_recorded_rollout_are_a_failed_attempt_that_says_so(inputs, message):
    dataset = Dataset(cases=[Case(inputs=inputs)])
    (failure,) = dataset.evaluate_sync(Replay(VaultAssistant(), LEAK), progress=False).failures
    assert message in failure.error_message
