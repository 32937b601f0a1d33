"""One case in two runs: what `calipers compare --case` says, whatever the case is called and however long its traces are."""

import msgspec
import pytest

from calipers import Case, Dataset, EvaluationReason
from calipers.agents import ToolCall, Trace
from calipers.cli.actions.compare import compare
from calipers.data.trace import Turn
from calipers.evaluators import Contains
from calipers.stores import SqliteStore
from calipers.viewer.aligned_traces import MOST_STEPS, aligned_traces_answer
from calipers.viewer.case_id import case_id
from calipers.viewer.compare_answer import compare_answer
from calipers.viewer.compared_case import compared_case_answer
from calipers.viewer.comparisons import Comparisons
from calipers.viewer.deadline import Deadline, working_until
from calipers.viewer.refusal import Refusal
from calipers.viewer.viewed_store import ViewedStore

from .test_compare_answer import correct, put, settled, size


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs.db"


@pytest.fixture
def open_view(path):
    opened = []

    def made():
        opened.append(ViewedStore(path))
        return opened[-1]

    yield made
    for each in opened:
        each.close()


def look(viewed, name, *, a="old", b="new", **more):
    """The case of a name, once the comparison is there."""
    settled(viewed, a=a, b=b, **{key: more[key] for key in ("c", "of", "pair_by") if key in more})
    return compared_case_answer(viewed, case_id(name), a=a, b=b, **more)


@pytest.fixture
def viewed(path, open_view):
    with SqliteStore(path) as store:
        put(store, name="old", wrong=(0, 1, 2))
        put(store, name="new", wrong=(2, 3), seed=4)
        put(store, name="third", wrong=(5,))
    return open_view()


# ---------------------------------------------------------------------- what became of it


def test_it_says_who_changed_its_mind_and_why(viewed):
    found = look(viewed, "case 3")
    assert (found.name, found.outcome, found.counts, found.reading) == ("case 3", "broken", "1/1 → 0/1", None)
    assert (found.flip.way, found.flip.evaluators) == ("broken", ["correct"])
    assert [(each.name, each.differs) for each in found.rows] == [("correct", True), ("size", True)]
    correct_said, size_said = found.rows
    assert [(each.mark, each.reason) for each in correct_said.sides] == [
        ("pass", "said 3"),
        ("fail", "said 99"),
    ]
    assert [each.text for each in size_said.sides] == ["0.03", "0.99"]
    assert [(each.gave.text, each.failed, each.number) for each in found.sides] == [
        ("3", False, 1),
        ("99", False, 1),
    ]
    assert [msgspec.json.decode(each.text) for each in found.inputs] == [{"n": 3}]
    assert [(each.id, each.marks) for each in found.cases] == [
        (case_id("case 3"), "p"),
        (case_id("case 3"), "f"),
    ]


@pytest.mark.parametrize(
    ("name", "outcome"),
    [("case 3", "broken"), ("case 0", "fixed"), ("case 2", "failed"), ("case 7", "passed")],
)
def test_its_outcome_is_that_of_the_comparison(viewed, name, outcome):
    flips = {flip.name: flip.way for flip in settled(viewed).flips}
    found = look(viewed, name)
    assert found.outcome == outcome
    assert flips.get(name) == (found.flip.way if found.flip else None)


def test_its_sentences_are_those_of_the_command_line(path, open_view, capsys, monkeypatch):
    def task(flight):
        def book(inputs):
            steps = [ToolCall("search", {"city": "Rome"}), ToolCall("book", {"flight": flight}, output={"seat": [1, flight]})]  # fmt: skip
            return Trace(turns=[Turn(tool_call=step) for step in steps], output_text=f"booked {flight}")

        return book

    def booked(output):
        return EvaluationReason("AZ611" in output, f"it says {output!r}")

    with SqliteStore(path) as store:
        for name, flight in (("old", "AZ611"), ("new", "LH220")):
            Dataset(name="d", cases=[Case(name="c", inputs=1)], evaluators=[booked]).evaluate_sync(
                task(flight), name=name, store=store, progress=False
            )
    viewed = open_view()
    found = look(viewed, "c")
    traces = aligned_traces_answer(
        viewed, a="old", b="new", at_a=found.sides[0].position, at_b=found.sides[1].position
    )
    monkeypatch.setenv("COLUMNS", "200")
    compare(runs=["old", "new"], store=str(path), case="c")
    said = capsys.readouterr().out
    for line in traces.lines:
        assert f"trace: {line}" in said
    for row in found.rows:
        for side in row.sides:
            assert side.reason in said
    for side in found.sides:
        assert side.gave.text in said
    for step in traces.steps:
        for number, shown in zip(step.numbers, step.shown, strict=True):
            assert f"{number} {shown}" in said
        for value in step.values:
            assert value.path in said
    assert traces.first == 1
    assert [value.path for value in traces.steps[1].values] == ["arguments.flight", "output.seat[1]"]
    assert [each.text for each in traces.steps[1].values[0].sides] == ["AZ611", "LH220"]
    assert [each.facts for each in [traces]] == [[["2 steps", "2 tool calls"]] * 2]


