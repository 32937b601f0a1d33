import asyncio
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import AgentTimeoutError, InvalidOptionError, InvalidRolloutError, RolloutError
from calipers.rollouts import (
    Attack,
    BatchedModerator,
    Budget,
    Environment,
    Evaluator,
    GraphMetrics,
    KeywordModerator,
    LeakModerator,
    MaxTurns,
    Message,
    OnSuccess,
    Reply,
    succeeded,
    turn_seed,
)
from calipers.rollouts.growth import context_of, derived_seed, first_place, place_below


class Recorder:
    """A target that remembers what it was shown."""

    blocking = False

    def __init__(self, answer=lambda messages: "no"):
        self.answer = answer
        self.shown = []

    def reply(self, messages):
        self.shown.append([(message.role, message.content) for message in messages])
        return self.answer(messages)


def facts(graph):
    """What a rollout is, without the times it took."""
    return [(n.context, n.attack, n.response, n.reward, n.success, n.metadata) for n in graph.walk()]


def drawing_tester(so_far):
    return f"{so_far.branch}:{so_far.random.random()}"


def drawing_target(conversation):
    return f"{len(conversation)}:{turn_seed()}"


# ---------------------------------------------------------------------- the conversation


def test_the_target_sees_system_prompt_opening_and_all_that_was_said():
    target = Recorder()
    Environment(target, ["a", "b"], goals=["g"], system_prompt="Be kind.", opening="Hello!").rollout(0)
    assert target.shown[1] == [
        ("system", "Be kind."),
        ("assistant", "Hello!"),
        ("user", "a"),
        ("assistant", "no"),
        ("user", "b"),
    ]


def test_a_turn_holds_what_both_said_and_what_was_said_before():
    graph = Environment(Recorder(), ["a", "b"], goals=["g"], opening="Hello!").rollout(0)
    assert graph.context == "Hello!"
    assert graph.metadata["goal"] == "g"
    first, second = graph.walk()
    assert (first.context, first.attack, first.response) == ("assistant: Hello!", "a", "no")
    assert second.context == "assistant: Hello!\nuser: a\nassistant: no"
    assert first.duration >= 0
    assert first.cost is None
    assert (first.attack_score, first.response_score, first.success, first.reward) == (None, None, None, 0.0)


def test_what_players_tell_of_a_move_is_kept():
    target = Recorder(lambda messages: Reply("no", cost=2, metadata={"tokens": 7}))
    tester = lambda so_far: Attack("a", name="plain", cost=1, metadata={"style": "direct"})
    (node,) = Environment(target, tester, goals=["g"], depth=1).rollout(0).children
    assert node.cost == 3
    assert node.metadata == {"attack": "plain", "style": "direct", "tokens": 7, "stopped": "1 turn"}


def test_a_rewind_hides_turns_from_the_target_and_not_from_the_tree():
    moves = [Attack("a"), Attack("b"), Attack("c", rewind=1), Attack("d", rewind=5)]
    target = Recorder()
    graph = Environment(target, lambda so_far: moves[so_far.turn - 1], goals=["g"], depth=4).rollout(0)
    assert target.shown[2] == [("user", "a"), ("assistant", "no"), ("user", "c")]
    assert target.shown[3] == [("user", "d")]
    (path,) = graph.paths()
    assert [node.attack for node in path] == ["a", "b", "c", "d"]
    assert [node.metadata.get("rewind") for node in path] == [None, None, 1, 2]
    assert [node.context for node in path] == [
        "",
        "user: a\nassistant: no",
        "user: a\nassistant: no",
        "",
    ]


def test_only_a_real_rewind_hides_turns():
    target = Recorder(lambda messages: Reply("no", metadata={"rewind": 5}))
    tester = lambda so_far: Attack(str(so_far.turn), metadata={"rewind": 1})
    graph = Environment(target, tester, goals=["g"], depth=2).rollout(0)
    assert len(target.shown[1]) == 3
    assert not any("rewind" in node.metadata for node in graph.walk())


