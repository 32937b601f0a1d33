"""Records in and out of what a store keeps."""

import math
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from calipers import Case
from calipers.data.attempt import Attempt
from calipers.data.jsonable import are_plain, plain
from calipers.data.record import Failure, ReportCase, ReportCaseFailure
from calipers.data.result import (
    EvaluationResult,
    EvaluatorFailure,
    EvaluatorSpec,
    EvalVerdict,
    SkippedEvaluation,
)
from calipers.data.trace import ToolCall, Trace, Turn, TurnType
from calipers.errors import StoreError
from calipers.report.report import Report
from calipers.run.work import Work
from calipers.scoring.evaluator_plan import Plan
from calipers.stores import (
    EvaluatorSlots,
    GitState,
    MemoryStore,
    RunInfo,
    StoredEvaluator,
    facts_of,
    pack,
    unpack,
)
from calipers.stores.packing import pack_plain

TEXT = st.text(max_size=6)
NAMES = st.text(st.characters(exclude_characters="\0"), min_size=1, max_size=6)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
ODD = st.sampled_from(
    [float("nan"), b"bytes", {1, 2}, datetime(2026, 1, 1, tzinfo=UTC), 2**3000, object, "\ud800"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT | ODD,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT | st.integers(), inner, max_size=2),
    max_leaves=4,
)
GIT = GitState(commit="c", dirty=False)  # which spares asking git a hundred times
FAILURES = st.builds(Failure, error_type=TEXT, error_message=TEXT, error_stacktrace=TEXT)


@st.composite
def evaluators_of(draw):
    names = draw(st.lists(NAMES.map(plain), max_size=3, unique=True))
    return [
        StoredEvaluator(
            name=name,
            spec=EvaluatorSpec(draw(TEXT.map(plain)), plain(draw(st.dictionaries(TEXT, VALUES, max_size=1)))),
            version=draw(st.none() | TEXT.map(plain)),
            shared=draw(st.booleans()),
        )
        for name in names
    ]


@st.composite
def results_of(draw, evaluator):
    """What one evaluator said: a bare value, several rich ones, a failure, a skip, some of these, or nothing."""
    own = {"evaluator": evaluator.name, "source": evaluator.spec, "evaluator_version": evaluator.version}
    values = st.booleans() | NUMBERS | TEXT
    if draw(st.booleans()):
        return [EvaluationResult(name=evaluator.name, value=draw(values), **own)], [], []
    results = draw(
        st.lists(
            st.builds(
                EvaluationResult,
                name=NAMES | st.just(evaluator.name),
                value=values,
                reason=st.none() | TEXT,
                evaluator=st.just(evaluator.name),
                source=st.just(evaluator.spec) | st.builds(EvaluatorSpec, TEXT),
                evaluator_version=st.just(evaluator.version) | st.none() | st.just("other"),
                verdict=st.none() | st.sampled_from(EvalVerdict),
                score=st.none() | st.floats(0, 1),
                metadata=st.none() | st.dictionaries(TEXT, VALUES, max_size=1),
            ),
            max_size=2,
        )
    )
    failures = st.builds(
        EvaluatorFailure,
        name=st.just(evaluator.name),
        error_type=TEXT,
        error_message=TEXT,
        source=st.builds(EvaluatorSpec, TEXT, st.dictionaries(TEXT, VALUES, max_size=1)),
    )
    skips = st.builds(SkippedEvaluation, st.just(evaluator.name), TEXT) | st.builds(
        SkippedEvaluation, NAMES, TEXT, st.just(evaluator.name)
    )
    return results, draw(st.lists(failures, max_size=1)), draw(st.lists(skips, max_size=2))


def traces():
    calls = st.builds(ToolCall, NAMES, st.dictionaries(TEXT, VALUES, max_size=1), output=VALUES)
    turns = st.builds(lambda call: Turn(turn_type=TurnType.TOOL_CALL, tool_call=call), calls) | st.builds(
        lambda text: Turn(turn_type=TurnType.USER_MESSAGE, content=text), TEXT
    )
    return st.none() | st.builds(
        lambda turns, text: Trace(turns=turns, input_text=text),
        st.lists(turns, max_size=2),
        TEXT,
    )


