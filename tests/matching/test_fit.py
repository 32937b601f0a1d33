"""The best fit of calls to a trajectory is the best there is."""

from itertools import product

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from calipers import ToolCall
from calipers.errors import InvalidOptionError
from calipers.matching import AnyOrder, CallOf, Either, InOrder, Optionally, Repeated, Step, Trajectory
from calipers.matching.call import compare_calls
from calipers.matching.chains import Score, as_unit
from calipers.matching.fit import Plan, _leaves_choices, plan_of
from calipers.matching.remainder import fit_remainders
from calipers.matching.trajectory import as_part, steps_in

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


# Every plan of a part, listed one by one without any thought: what the real thing is held against.


def side_by_side(plans, *, in_order):
    steps, required, before = [], [], []
    for plan in plans:
        start = len(steps)
        if in_order:
            before += [(i, start + j) for j in range(len(plan.steps)) for i in range(start)]
        before += [(start + i, start + j) for i, j in plan.before]
        steps += plan.steps
        required += plan.required
    return Plan(tuple(steps), tuple(required), tuple(before))


def every_plan(part, count):
    """A part that takes one call at most is an optional step where it need not be done: a near miss does nothing for it."""
    unit = as_unit(part)
    if unit is not None:
        return [Plan((step,), (unit.required,)) for step in unit.steps]
    if isinstance(part, Either):
        return [plan for each in part.parts for plan in every_plan(each, count)]
    if isinstance(part, Optionally):
        return [Plan(), *every_plan(InOrder(*part.parts), count)]
    if isinstance(part, Repeated):
        inside = every_plan(part.part, count)
        more = inside
        if as_unit(part.part) is not None:
            more = [Plan(plan.steps, (False,)) for plan in inside]
        most = max(part.at_least, count if part.at_most is None else min(part.at_most, count))
        return [
            side_by_side(chosen, in_order=True)
            for times in range(part.at_least, most + 1)
            for chosen in product(*[inside] * part.at_least, *[more] * (times - part.at_least))
        ]
    choices = [every_plan(each, count) for each in part.parts]
    return [side_by_side(chosen, in_order=not isinstance(part, AnyOrder)) for chosen in product(*choices)]


def score_of(plan, path, chosen, rules, extra):
    """The score of one way to give calls to the steps of a plan, and whether it follows the plan; `None`: not allowed."""
    earned, all_done = 0.0, True
    for step, must, position in zip(plan.steps, plan.required, chosen, strict=True):
        comparison = None if position is None else compare_calls(step.call, path[position], rules)
        if comparison is not None and not (comparison.similarity if must else comparison.matched):
            return None  # a call of another tool, or a near miss for a step that need not be done
        all_done = all_done and (not must or (comparison is not None and comparison.matched))
        earned += comparison.similarity if must and comparison is not None else 0.0
    left = len(path) - sum(position is not None for position in chosen) if extra == "forbidden" else 0
    asked = sum(plan.required) + left
    return (1.0 if not asked else earned / asked), all_done and not left


nested = st.recursive(
    tools | st.sampled_from(SHARED),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=2).map(lambda inside: InOrder(*inside)),
        st.lists(inner, min_size=2, max_size=2).map(lambda inside: AnyOrder(*inside)),
        st.lists(inner, min_size=2, max_size=2).map(lambda inside: Either(*inside)),
        st.lists(inner, min_size=1, max_size=2).map(lambda inside: Optionally(*inside)),
        st.builds(
            lambda part, least, more: Repeated(part, least, None if more is None else max(1, least + more)),
            inner,
            st.integers(0, 2),
            st.none() | st.integers(0, 2),
        ),
    ),
    max_leaves=4,
)