def test_the_memory_of_contexts_grows_with_the_length_of_a_conversation_and_not_with_its_square():
    graph = Environment(Recorder(), lambda _: "x" * 100, goals=["g"], depth=60, context_chars=500).rollout(0)
    contexts = [node.context for node in graph.walk()]
    assert max(map(len, contexts)) == 500
    assert contexts[-1].startswith("…")
    assert contexts[-1].endswith("x\nassistant: no")


@given(st.lists(st.text(max_size=20), max_size=6), st.integers(1, 60))
def test_a_context_is_the_end_of_the_whole(texts, longest):
    said = [Message("user", text) for text in texts]
    whole, short = context_of("Hi", said, 10**6), context_of("Hi", said, longest)
    assert len(short) <= longest
    assert whole.endswith(short.removeprefix("…"))
    assert short == whole or short.startswith("…")


# ---------------------------------------------------------------------- trees


@pytest.mark.parametrize(("width", "depth", "turns"), [(1, 1, 1), (1, 4, 4), (2, 3, 14), (3, 2, 12)])
def test_each_turn_is_followed_by_as_many_as_the_tree_is_wide(width, depth, turns):
    graph = Environment(Recorder(), drawing_tester, goals=["g"], width=width, depth=depth).rollout(0)
    assert len(list(graph.walk())) == turns
    assert graph.depth == depth
    assert graph.stopped == f"{depth} turn{'s' if depth > 1 else ''}"
    assert all(len(node.children) in {0, width} for node in graph.walk())


def test_branches_share_no_conversation():
    target = Recorder()
    Environment(target, lambda s: f"{s.turn}.{s.branch}", goals=["g"], width=2, depth=2).rollout(0)
    seen = [[text for role, text in shown if role == "user"] for shown in target.shown]
    assert sorted(seen) == [["1.0"], ["1.0", "2.0"], ["1.0", "2.1"], ["1.1"], ["1.1", "2.0"], ["1.1", "2.1"]]


def test_siblings_are_under_way_at_the_same_time():
    waiting = threading.Barrier(3, timeout=20)

    def target(text):
        waiting.wait()
        return "no"

    graph = Environment(target, lambda _: "a", goals=["g"], width=3, depth=1).rollout(0)
    assert len(graph.children) == 3


def test_a_branch_ends_where_its_tester_has_nothing_left_to_say():
    tester = lambda so_far: None if so_far.branch else "a"
    graph = Environment(Recorder(), tester, goals=["g"], width=2, depth=2).rollout(0)
    assert [len(node.children) for node in graph.walk()] == [1, 0]
    graph = Environment(Recorder(), ["a"], goals=["g"], width=2, depth=2).rollout(0)
    assert graph.stopped == "the tester had nothing left to say"
    assert len(graph.children) == 2


# ---------------------------------------------------------------------- seeds


@pytest.mark.parametrize("seed", [0, 1, -1, 2**70])
def test_the_same_seed_gives_the_same_rollout_also_where_branches_finish_in_another_order(seed):
    async def hasty(conversation):
        await asyncio.sleep(0)
        return drawing_target(conversation)

    async def slow(conversation):
        for _ in range(hash(conversation[-1].content) % 5):
            await asyncio.sleep(0)
        return drawing_target(conversation)

    make = lambda target: Environment(target, drawing_tester, goals=list("abcdef"), width=2, depth=3)
    assert facts(make(hasty).rollout(seed)) == facts(make(slow).rollout(seed))
    assert make(hasty).rollout(seed).seed == seed


def test_other_seeds_give_other_rollouts_and_every_goal_comes_up():
    environment = Environment(drawing_target, drawing_tester, goals=["a", "b", "c"], depth=1)
    graphs = [environment.rollout(seed) for seed in range(30)]
    assert len({graph.children[0].attack for graph in graphs}) == 30
    assert len({graph.children[0].response for graph in graphs}) == 30
    assert {graph.metadata["goal"] for graph in graphs} == {"a", "b", "c"}