@st.composite
def records(draw):
    """A record, its evaluators in the order they ran, and all evaluators of its run."""
    evaluators = draw(evaluators_of())
    order = draw(st.permutations(range(len(evaluators))))
    seconds = st.floats(0, 1e9)
    common = {
        "name": draw(NAMES),
        "inputs": draw(VALUES),
        "metadata": draw(VALUES),
        "expected_output": draw(VALUES),
        "task_duration": draw(seconds),
        "total_duration": draw(seconds),
        "source_case_name": draw(st.none() | NAMES),
        "cluster": draw(st.none() | TEXT),
        "tries": draw(st.integers(1, 5)),
        "has_expected_output": draw(st.booleans()),
        "trace_id": draw(st.none() | st.just("1f")),
        "span_id": draw(st.none() | st.just("2e")),
        "teardown_failure": draw(st.none() | FAILURES),
        "trace": draw(traces()),
    }
    if draw(st.booleans()):
        names = tuple(evaluators[place].name for place in order)
        record = ReportCaseFailure(
            **common,
            error_type=draw(TEXT),
            error_message=draw(TEXT),
            error_stacktrace=draw(TEXT),
            not_run=draw(st.just(names) | st.just(("another",))),
        )
        return record, order, evaluators
    said = [draw(results_of(evaluators[place])) for place in order]
    record = ReportCase(
        **common,
        output=draw(VALUES),
        metrics=draw(st.dictionaries(NAMES, NUMBERS, max_size=2)),
        attributes=draw(st.dictionaries(TEXT, VALUES, max_size=2)),
        results=tuple(result for results, _, _ in said for result in results),
        evaluator_failures=tuple(failure for _, failures, _ in said for failure in failures),
        skipped=tuple(skip for _, _, skips in said for skip in skips),
    )
    return record, order, evaluators


def as_report(record):
    finished = isinstance(record, ReportCase)
    return Report(name="r", cases=[record] if finished else [], failures=[] if finished else [record])


@given(records())
def test_a_record_comes_back_as_any_stored_report_keeps_it(drawn):
    record, order, evaluators = drawn
    attempt, cells = pack(record, 7, EvaluatorSlots(evaluators, order))
    back = unpack(attempt, cells, evaluators)
    assert as_report(back).to_dict() == as_report(record).to_dict()
    assert back == unpack(attempt, list(reversed(cells)), evaluators), "the order of cells does not matter"


@given(VALUES)
def test_values_that_are_plain_are_stored_the_same_whether_looked_at_or_taken_as_they_are(value):
    record = ReportCase(
        name="case",
        inputs=value,
        metadata=[value],
        expected_output=value,
        output={"said": value},
        metrics={},
        attributes={},
        results=(),
        task_duration=0.0,
        total_duration=0.0,
    )
    assume(are_plain(record.output, record.inputs, record.metadata, record.expected_output))
    assert pack(record, 0, EvaluatorSlots([]), as_is=True) == pack(record, 0, EvaluatorSlots([]))


@given(records(), st.booleans())
def test_a_record_survives_a_database(drawn, in_row):
    record, order, evaluators = drawn
    with MemoryStore() as store:
        run = store.begin_run(RunInfo(name="r", evaluators=tuple(evaluators), git=GIT))
        attempt, cells = pack(record, 7, EvaluatorSlots(run.evaluators, order), in_row=in_row)
        store.append(run.id, [attempt], cells)
        ((back, judged),) = store.judged(run.id)
        assert as_report(unpack(back, judged, run.evaluators)).to_dict() == as_report(record).to_dict()


def evaluator(name="Right", **more):
    return StoredEvaluator(name=name, spec=EvaluatorSpec(name), **more)


def case(*results, **more):
    return ReportCase(
        name="a",
        inputs=1,
        metadata=None,
        expected_output=None,
        output=2,
        attributes={},
        results=results,
        task_duration=0.0,
        total_duration=0.0,
        **{"metrics": {}, **more},
    )


def result(value, name="Right", **more):
    return EvaluationResult(name=name, value=value, evaluator="Right", source=EvaluatorSpec("Right"), **more)


@pytest.mark.parametrize(
    ("value", "body"),
    [(True, "true"), (False, "false"), (0.5, "0.5"), (1, "1"), ("odd", '"odd"'), (1.0, "1.0")],
)
def test_a_result_that_is_only_a_value_is_stored_as_that_value(value, body):
    _, (cell,) = pack(case(result(value)), 0, EvaluatorSlots([evaluator()]))
    assert cell.body == body


@pytest.mark.parametrize(
    ("results", "cells"),
    [
        ([True], '{"0":true}'),
        ([0.5], '{"0":0.5}'),
        (["x" * 2000], None),
        ([], None),
        ([True, True], None),
    ],
    ids=["a truth", "a number", "a long label", "nothing", "two results of one name"],
)
def test_an_attempt_holds_its_results_where_they_are_no_more_than_values(results, cells):
    attempt, apart = pack(case(*map(result, results)), 0, EvaluatorSlots([evaluator()]), in_row=True)
    assert attempt.cells == cells
    assert len(apart) == (0 if cells or not results else 1)