def test_flips_are_neighbours_as_far_as_they_meet_the_filter(viewed):
    names = [flip.name for flip in settled(viewed).flips]
    assert names == ["case 3", "case 0", "case 1"]
    middle = look(viewed, "case 0")
    assert (middle.previous, middle.next, middle.at, middle.flips) == (
        case_id("case 3"),
        case_id("case 1"),
        1,
        3,
    )
    first = look(viewed, "case 0", q="flip:better")
    assert (first.previous, first.next, first.at, first.flips) == (None, case_id("case 1"), 0, 2)
    outside = look(viewed, "case 3", q="flip:better")
    assert (outside.previous, outside.at, outside.flips, outside.outcome) == (None, None, 2, "broken")


# ---------------------------------------------------------------------- attempts, and several runs


def test_attempts_are_paired_by_their_number_and_the_typical_ones_are_shown(path, open_view):
    turn = iter([5, 99, 5, 99, 99, 5])

    with SqliteStore(path) as store:
        for name in ("old", "new"):
            Dataset(name="d", cases=[Case(name="c", inputs={"n": 5})], evaluators=[correct]).evaluate_sync(
                lambda inputs: next(turn), name=name, store=store, repeat=3, max_concurrency=1, progress=False
            )
    viewed = open_view()
    found = look(viewed, "c")
    assert [each.marks for each in found.cases] == ["pfp", "ffp"]
    assert [[each.gave for each in side.attempts] for side in found.cases] == [
        ["5", "99", "5"],
        ["99", "99", "5"],
    ]
    assert (found.outcome, found.counts, found.flip.basis) == ("moved", "2/3 → 1/3", "attempts")
    assert [side.number for side in found.sides] == [1, 1]
    chosen = look(viewed, "c", ra=2, rb=3)
    assert [(side.number, side.gave.text) for side in chosen.sides] == [(2, "99"), (3, "5")]
    assert chosen.outcome == "moved"
    with pytest.raises(Refusal, match="attempted 3 times in run 'new': there is no attempt 4"):
        look(viewed, "c", rb=4)


def test_the_case_is_shown_in_every_run_and_compared_with_one(viewed):
    found = look(viewed, "case 5", c="third", of=2)
    assert [each.label for each in found.runs] == ["A", "B", "C"]
    assert [each.marks for each in found.cases] == ["p", "p", "f"]
    assert found.outcome == "broken"
    assert [side.gave.text for side in found.sides] == ["5", "99"]


# ---------------------------------------------------------------------- which case it is


def test_a_renamed_case_is_found_in_both_runs(path, open_view):
    with SqliteStore(path) as store:
        put(store, name="old", wrong=(3,))
        cases = [Case(name=f"renamed {n}", inputs={"n": n}) for n in range(12)]
        Dataset(name="sums", cases=cases, evaluators=[correct, size]).evaluate_sync(
            lambda inputs: inputs["n"], name="new", store=store, progress=False
        )
    viewed = open_view()
    for name in ("renamed 3", "case 3"):
        found = look(viewed, name)
        assert [each.name for each in found.cases] == ["case 3", "renamed 3"]
        assert (found.name, found.outcome, found.at) == ("renamed 3", "fixed", 0)
        assert [side.gave.text for side in found.sides] == ["99", "3"]


def test_two_cases_of_one_name_are_not_one_case_unless_names_are_vouched_for(path, open_view):
    with SqliteStore(path) as store:
        put(store, name="old")
        other = [Case(name=f"case {n}", inputs={"n": n + (n == 3)}, tags=("even",) if n % 2 == 0 else ("odd",)) for n in range(12)]  # fmt: skip
        Dataset(name="sums", cases=other, evaluators=[correct, size]).evaluate_sync(
            lambda inputs: inputs["n"], name="new", store=store, progress=False
        )
    viewed = open_view()
    found = look(viewed, "case 3")
    assert (found.outcome, found.differing, found.flip) == ("other", ["inputs"], None)
    assert [each.changed for each in found.cases] == [False, True]
    assert [msgspec.json.decode(each.text) for each in found.inputs] == [{"n": 3}, {"n": 4}]
    same = look(viewed, "case 3", pair_by="name")
    assert (same.outcome, same.differing, len(same.inputs)) == ("passed", [], 1)


def test_a_case_that_one_run_lacks_has_one_side(path, open_view):
    with SqliteStore(path) as store:
        put(store, name="old", cases=range(10))
        put(store, name="new", cases=range(5, 13))
    viewed = open_view()
    gone, fresh = look(viewed, "case 2"), look(viewed, "case 12")
    assert (gone.outcome, gone.counts, gone.sides[1], gone.cases[1].id) == ("baseline", "", None, "")
    assert (fresh.outcome, fresh.sides[0], fresh.cases[0].marks) == ("candidate", None, "")
    assert [each and each.text for each in fresh.rows[0].sides] == [None, "passed"]
    with pytest.raises(Refusal, match=r"neither 'old' .* has a case of the id"):
        look(viewed, "case 77")