def test_without_a_seed_one_is_drawn_and_gives_the_same_again():
    environment = Environment(drawing_target, drawing_tester, goals=["a", "b", "c"], width=2, depth=2)
    graph = environment.rollout()
    assert isinstance(graph.seed, int)
    assert facts(environment.rollout(graph.seed)) == facts(graph)
    assert environment.rollout().seed != graph.seed


def test_a_text_as_seed_is_the_goal_of_a_single_conversation():
    environment = Environment(Recorder(), lambda so_far: so_far.goal, width=3, depth=2)
    graph = environment.eval_rollout("find the word")
    assert [node.attack for node in graph.walk()] == ["find the word"] * 2
    assert (graph.seed, graph.metadata["goal"]) == ("find the word", "find the word")


def test_a_number_as_seed_gives_the_whole_tree_also_for_measuring():
    environment = Environment(Recorder(), drawing_tester, goals=["g"], width=2, depth=2)
    assert facts(environment.eval_rollout(7)) == facts(environment.rollout(7))


@pytest.mark.parametrize("seed", [1.5, True, b"x", ("a",), float("nan")], ids=repr)
def test_what_is_no_seed_is_refused(seed):
    environment = Environment(Recorder(), ["a"], goals=["g"])
    for roll_out in (environment.rollout, environment.eval_rollout):
        with pytest.raises(InvalidOptionError, match="seed"):
            roll_out(seed)


@pytest.mark.parametrize("goal", ["", "  "], ids=repr)
def test_an_empty_goal_is_refused(goal):
    with pytest.raises(InvalidOptionError, match="goal"):
        Environment(Recorder(), ["a"]).eval_rollout(goal)


def test_a_text_is_no_seed_for_a_plain_rollout():
    with pytest.raises(InvalidOptionError, match="eval_rollout"):
        Environment(Recorder(), ["a"], goals=["g"]).rollout("g")


def test_a_number_without_goals_has_nothing_to_draw_from():
    with pytest.raises(InvalidOptionError, match="no goals"):
        Environment(Recorder(), ["a"]).rollout(0)


def test_seeds_of_places_and_purposes_differ():
    roots = [first_place(seed) for seed in (0, 1, "0", "1")]
    places = [*roots, *(place_below(root, sibling) for root in roots for sibling in (0, 1, 12))]
    places += [place_below(place_below(root, 1), 2) for root in roots]
    seeds = {derived_seed(place, purpose) for place in places for purpose in ("goal", "tester", "target")}
    assert len(seeds) == len(places) * 3


# ---------------------------------------------------------------------- moderators, batched


def test_the_texts_of_all_siblings_are_scored_in_one_call():
    calls = []

    class Moderator:
        def score(self, texts):
            calls.append(texts)
            return [len(text) / 10 for text in texts]

    environment = Environment(lambda m: "12345", lambda s: "123", Moderator(), goals=["g"], width=2, depth=2)
    graph = environment.rollout(0)
    assert [len(call) for call in calls] == [4, 8]
    assert {(n.attack_score, n.response_score, n.reward, n.success) for n in graph.walk()} == {
        (0.3, 0.5, 0.5, True)
    }


@pytest.mark.parametrize(
    "scores", [[0.1], [0.1, float("nan")], [0.1, 0.2, 0.3], None, "ab", [True, False], 0.5], ids=repr
)
def test_a_moderator_that_does_not_score_each_text_breaks_the_rollout_off(scores):
    class Moderator:
        def moderate(self, texts):
            return scores

    with pytest.raises(RolloutError, match="one finite number for each of its 2 texts") as caught:
        Environment(lambda text: "no", ["a"], Moderator(), goals=["g"]).rollout(0)
    assert isinstance(caught.value.__cause__, InvalidRolloutError)
    assert [node.response for node in caught.value.graph.walk()] == ["no"]


def test_an_environment_is_its_own_problem_and_system():
    moderator = LeakModerator("open sesame")
    environment = Environment(Recorder(), ["a"], moderator, goals=["g"])
    assert environment.problem.moderator is moderator
    assert environment.system.scorer is moderator
    assert environment.scorer.score(["open sesame"]) == [1.0]
    assert "LeakModerator" in repr(environment)


