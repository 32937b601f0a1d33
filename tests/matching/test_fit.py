"""The best fit of calls to a trajectory is the best there is."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import ToolCall
from calipers.errors import InvalidOptionError
from calipers.matching import AnyOrder, CallOf, Either, InOrder, Optionally, Repeated, Step, Trajectory
from calipers.matching.call import compare_calls
from calipers.matching.fit import plans_of
from calipers.matching.trajectory import as_part

tools = st.sampled_from("ab")
arguments = st.dictionaries(st.sampled_from("xy"), st.integers(0, 1), max_size=2)
calls = st.builds(ToolCall, tools, arguments)
paths = st.lists(calls, max_size=5)
SHARED = [Step(CallOf("a")), Step(ToolCall("b", {"x": 1}))]
steps = tools | calls | st.sampled_from(SHARED)
parts = st.recursive(
    steps,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda inside: InOrder(*inside)),
        st.lists(inner, min_size=1, max_size=3).map(lambda inside: AnyOrder(*inside)),
        st.lists(inner, min_size=2, max_size=2).map(lambda inside: Either(*inside)),
        inner.map(Optionally),
    ),
    max_leaves=4,
)


def fits(plan, path):
    """Every way to give calls to steps that keeps the order: the position of each step's call, or None."""
    for chosen in product([None, *range(len(path))], repeat=len(plan.steps)):
        taken = [position for position in chosen if position is not None]
        if len(set(taken)) < len(taken):
            continue
        if all(
            chosen[i] < chosen[j] for i, j in plan.before if chosen[i] is not None and chosen[j] is not None
        ):
            yield chosen


def worth(plan, path, chosen, rules):
    """Full matches of required steps, then of optional ones, then the similarity."""
    required = optional = similarity = 0
    for step, must, position in zip(plan.steps, plan.required, chosen, strict=True):
        if position is None:
            continue
        comparison = compare_calls(step.call, path[position], rules)
        if not must and not comparison.matched:
            return None
        required += comparison.matched and must
        optional += comparison.matched and not must
        similarity += comparison.similarity
    return required, optional, round(similarity, 6)


@given(st.lists(parts, min_size=1, max_size=2), paths)
def test_no_other_way_of_giving_calls_to_steps_is_better(given_parts, path):
    trajectory = Trajectory(given_parts)
    if any(len(plan.steps) > 5 for plan in plans_of(InOrder(*trajectory.steps), len(path))):
        return
    match = trajectory.match(path)
    best_scores = []
    for plan in plans_of(InOrder(*trajectory.steps), len(path)):
        values = [worth(plan, path, chosen, trajectory.rules) for chosen in fits(plan, path)]
        required, _, _ = max(value for value in values if value is not None)
        best_scores.append((required, sum(plan.required)))
    # The plan that was taken has as many full matches as any way through it could have.
    mine = (
        sum(fitted.matched for fitted in match.steps if fitted.required),
        sum(fitted.required for fitted in match.steps),
    )
    assert mine in best_scores
    assert match.passed == any(done == asked for done, asked in best_scores)


@given(st.lists(calls, min_size=1, max_size=5), st.data())
def test_one_chain_has_as_much_in_common_as_the_best_alignment(path, data):
    chain = data.draw(st.lists(calls, min_size=1, max_size=4))
    trajectory = Trajectory(chain)
    (plan,) = plans_of(InOrder(*trajectory.steps), len(path))
    match = trajectory.match(path)
    mine = tuple(fitted.position for fitted in match.steps)
    best = max(
        value
        for chosen in fits(plan, path)
        if (value := worth(plan, path, chosen, trajectory.rules)) is not None
    )
    assert worth(plan, path, mine, trajectory.rules) == best


@given(paths)
def test_a_path_follows_itself_in_order_in_any_order_and_with_options(path):
    if not path:
        return
    for asked in (path, [AnyOrder(*path)], [Optionally(*path)], [Either("never", InOrder(*path))]):
        match = Trajectory(asked, extra="forbidden").match(path)
        assert match.passed, match.edit_script
        assert match.score == 1.0


@given(st.lists(parts, min_size=1, max_size=2), paths, st.sampled_from(["allowed", "forbidden"]))
def test_the_score_is_one_exactly_when_the_trajectory_was_followed(given_parts, path, extra):
    match = Trajectory(given_parts, extra=extra).match(path)
    assert 0 <= match.score <= 1
    followed = all(fitted.matched for fitted in match.steps if fitted.required)
    assert match.passed == (match.score == 1.0) == (followed and (extra == "allowed" or not match.extra))