def test_a_task_that_failed_says_why(path, open_view):
    def task(inputs):
        raise ValueError("no <answer>")

    case = Case(name="c", inputs={"n": 1})
    with SqliteStore(path) as store:
        for name, each in (("old", lambda inputs: inputs["n"]), ("new", task)):
            Dataset(name="d", cases=[case], evaluators=[correct]).evaluate_sync(
                each, name=name, store=store, progress=False
            )
    found = look(open_view(), "c")
    assert (found.outcome, found.counts) == ("broken", "1/1 → 0/1")
    assert [(side.failed, side.gave.text) for side in found.sides] == [
        (False, "1"),
        (True, "ValueError: no <answer>"),
    ]
    assert "no <answer>" in found.sides[1].traceback
    assert found.rows[0].sides[1] is None


def test_an_evaluator_that_is_another_one_is_told(path, open_view):
    with SqliteStore(path) as store:
        for name, wanted in (("old", "o"), ("new", "x")):
            Dataset(name="d", cases=[Case(name="c", inputs=1)], evaluators=[Contains(wanted)]).evaluate_sync(
                lambda inputs: "one", name=name, store=store, progress=False
            )
    (row,) = look(open_view(), "c").rows
    assert row.makers == ["Contains(value='o')", "Contains(value='x')"]


# ---------------------------------------------------------------------- long runs and long traces


def test_a_case_does_not_wait_for_the_comparison_of_long_runs(viewed):
    kept = viewed.kept(Comparisons)
    kept.apart = 0
    with working_until(Deadline(1.0)):
        found = compared_case_answer(viewed, case_id("case 3"), a="old", b="new")
    assert found.outcome == "broken"
    if found.reading is not None:  # as a rule: a process of its own takes longer to start
        assert (found.at, found.flip.noise, found.timed_out) == (None, None, True)
    kept.most = 10
    found = compared_case_answer(viewed, case_id("case 3"), a="old", b="new")
    assert "up to 10 are compared here" in found.reading.failed
    assert [side.gave.text for side in found.sides] == ["3", "99"]


def agent(*steps):
    def task(inputs):
        return Trace(turns=[Turn(tool_call=step) for step in steps], output_text="done")

    return task


def keep_traces(path, one, two):
    with SqliteStore(path) as store:
        for name, steps in (("old", one), ("new", two)):
            task = agent(*steps) if steps is not None else lambda inputs: "done"
            Dataset(name="d", cases=[Case(name="c", inputs=1)]).evaluate_sync(
                task, name=name, store=store, progress=False
            )


def aligned(viewed):
    return aligned_traces_answer(viewed, a="old", b="new", at_a=0, at_b=0)


def test_of_long_traces_the_steps_around_the_parting_are_sent(path, open_view):
    same = [ToolCall("find", {"n": n}) for n in range(4_000)]
    keep_traces(path, [*same, ToolCall("pay", {"n": 1})], [*same, ToolCall("pay", {"n": 2})])
    found = aligned(open_view())
    assert (found.first, found.total, found.begin, len(found.steps)) == (4_000, 4_001, 3_900, 101)
    assert [step.same for step in found.steps] == [True] * 100 + [False]
    assert found.steps[0].numbers == [3_901, 3_901]
    assert found.lines == ["parts at step 4001: pay(n=1) became pay(n=2)"]


def test_traces_that_are_too_many_to_align_part_and_say_so(path, open_view):
    keep_traces(path, *([ToolCall(name, {"n": n}) for n in range(1_001)] for name in ("book", "cancel")))
    found = aligned(open_view())
    assert (found.cut, found.first, found.total) == (True, 0, 2)
    assert "not aligned from there on: 1,001 and 1,001 steps are too many" in found.lines


def test_traces_that_are_too_long_to_be_read_are_refused_in_words(path, open_view):
    keep_traces(path, [ToolCall("a")] * MOST_STEPS, [ToolCall("a")])
    found = aligned(open_view())
    assert (found.steps, found.first) == ([], None)
    assert found.lines == [
        "not compared here: 40,000 and 1 step are too many while a page waits; `calipers compare --case` takes the time it needs"
    ]


@pytest.mark.parametrize(
    ("one", "two", "line"),
    [
        ([ToolCall("a")], None, "not compared: this attempt of new left none"),
        (None, None, "not compared: neither attempt left a trace"),
        ([ToolCall("a")], [ToolCall("a")], "does not part: 1 step the same"),
    ],
)
def test_what_is_not_compared_says_why(path, open_view, one, two, line):
    keep_traces(path, one, two)
    assert aligned(open_view()).lines == [line]


def test_long_values_are_cut_and_can_be_had_as_a_whole(path, open_view):
    keep_traces(
        path, [ToolCall("a", output="x" * 5_000)], [ToolCall("a", output={"rows": ["y" * 5_000] * 3})]
    )
    found = aligned(open_view())
    (value,) = found.steps[0].values
    assert [len(side.text) <= 2_000 < side.length for side in value.sides] == [True, True]
    assert value.sides[0].href.endswith("/attempts/0/blob/step-0-output")


def test_what_the_page_of_a_comparison_links_to_is_there(viewed):
    for flip in compare_answer(viewed, a="old", b="new").flips:
        assert look(viewed, flip.name).id == flip.case