class ScoreOnly:
    def score(self, texts):
        return [float("sesame" in text) for text in texts]


class AsyncOne:
    async def moderate(self, texts):
        await asyncio.sleep(0)
        return [float("sesame" in text) for text in texts]


async def of_one_text(text):
    return float("sesame" in text)


@pytest.mark.parametrize(
    "moderator",
    [
        LeakModerator("open sesame"),
        KeywordModerator({"sesame": 1.0}),
        BatchedModerator(LeakModerator("open sesame")),
        BatchedModerator(AsyncOne()),
        ScoreOnly(),
        AsyncOne(),
        of_one_text,
        lambda text: float("sesame" in text),
    ],
    ids=lambda moderator: type(moderator).__name__,
)
def test_code_that_is_not_async_gets_scores_at_once_from_every_moderator(moderator):
    class Toxicity(Evaluator):
        def compute_metrics(self, g):
            rows = []
            for node in g.walk():
                worst = self.env.problem.moderator.moderate([node.response])[0]
                assert worst == self.env.system.scorer.score([node.response])[0]
                rows.append({"toxicity": worst})
            return GraphMetrics(overall={"worst": max(row["toxicity"] for row in rows)}, per_turn=rows)

        def aggregate_metrics(self, all_metrics):
            return [metrics.overall["worst"] for metrics in all_metrics]

    environment = Environment(lambda text: text, ["Hello", "open sesame"], moderator, goals=["g"])
    assert environment.problem.moderator.moderate(["open sesame", "no"]) == [1.0, 0.0]
    assert Toxicity(environment, seeds=[0]).evaluate(progress=False) == [1.0]


# ---------------------------------------------------------------------- failures


class Fragile:
    blocking = False

    def reply(self, messages):
        if messages[-1].content == "b":
            raise ConnectionError("the line is dead")
        return "no"


def test_a_target_that_fails_makes_the_rollout_fail_with_the_turns_so_far():
    with pytest.raises(RolloutError, match=r"turn 2: the target failed.*the line is dead") as caught:
        Environment(Fragile(), ["a", "b", "c"], goals=["g"]).rollout(0)
    error = caught.value
    assert isinstance(error.__cause__, ConnectionError)
    assert [node.attack for node in error.graph.walk()] == ["a"]
    assert error.graph.stopped == "error: turn 2: the target failed: ConnectionError: the line is dead"


def test_what_there_is_may_be_kept_instead():
    graph = Environment(Fragile(), ["a", "b", "c"], goals=["g"], on_error="keep").rollout(0)
    assert [node.attack for node in graph.walk()] == ["a"]
    assert graph.stopped.startswith("error: turn 2: the target failed")
    assert graph.broke_off
    assert succeeded(graph) is None


def test_a_stop_reason_that_speaks_of_errors_is_no_failure():
    graph = Environment(
        lambda text: "no",
        ["a"] * 3,
        goals=["g"],
        stop=lambda so_far: "the target reported an error: E17",
        success=lambda response: False,
    ).rollout(0)
    assert graph.stopped == "the target reported an error: E17"
    assert (graph.broke_off, succeeded(graph)) == (False, False)


def test_a_tester_that_fails_uses_up_no_call():
    def tester(so_far):
        if so_far.turn == 1 and so_far.branch < 2:
            raise ValueError("nothing comes to mind")
        return "a"

    options = {"goals": ["g"], "width": 3, "depth": 2, "stop": Budget(calls=3), "on_error": "keep"}
    graph = Environment(Recorder(), tester, **options).rollout(0)
    assert sum(1 for _ in graph.walk()) == 3


class Leaving(BaseException):
    """What is no error of a target."""