@settings(max_examples=300)
@given(nested, st.lists(calls, max_size=4), st.sampled_from(["allowed", "forbidden"]))
@example(Repeated(Optionally("a")), [], "allowed")
@example(Repeated(Optionally("a"), 2), [ToolCall("a")], "forbidden")
@example(Optionally("a", Repeated("b")), [ToolCall("b")], "forbidden")
@example(Repeated(Either("a", ["b", "b"])), [ToolCall("b"), ToolCall("a"), ToolCall("b")], "forbidden")
def test_a_trajectory_is_followed_exactly_if_one_of_all_its_plans_is(part, path, extra):
    plans = every_plan(InOrder(part), len(path))
    if sum((len(path) + 1) ** len(plan.steps) for plan in plans) > 20_000:
        return
    trajectory = Trajectory([part], extra=extra)
    match = trajectory.match(path)
    scores = [
        score
        for plan in set(plans)
        for chosen in fits(plan, path)
        if (score := score_of(plan, path, chosen, trajectory.rules, extra)) is not None
    ]
    assert match.passed is any(done for _, done in scores)
    best = 1.0 if match.passed else max(score for score, _ in scores)
    assert match.score <= best + 1e-9
    if _leaves_choices(InOrder(part)):
        assert match.score == pytest.approx(best)


several = st.lists(nested, min_size=2, max_size=3).map(lambda inside: AnyOrder(*inside))


@settings(max_examples=100)
@given(several, st.booleans(), st.lists(calls, max_size=4), st.sampled_from(["allowed", "forbidden"]))
@example(
    AnyOrder(Either(["a", "b"], ["b", "a"]), Either(["a", "b"], "b")),
    False,
    [ToolCall(x) for x in "abba"],
    "forbidden",
)
@example(AnyOrder(Optionally("a", "b"), Optionally("b", "a")), True, [ToolCall(x) for x in "ba"], "allowed")
@example(
    AnyOrder(Repeated(["a", "b"]), Either("a", ["b", "b"])), True, [ToolCall(x) for x in "abab"], "forbidden"
)
def test_parts_in_any_order_that_leave_choices_get_the_best_score_of_all_their_plans(
    part, alone, path, extra
):
    whole = InOrder(part) if alone else InOrder("a", part, "b")
    plans = set(every_plan(whole, len(path)))
    if not _leaves_choices(whole) or sum((len(path) + 1) ** len(plan.steps) for plan in plans) > 20_000:
        return
    trajectory = Trajectory([whole], extra=extra)
    scores = [
        score
        for plan in plans
        for chosen in fits(plan, path)
        if (score := score_of(plan, path, chosen, trajectory.rules, extra)) is not None
    ]
    match = trajectory.match(path)
    assert match.passed is any(done for _, done in scores)
    assert match.score == pytest.approx(1.0 if match.passed else max(score for score, _ in scores))


def test_many_choices_in_any_order_are_solved_without_listing_them():
    for count in (12, 40):
        choices = [Either([f"a{i}", f"b{i}"], [f"c{i}", f"d{i}"]) for i in range(count)]
        path = [f"a{i}" for i in range(count)] + [f"b{i}" for i in range(count)]
        for parts, before, after in (
            ([AnyOrder(*choices)], [], []),
            (["s", AnyOrder(*choices), "e"], ["s"], ["e"]),
        ):
            trajectory = Trajectory(parts, extra="forbidden")
            assert trajectory.match([ToolCall(name) for name in (*before, *path, *after)]).passed
            short = trajectory.match([ToolCall(name) for name in (*before, *path[:-1], *after)])
            asked = 2 * count + len(before) + len(after)
            assert short.score == pytest.approx((asked - 1) / asked)
            assert [step.call.name for step in short.missing] == [f"b{count - 1}"]
    alike = Trajectory([AnyOrder(*[Optionally("a", "b") for _ in range(40)])], extra="forbidden")
    assert alike.match([ToolCall("a")] * 40 + [ToolCall("b")] * 40).passed
    shared = [Either(["search", f"open{i}"], f"skip{i}") for i in range(20)]
    path = [name for i in range(20) for name in ("search", f"open{i}")]
    assert Trajectory([AnyOrder(*shared)], extra="forbidden").match([ToolCall(name) for name in path]).passed


