"""Two traces, aligned step by step."""

from hypothesis import given
from hypothesis import strategies as st

from calipers.comparison.trace_difference import TraceBudget, compare_traces
from calipers.data.trace import LLMCall, ToolCall, Trace, Turn

values = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["a", "b"])
arguments = st.dictionaries(st.sampled_from(["x", "y"]), values | st.lists(values, max_size=2), max_size=2)
calls = st.builds(
    ToolCall,
    st.sampled_from(["search", "buy"]),
    arguments,
    output=values,
    error=st.none() | st.just("down"),
    unknown=st.sets(st.sampled_from(["arguments", "output", "success"])),
)
requests = st.builds(
    LLMCall, model=st.sampled_from(["m", "n"]), output_text=st.sampled_from(["", "yes", "no"])
)
messages = st.builds(Turn, turn_type=st.just("user_message"), content=st.sampled_from(["hi", "bye"]))
turns = st.builds(Turn, tool_call=calls) | st.builds(Turn, llm_call=requests) | messages
traces = st.builds(Trace, turns=st.lists(turns, max_size=7), records_calls=st.sampled_from([True, None]))

MIRRORED = {"missing": "unexpected", "unexpected": "missing", "different": "different"}


def trace(*steps, **fields):
    return Trace(turns=[Turn(tool_call=step) for step in steps], records_calls=True, **fields)


@given(traces)
def test_a_trace_does_not_differ_from_itself(one):
    found = compare_traces(one, one)
    assert found.same
    assert [(step.baseline, step.candidate) for step in found.pairs] == [
        (step.baseline, step.baseline) for step in found.steps
    ]


@given(traces, traces)
def test_the_difference_the_other_way_round_is_mirrored(one, two):
    def told(found, baseline, candidate):
        return sorted(
            repr(
                (
                    getattr(step, baseline),
                    getattr(step, candidate),
                    sorted(
                        (each.path, MIRRORED[each.kind] if baseline == "candidate" else each.kind)
                        for each in step.changes
                    ),
                )
            )
            for step in found.steps
        )

    there, back = compare_traces(one, two), compare_traces(two, one)
    assert told(there, "baseline", "candidate") == told(back, "candidate", "baseline")
    assert (there.first, there.left_out) == (back.first, back.left_out)
    assert (there.baseline, there.candidate) == (back.candidate, back.baseline)


@given(traces, traces)
def test_every_step_stands_in_its_order_or_is_counted_as_left_out(one, two):
    found = compare_traces(one, two)
    for side in ("baseline", "candidate"):
        places = [place for step in found.steps if (place := getattr(step, side)) is not None]
        assert places == sorted(set(places))
    shown = 2 * len(found.pairs) + len(found.baseline_only) + len(found.candidate_only)
    assert shown + found.left_out == len(one.turns) + len(two.turns)


def test_the_first_step_that_differs_is_named_with_its_value():
    same = ToolCall("find", {"city": "Rome"})
    found = compare_traces(trace(same, ToolCall("buy", {"n": 1})), trace(same, ToolCall("buy", {"n": 2})))
    assert found.first == 1
    (value,) = found.steps[1].changes
    assert (value.path, value.kind, value.baseline, value.candidate) == ("arguments.n", "different", 1, 2)
    assert [step.name for step in found.shortened().steps] == ["buy"]


def test_steps_of_which_nothing_is_known_to_differ_are_the_same_from_the_start():
    unknown, known = ToolCall("search", {"q": "a"}), ToolCall("search", {"q": "a"}, output="found")
    found = compare_traces(trace(unknown, known), trace(known))
    assert found.first == 1
    assert found.stops == "candidate"


def test_a_call_of_another_tool_is_in_one_trace_only():
    found = compare_traces(trace(ToolCall("find")), trace(ToolCall("buy")))
    assert [step.name for step in found.baseline_only] == ["find"]
    assert [step.name for step in found.candidate_only] == ["buy"]


def test_unknown_arguments_do_not_differ():
    assert compare_traces(
        trace(ToolCall("buy", unknown=["arguments"])), trace(ToolCall("buy", {"n": 2}))
    ).same


def test_calls_that_the_other_trace_would_not_tell_are_left_out():
    found = compare_traces(Trace(), trace(ToolCall("buy")))
    assert found.same
    assert found.left_out == 1


def test_what_was_not_measured_has_no_total():
    found = compare_traces(trace(), trace(total_input_tokens=5))
    assert found.baseline.input_tokens is None
    assert found.candidate.input_tokens == 5


@given(traces, traces)
def test_a_difference_that_is_cut_short_parts_where_the_whole_one_does(one, two):
    whole, cut = compare_traces(one, two), compare_traces(one, two, budget=TraceBudget(each=10**9))
    assert cut.first == whole.first
    assert cut.same == whole.same
    assert (cut.baseline, cut.left_out) == (whole.baseline, whole.left_out)
    if not cut.cut:
        assert cut == whole
        return
    assert cut.steps[: cut.first] == whole.steps[: whole.first]
    before, after = cut.steps[cut.first :]
    assert (before.candidate, after.baseline) == (None, None)


def test_what_is_the_same_at_both_ends_takes_nothing_from_a_budget():
    steps = [ToolCall("find", {"n": n}) for n in range(3_000)]
    other = [*steps[:1_500], ToolCall("buy"), *steps[1_500:]]
    budget = TraceBudget()
    assert not compare_traces(trace(*steps), trace(*other), budget=budget).cut
    assert budget.take(200_000)
    assert not budget.take(1)


def test_many_large_steps_are_aligned_by_whether_they_are_the_same():
    def step(number, **more):
        return ToolCall("find", {"rows": [[number, *range(300)]]} | more)

    steps = [step(number) for number in range(90)]
    found = compare_traces(trace(*steps), trace(step(-1), *steps[:-1], step(89, limit=5)))
    assert [(one.baseline, one.candidate) for one in found.pairs] == [(n, n + 1) for n in range(90)]
    assert [one.candidate for one in found.candidate_only] == [0]
    (changed,) = found.pairs[-1].changes
    assert (changed.path, changed.kind) == ("arguments.limit", "unexpected")