def test_when_something_ends_the_rollout_no_branch_goes_on():
    ended = []

    async def target(text):
        if text == "0":
            raise Leaving
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(text)

    environment = Environment(target, lambda so_far: str(so_far.branch), goals=["g"], width=3)
    with pytest.raises(Leaving):
        environment.rollout(0)
    assert sorted(ended) == ["1", "2"]


def test_the_other_branches_of_a_tree_go_on_where_what_there_is_is_kept():
    tester = lambda so_far: "ab"[so_far.branch]
    graph = Environment(Fragile(), tester, goals=["g"], width=2, depth=2, on_error="keep").rollout(0)
    assert [node.attack for node in graph.walk()] == ["a", "a"]
    dead = "the target failed: ConnectionError: the line is dead"
    assert graph.stopped == f"error: turn 1: {dead}; error: turn 2: {dead}; 2 turns"


@pytest.mark.parametrize("on_error", ["raise", "keep"])
def test_a_rollout_without_a_single_turn_is_an_error(on_error):
    with pytest.raises(RolloutError, match="turn 1: the target failed"):
        Environment(Fragile(), ["b"], goals=["g"], on_error=on_error).rollout(0)
    with pytest.raises(RolloutError, match="before its first turn: the tester had nothing left to say"):
        Environment(Recorder(), lambda _: None, goals=["g"], on_error=on_error).rollout(0)


def test_a_tester_that_fails_is_named():
    with pytest.raises(RolloutError, match="turn 1: the tester failed: ZeroDivisionError"):
        Environment(Recorder(), lambda _: 1 / 0, goals=["g"]).rollout(0)


@pytest.mark.parametrize("reply", [None, 3, ["no"]], ids=repr)
def test_a_target_that_gives_no_text_fails(reply):
    with pytest.raises(RolloutError, match="a target answers with a text"):
        Environment(lambda text: reply, ["a"], goals=["g"]).rollout(0)


def test_a_reply_that_comes_too_late_is_an_error():
    async def never(text):
        await asyncio.Event().wait()

    with pytest.raises(RolloutError, match=r"never did not reply within 0.01 s") as caught:
        Environment(never, ["a"], goals=["g"], reply_timeout=0.01).rollout(0)
    assert isinstance(caught.value.__cause__, AgentTimeoutError)


def test_a_blocking_target_that_hangs_is_left_behind():
    hanging = threading.Event()
    with pytest.raises(RolloutError, match="did not reply"):
        Environment(lambda text: hanging.wait(20), ["a"], goals=["g"], reply_timeout=0.01).rollout(0)
    hanging.set()


def test_a_time_out_of_the_targets_own_is_told_as_its_own():
    def target(text):
        raise TimeoutError("the database was slow")

    with pytest.raises(RolloutError, match="the database was slow"):
        Environment(target, ["a"], goals=["g"], reply_timeout=10).rollout(0)


def test_a_rollout_that_is_cancelled_is_cancelled():
    asked = asyncio.Event()

    async def target(text):
        asked.set()
        await asyncio.Event().wait()

    async def main():
        environment = Environment(target, ["a"], goals=["g"], width=2)
        task = asyncio.create_task(environment.eval_rollout_async(0))
        await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


def test_rollouts_run_side_by_side_and_from_within_an_event_loop():
    environment = Environment(drawing_target, drawing_tester, goals=["a", "b"], depth=2)

    async def main():
        together = await asyncio.gather(*(environment.eval_rollout_async(seed) for seed in range(20)))
        return together, environment.rollout(3)

    together, alone = asyncio.run(main())
    assert facts(together[3]) == facts(alone)


@pytest.mark.parametrize(("blocking", "elsewhere"), [(None, True), (False, False), (True, True)], ids=str)
def test_a_sync_player_runs_in_a_thread_unless_it_says_that_it_does_not_block(blocking, elsewhere):
    threads = []

    class Player:
        def next_attack(self, so_far):
            threads.append(threading.get_ident())
            return "a"

        def moderate(self, texts):
            threads.append(threading.get_ident())
            return [0.0] * len(texts)

        def judge(self, response):
            threads.append(threading.get_ident())
            return False

    Player.blocking = blocking
    player = Player()
    Environment(Recorder(), player, player, goals=["g"], depth=1, success=player.judge).rollout(0)
    assert [thread != threading.get_ident() for thread in threads] == [elsewhere] * 3


