"""Attempts as most of them are: packed quickly, to what any attempt is packed to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case
from calipers.data.attempt import Attempt
from calipers.data.record import Failure, ReportCase, ReportCaseFailure
from calipers.data.result import EvaluationResult, EvaluatorFailure, EvaluatorSpec, SkippedEvaluation
from calipers.data.trace import Trace
from calipers.run.work import Work
from calipers.scoring.plan import Plan
from calipers.stores import EvaluatorSlots, StoredEvaluator, pack
from calipers.stores.packing import pack_plain

SPEC = EvaluatorSpec("right")
PANEL = EvaluatorSlots([StoredEvaluator(name="right", spec=SPEC)])
PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
VALUES = PLAIN | st.lists(PLAIN, max_size=2) | st.tuples(PLAIN) | st.sampled_from([{1}, b"bytes", object()])


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
    inputs=VALUES,
    output=VALUES,
    value=st.booleans() | st.floats(0, 1) | st.text(max_size=5),
    metadata=VALUES,
    expected=VALUES,
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
KEPT = {"name", "tags", "task_duration", "total_duration", "tries", "has_expected_output"}
"""The fields that are kept as they are."""


def test_every_field_of_a_record_is_kept_or_looked_at():
    assert set(ReportCase.__struct_fields__) == CLOSER_LOOKS.keys() | KEPT


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