def test_a_source_that_two_evaluators_share_is_looked_at_for_each():
    spec = EvaluatorSpec("Right")
    other = StoredEvaluator(name="Other", spec=EvaluatorSpec("Other"))
    said = [
        EvaluationResult(name=name, value=True, evaluator=name, source=spec) for name in ("Right", "Other")
    ]
    _, cells = pack(case(*said), 0, EvaluatorSlots([evaluator(), other]))
    assert [cell.body == "true" for cell in cells] == [True, False]


def test_a_spec_that_is_equal_once_it_is_plain_is_not_stored_with_every_result():
    spec = EvaluatorSpec("Right", {"of": (1, 2)})
    stored = StoredEvaluator(name="Right", spec=EvaluatorSpec("Right", {"of": [1, 2]}))
    said = EvaluationResult(name="Right", value=True, evaluator="Right", source=spec)
    _, (cell,) = pack(case(said), 0, EvaluatorSlots([stored]))
    assert cell.body == "true"


def test_metrics_that_are_no_numbers_for_json_come_back_as_what_they_were():
    attempt, _ = pack(
        case(metrics={"inf": math.inf, "nan": math.nan, "huge": 2**3000}), 0, EvaluatorSlots([])
    )
    back = unpack(attempt, (), [])
    assert back.metrics["inf"] == math.inf
    assert math.isnan(back.metrics["nan"])
    assert back.metrics["huge"] == 2**3000


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_result_that_is_no_number_is_refused_and_never_becomes_a_label(value):
    with pytest.raises(StoreError, match="'Right' cannot be stored"):
        pack(case(result(value)), 0, EvaluatorSlots([evaluator()]))
    broken = case()
    broken.task_duration = value
    with pytest.raises(StoreError, match="cannot be stored: its durations"):
        pack(broken, 0, EvaluatorSlots([]))


def test_a_result_of_an_evaluator_that_the_run_does_not_have_is_refused():
    with pytest.raises(StoreError, match=r"evaluator 'Right' cannot be stored: the run has \['Other'\]"):
        pack(case(result(True)), 0, EvaluatorSlots([evaluator("Other")]))


def test_without_its_parts_a_record_still_counts():
    attempt, cells = pack(case(result(True)), 0, EvaluatorSlots([evaluator()]))
    back = unpack(attempt, cells, [evaluator()], parts=False)
    assert (back.passed, back.output, back.inputs) == (True, None, None)


def test_cells_of_evaluators_that_were_added_later_come_last():
    evaluators = [evaluator(), evaluator("Own", shared=False), evaluator("Later")]
    attempt, cells = pack(case(result(True)), 0, EvaluatorSlots(evaluators, (1, 0)))
    late = msgspec.structs.replace(cells[0], evaluator=2, body="0.25")
    back = unpack(attempt, [late, *cells], evaluators)
    assert [(one.name, one.value) for one in back.results] == [("Right", True), ("Later", 0.25)]