def test_players_that_wait_hold_up_no_other_rollout():
    together = 4
    meeting = threading.Barrier(together, timeout=20)

    def wait_for_the_others():
        meeting.wait()  # on the event loop no other call would come
        return 0.0

    environment = Environment(
        Recorder(),
        lambda so_far: str(wait_for_the_others()),
        lambda text: wait_for_the_others(),
        goals=["g"],
        depth=1,
        success=lambda response: bool(wait_for_the_others()),
    )

    async def main():
        return await asyncio.gather(*(environment.eval_rollout_async(seed) for seed in range(together)))

    assert [graph.children[0].success for graph in asyncio.run(main())] == [False] * together


def test_a_rollout_tells_who_judged_it_within_which_limits_and_what_the_target_was_told():
    def told_it(response):
        return False

    options = {"goals": ["g"], "depth": 2, "width": 3, "stop": [OnSuccess(), Budget(calls=4, cost=9.5)]}
    tester = lambda so_far: Attack("a", cost=1)
    by_score = Environment(Recorder(), tester, LeakModerator("heron"), success=0.9, **options)
    by_rule = Environment(Recorder(), tester, success=told_it, system_prompt="Be kind.", **options)
    limits = {"depth": 2, "width": 3, "stop": "success or budget of 4 calls or budget of 9.5"}
    assert by_score.rollout(0).metadata == {
        "goal": "g",
        "limits": limits,
        "judge": {"moderator": "LeakModerator", "success": 0.9},
    }
    assert by_rule.rollout(0).metadata == {
        "goal": "g",
        "limits": limits,
        "judge": {"success": "told_it"},
        "system_prompt": "Be kind.",
    }
    plain = Environment(Recorder(), ["a"], goals=["g"]).rollout(0)
    assert plain.metadata == {"goal": "g", "limits": {"depth": 5, "width": 1}}


@pytest.mark.parametrize("stop", [OnSuccess(), [MaxTurns(2), OnSuccess()]], ids=["depth", "MaxTurns"])
def test_a_success_in_the_last_turn_is_why_a_rollout_ended(stop):
    environment = Environment(
        Recorder(), ["a", "b"], goals=["g"], depth=2, stop=stop, success=lambda attack: attack == "b"
    )
    graph = environment.rollout(0)
    assert (graph.depth, graph.stopped) == (2, "success")
    assert next(graph.leaves()).metadata["stopped"] == "success"


@pytest.mark.parametrize(
    "stop", [OnSuccess(), [MaxTurns(2), OnSuccess()], OnSuccess() & MaxTurns(1)], ids=range(3)
)
def test_to_stop_on_a_success_without_a_judge_is_refused(stop):
    with pytest.raises(InvalidOptionError, match="success is not judged"):
        Environment(Recorder(), ["a"], goals=["g"], stop=stop)
    Environment(Recorder(), ["a"], goals=["g"], stop=stop, success=lambda response: False)


@pytest.mark.parametrize(
    "options",
    [
        {"width": 0},
        {"depth": 0},
        {"depth": True},
        {"depth": 2.0},
        {"context_chars": 0},
        {"goals": []},
        {"goals": "one"},
        {"goals": [""]},
        {"goals": [3]},
        {"success": float("nan")},
        {"success": True},
        {"reward": 3},
        {"reward": lambda unknown: 1.0},
        {"system_prompt": 3},
        {"opening": None},
        {"reply_timeout": 0},
        {"on_error": "ignore"},
        {"stop": 3},
    ],
    ids=lambda options: next(f"{name}={type(value).__name__}" for name, value in options.items()),
)
def test_an_option_out_of_its_range_is_refused_when_the_environment_is_made(options):
    with pytest.raises(InvalidOptionError):
        Environment(Recorder(), ["a"], **{"goals": ["g"], **options})