@given(st.lists(parts, min_size=1, max_size=2), paths, st.data())
def test_a_call_that_nothing_asked_for_changes_nothing_where_extra_calls_are_allowed(given_parts, path, data):
    trajectory = Trajectory(given_parts)
    at = data.draw(st.integers(0, len(path)))
    more = [*path[:at], ToolCall("unrelated"), *path[at:]]
    assert trajectory.match(more).score == pytest.approx(trajectory.match(path).score)
    assert not Trajectory(given_parts, extra="forbidden").match(more).passed


@given(st.lists(calls, min_size=1, max_size=4), st.randoms())
def test_the_order_of_parts_and_calls_makes_no_difference_where_any_order_will_do(path, random):
    asked = list(path)
    random.shuffle(asked)
    assert Trajectory([AnyOrder(*asked)], extra="forbidden").match(path).passed


def test_order_is_kept_between_groups_and_not_within_them():
    trajectory = Trajectory([AnyOrder("a", "b"), "c"])
    names = [("a", "b", "c"), ("b", "a", "c"), ("a", "c", "b"), ("c", "a", "b"), ("x", "b", "y", "a", "c")]
    passed = [trajectory.match([ToolCall(name) for name in path]).passed for path in names]
    assert passed == [True, True, False, False, True]


def test_a_greedy_reader_would_miss_what_is_found_here():
    # The first call fits both steps; given to the first, the second is left without one.
    trajectory = Trajectory([AnyOrder("a", ToolCall("a", {"x": 1}))])
    assert trajectory.match([ToolCall("a", {"x": 1}), ToolCall("a", {"x": 2})]).passed
    # In order, the near miss must not take the place of the call that fits.
    chain = Trajectory([ToolCall("a", {"x": 1}), ToolCall("b")])
    match = chain.match([ToolCall("a", {"x": 2}), ToolCall("a", {"x": 1}), ToolCall("b")])
    assert match.passed
    assert [fitted.position for fitted in match.steps] == [1, 2]


@pytest.mark.parametrize(
    ("part", "count", "passed"),
    [
        (Repeated("a"), 0, False),
        (Repeated("a"), 1, True),
        (Repeated("a"), 5, True),
        (Repeated("a", 2), 1, False),
        (Repeated("a", 2, 3), 3, True),
        (Repeated("a", 2, 3), 4, False),
        (Repeated("a", 0), 0, True),
        (Repeated(["a", "a"], 1, 2), 4, True),
        (Repeated(["a", "a"], 1, 2), 3, False),
        (Optionally("a"), 0, True),
        (Optionally("a"), 1, True),
        (Optionally("a"), 2, False),
        (Optionally("a", "a"), 1, False),
        (Optionally("a", "a"), 2, True),
    ],
)
def test_repeated_and_optional_parts_count_their_calls(part, count, passed):
    match = Trajectory([part], extra="forbidden").match([ToolCall("a")] * count)
    assert match.passed is passed, match.edit_script


def test_a_thousand_repeats_and_a_long_chain_are_no_trouble():
    assert Trajectory([Repeated("a"), "b"]).match([ToolCall("a")] * 1000 + [ToolCall("b")]).passed
    chain = [ToolCall("a", {"x": i}) for i in range(150)]
    assert Trajectory(chain).match(chain).passed
    assert not Trajectory(chain).match(chain[::-1]).passed


def test_many_tools_in_any_order_are_solved_apart():
    names = [f"tool_{number}" for number in range(40)]
    assert Trajectory([AnyOrder(*names)]).match([ToolCall(name) for name in reversed(names)]).passed


def test_what_cannot_be_solved_exactly_is_refused_and_not_solved_roughly():
    many = [ToolCall("a", {"x": number}) for number in range(30)]
    ordered = [InOrder(call, "b") for call in many]
    with pytest.raises(InvalidOptionError, match="cannot be found exactly"):
        Trajectory([AnyOrder(*ordered)]).match([*many[::-1], *[ToolCall("b")] * 30])
    with pytest.raises(InvalidOptionError, match="more than 1000 alternatives"):
        Trajectory([Either("a", "b")] * 11).match([])


def test_parts_are_read_from_names_calls_and_lists():
    assert as_part(["a", ToolCall("b")]) == InOrder("a", ToolCall("b"))
    assert repr(as_part(["a"])).startswith("InOrder(Step(")