@pytest.mark.parametrize(
    "changes",
    [
        {"facts": '{"format":1}'},
        {"facts": "no JSON"},
        {"given": "[]"},
        {"output": '{"format":1,"attributes":3}'},
        {"trace": '{"turns":3}'},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_damaged_attempt_is_an_error_that_names_it(changes):
    attempt, cells = pack(case(), 0, EvaluatorSlots([]))
    broken = msgspec.structs.replace(attempt, run="R", **changes)
    with pytest.raises(StoreError, match="attempt 'a' of run 'R' is damaged"):
        unpack(broken, cells, [])


def test_an_attempt_of_a_later_release_is_an_error_that_says_what_to_do():
    attempt, _ = pack(case(), 0, EvaluatorSlots([]))
    later = msgspec.structs.replace(attempt, facts=attempt.facts.replace('"format":1', '"format":2'))
    with pytest.raises(StoreError, match=r"format 2.*install a newer calipers"):
        unpack(later, (), [])
    assert facts_of(attempt).format == 1


SPEC = EvaluatorSpec("right")
PANEL = EvaluatorSlots([StoredEvaluator(name="right", spec=SPEC)])
PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
PLAIN_VALUES = (
    PLAIN | st.lists(PLAIN, max_size=2) | st.tuples(PLAIN) | st.sampled_from([{1}, b"bytes", object()])
)


def made(inputs=1, output=2, *, value=True, metadata=None, expected=2, name="a", plan=None, **setting):
    """A piece of work, its attempt and its record."""
    case = Case(name=name, inputs=inputs, metadata=metadata, expected_output=expected, **setting)
    plan = Plan([]) if plan is None else plan
    work = Work(7, case, name, name, 1, plan, case_key=b"case", attempt_key=b"attempt")
    attempt = Attempt(case, inputs, name, name, 1, 0, {}, {}, output=output)
    attempt.asked = plan.nothing_noted
    result = EvaluationResult(name="right", value=value, evaluator="right", source=SPEC)
    record = ReportCase(
        name=name,
        inputs=inputs,
        metadata=metadata,
        expected_output=expected,
        output=output,
        metrics={},
        attributes={},
        results=(result,),
        task_duration=0.5,
        total_duration=0.75,
        has_expected_output=True,
    )
    return work, attempt, record


def packed(work, record):
    """What is made of any attempt."""
    attempt, cells = pack(
        record,
        work.position,
        PANEL,
        repeat=work.repeat_index,
        key=work.attempt_key,
        case_hash=work.case_key,
        in_row=True,
    )
    assert not cells
    return attempt


@given(
    inputs=PLAIN_VALUES,
    output=PLAIN_VALUES,
    value=st.booleans() | st.floats(0, 1) | st.text(max_size=5),
    metadata=PLAIN_VALUES,
    expected=PLAIN_VALUES,
    name=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5),
    tries=st.integers(1, 3),
    tags=st.lists(st.text(max_size=3)).map(tuple),
)
def test_it_is_packed_to_what_any_attempt_is_packed_to(
    inputs, output, value, metadata, expected, name, tries, tags
):
    work, attempt, record = made(inputs, output, value=value, metadata=metadata, expected=expected, name=name)
    record.tries, record.tags = tries, tags
    found = pack_plain(work, attempt, record, PANEL)
    assert found is None or found == packed(work, record)


@pytest.mark.parametrize("value", [None, True, 3, 0.5, "text", [1, "a"], {"a": [None]}], ids=repr)
def test_plain_values_take_no_closer_look(value):
    work, attempt, record = made(value, value, metadata=value, expected=value)
    assert pack_plain(work, attempt, record, PANEL) is not None


CLOSER_LOOKS = {
    "output": object(),
    "inputs": (1, 2),
    "metadata": {1: 2},
    "expected_output": float("nan"),
    "expected_tool_calls": ["search"],
    "metrics": {"tokens": 3},
    "attributes": {"seen": True},
    "results": (),
    "evaluator_failures": (EvaluatorFailure(name="right", error_type="E", error_message="", source=SPEC),),
    "skipped": (SkippedEvaluation("right", "no"),),
    "source_case_name": "a",
    "cluster": "c",
    "trace_id": "0",
    "span_id": "0",
    "teardown_failure": Failure(error_type="E", error_message="", error_stacktrace=""),
    "trace": Trace(),
}
"""By the field of a record: a value that most records do not have."""
KEPT = {"name", "tags", "fault", "task_duration", "total_duration", "tries", "has_expected_output"}
"""The fields that are kept as they are."""
APART = {"human_labels", "position"}
"""What people say later, which a store keeps beside the attempts; and the place of an attempt, by which it keeps them."""


def test_every_field_of_a_record_is_kept_or_looked_at():
    assert set(ReportCase.__struct_fields__) == CLOSER_LOOKS.keys() | KEPT | APART


@pytest.mark.parametrize("field", CLOSER_LOOKS)
def test_a_record_that_says_more_takes_a_closer_look(field):
    work, attempt, record = made()
    setattr(record, field, CLOSER_LOOKS[field])
    assert pack_plain(work, attempt, record, PANEL) is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("changed_from", [1]),
        ("seed_was_read", True),
        ("case_was_read", True),
        ("asked", {"right": frozenset({"seed"})}),
        ("output", [2]),
    ],
)
def test_an_attempt_of_which_a_later_run_has_to_know_more_takes_a_closer_look(field, value):
    work, attempt, record = made()
    setattr(attempt, field, value)
    assert pack_plain(work, attempt, record, PANEL) is None


def test_a_case_that_says_how_to_run_it_takes_a_closer_look():
    work, attempt, record = made(timeout=3.0)
    assert pack_plain(work, attempt, record, PANEL) is None


def test_a_plan_that_wants_spans_takes_a_closer_look():
    plan = Plan([])
    plan.needs_spans = True
    work, attempt, record = made(plan=plan)
    assert pack_plain(work, attempt, record, PANEL) is None


def test_long_results_have_cells_of_their_own():
    work, attempt, record = made(value="x" * 2000)
    assert pack_plain(work, attempt, record, PANEL) is None


def test_what_did_not_finish_takes_a_closer_look():
    work, attempt, record = made()
    failed = ReportCaseFailure(
        name="a",
        inputs=1,
        metadata=None,
        expected_output=2,
        error_type="E",
        error_message="",
        error_stacktrace="",
        task_duration=record.task_duration,
        total_duration=record.total_duration,
    )
    assert pack_plain(work, attempt, failed, PANEL) is None