def paths_of(part, most):
    """Every path of at most so many calls that a part allows, by the names of the tools."""
    if isinstance(part, Step):
        return {part.call.name}
    if isinstance(part, Either):
        return set().union(*(paths_of(each, most) for each in part.parts))
    if isinstance(part, Repeated):
        once = paths_of(part.part, most)
        found, now = set(), {""}
        for times in range(part.at_least + most + 1 if part.at_most is None else part.at_most + 1):
            found |= now if times >= part.at_least else set()
            now = {path + more for path in now for more in once if len(path + more) <= most}
        return found
    found = {""}
    for each in part.parts:
        inside = paths_of(each, most)
        found = {path + more for path in found for more in inside if len(path + more) <= most}
    return found | {""} if isinstance(part, Optionally) else found


def around(inner):
    """Every group of one or two of these parts."""
    for one in inner:
        yield from (Optionally(one), Repeated(one), Repeated(one, 0), Repeated(one, 2), Repeated(one, 0, 2))
        for other in inner:
            yield from (group(one, other) for group in (InOrder, Optionally, Either))


def test_every_small_nest_of_groups_allows_exactly_the_paths_that_it_stands_for():
    choices = (Either("a", "b"), Optionally("a", "b"), InOrder("a", Optionally("b")))
    small = [
        "a",
        "b",
        *choices,
        *(Repeated("a", least, most) for least, most in ((1, None), (0, None), (2, 3))),
    ]
    every_path = ["".join(names) for count in range(4) for names in product("ab", repeat=count)]
    asked = {path: [ToolCall(name) for name in path] for path in every_path}
    for part in around(small):
        trajectory = Trajectory([part], extra="forbidden")
        allowed = paths_of(part, 3)
        passed = {path for path in every_path if trajectory.match(asked[path]).passed}
        assert passed == allowed, part


@given(st.lists(calls, min_size=1, max_size=5), st.data())
def test_one_chain_has_as_much_in_common_as_the_best_alignment(path, data):
    chain = data.draw(st.lists(calls, min_size=1, max_size=4))
    trajectory = Trajectory(chain)
    plan = plan_of(InOrder(*trajectory.steps), len(path))
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
    choices = InOrder(AnyOrder(*[Either([call, "b"], "z") for call in many[:10]]))
    similar = [{id(step): 0.5 + 0.05 * (number % 5) for number, step in enumerate(steps_in(choices))}] * 8
    with pytest.raises(
        InvalidOptionError, match=r"more than 5,000 ways after \d+ calls.*cannot be found exactly"
    ):
        fit_remainders(choices, similar, beside=Score(0, 0), extra_costs=True)


def test_choices_are_not_listed_one_by_one():
    research = Trajectory([Repeated(Either("search", "open")), "answer"], extra="forbidden")
    for count in (9, 60):
        path = [ToolCall(("search", "open")[number % 2]) for number in range(count)]
        assert research.match([*path, ToolCall("answer")]).passed
        assert not research.match(path).passed
    assert Trajectory([Either("a", "b")] * 30).match([ToolCall("b")] * 30).passed
    rounds = Trajectory([Repeated(Either(["search", "open"], "poll")), AnyOrder("thank")], extra="forbidden")
    path = [ToolCall(name) for name in ("search", "open", "poll") * 30]
    assert rounds.match([*path, ToolCall("thank")]).passed
    short = rounds.match([*path[:-2], ToolCall("thank")])
    assert short.score == pytest.approx(89 / 90)
    assert [step.call.name for step in short.missing] == ["open"]
    # A choice between single steps is no choice of plans, where others may come in any order.
    mixed = Trajectory([AnyOrder(Repeated(Either("search", "open")), "log"), "answer"], extra="forbidden")
    assert mixed.match([*map(ToolCall, ("open", "search", "log", "open")), ToolCall("answer")]).passed


def test_parts_are_read_from_names_calls_and_lists():
    assert as_part(["a", ToolCall("b")]) == InOrder("a", ToolCall("b"))
    assert repr(as_part(["a"])).startswith("InOrder(Step(")
