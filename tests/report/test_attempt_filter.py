"""Which attempts a line of terms means, and what it says of a line that means none."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import ReportCase, ReportCaseFailure
from calipers.data.result import EvaluationResult, EvaluatorFailure, EvaluatorSpec, SkippedEvaluation
from calipers.data.trace import LLMCall, ToolCall, Trace, Turn, TurnType
from calipers.errors import InvalidOptionError
from calipers.report.attempt_fields import FIELDS, STATUSES
from calipers.report.attempt_filter import AttemptFilter, Term, Wanted, all_of, parse_filter

AT = datetime(2026, 11, 5, 12, tzinfo=UTC)


def result(name, value):
    return EvaluationResult(
        name=name, value=value, evaluator=name, source=EvaluatorSpec(name=name, arguments=None)
    )


TURNS = [
    Turn(turn_type=TurnType.USER_MESSAGE, content="Where is order 17?"),
    Turn(tool_call=ToolCall("find_order", {"id": 17})),
    Turn(llm_call=LLMCall(model="m-1", input_tokens=900, output_tokens=100, cost=0.02)),
    Turn(turn_type=TurnType.AGENT_MESSAGE, content="It is late."),
]
ATTEMPT = ReportCase(
    name="order [1/2]",
    source_case_name="order",
    inputs="Where is order 17?",
    output="It is late.",
    metadata={"lang": "de", "age": 31, "vip": True, "topics": ["parcel", "delay"]},
    expected_output=None,
    metrics={"retries": 3},
    attributes={},
    results=(result("Correct", value=False), result("f1", value=0.5)),
    skipped=(SkippedEvaluation("Tone", "not asked"),),
    evaluator_failures=(EvaluatorFailure(name="Judge", error_type="E", error_message="", source=EvaluatorSpec(name="Judge", arguments=None)),),
    task_duration=2.5,
    total_duration=3.0,
    tags=("refund", "EU"),
    trace=Trace(turns=TURNS, agent_name="shop", records_calls=True),
)  # fmt: skip
BARE = ReportCase(
    name="bare", inputs="hi", output="hello", metadata=None, expected_output=None, metrics={}, attributes={},
    results=(), task_duration=0, total_duration=0,
)  # fmt: skip
CRASHED = ReportCaseFailure(
    name="crash", inputs="hi", metadata=None, expected_output=None, error_type="TimeoutError", error_message="TimeoutError: late"
)  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        *("", "late", "LATE", '"order 17"', "text:late", "input:~order", "output:It*", "-early", "it"),
        *(
            "status:failed",
            "status:(passed OR failed)",
            "-status:passed",
            "tag:refund",
            "tag:eu",
            "-tag:gone",
        ),
        *(
            "tool:find_order",
            "tool:find*",
            "tool:~ORDER",
            "agent:shop",
            "model:m-1",
            "case:order",
            "-error:*",
        ),
        *("eval.Correct:failed", "score.f1<0.6", "score.f1:0.5", "metric.retries>=3"),
        *("eval.Tone:skipped", "eval.Judge:errored"),
        *("meta.lang:de", "meta.lang=de", "meta.age>30", "meta.age:31", "meta.vip:true", "meta.topics:delay"),
        *("cost>0.01", "cost:>0.01", "-cost>0.1", "duration>2s", "duration:<=2500ms", "duration<1min"),
        *("tokens:1000", "input_tokens>800", "output_tokens<=100", "requests:1"),
        *(
            "time>2026-11-01",
            "time:2026-11-05",
            "-time:2026-11-04",
            "time<2026-11-05T13:00",
            "time>=2026-11-05T12:00+00:00",
            "tag:refund cost<1 late",
        ),
    ],
)
def test_an_attempt_meets_what_holds_of_it(text):
    assert parse_filter(text).matches(ATTEMPT, AT)


@pytest.mark.parametrize(
    "text",
    [
        *("early", "-late", "status:passed", "tag:ref", "tool:refund", "eval.Correct:passed", "score.f1>0.5"),
        *("meta.lang:d", "meta.age>31", "meta.none:x", "cost>0.02", "duration>3", "tokens>1000", "case:bare"),
        *("time>2026-11-06", "output:late", "tag:refund tag:gone", "tag:(a OR b)", "error:TimeoutError"),
    ],
)
def test_an_attempt_does_not_meet_what_does_not_hold(text):
    assert not parse_filter(text).matches(ATTEMPT, AT)


@pytest.mark.parametrize(
    "term",
    [
        "cost>1",
        "tokens>1",
        "tool:find",
        "eval.Correct:failed",
        "score.f1<1",
        "time>2026-01-01",
        "agent:x",
        "duration<1",
    ],
)
def test_what_is_not_known_meets_neither_a_term_nor_its_opposite(term):
    assert not parse_filter(term).matches(BARE)
    assert not parse_filter(f"-{term}").matches(BARE)


def test_a_task_that_did_not_finish_is_errored_and_found_by_its_error():
    assert parse_filter("status:errored error:Time* error:* late").matches(CRASHED)
    assert not parse_filter("-error:*").matches(CRASHED)
    assert not parse_filter('error:"*"').matches(CRASHED)
    assert parse_filter("status:unjudged").matches(BARE)
    assert [text for text in STATUSES if parse_filter(f"status:{text}").matches(CRASHED)] == ["errored"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "stauts:failed",
            r"character 1: unknown field 'stauts' \(did you mean 'status'\?\); known are status, tag",
        ),
        ("late tga:x", r"character 6: unknown field 'tga' \(did you mean 'tag'"),
        ("http://x", "A text with such a sign is written in quotes"),
        ("status:fail", r"one of passed, failed, errored, unjudged, got 'fail' \(did you mean 'failed'"),
        ("eval:failed", r"has to be eval\.NAME"),
        ("tag.x:y", "has to be tag alone"),
        ("cost>much", "'much' is no number"),
        ("cost>2s", "'2s' is no number"),
        ("tag>3", "'tag' cannot be compared by '>'"),
        ("status:~f", "'status' cannot be compared by ':~'"),
        ("time>soon", "no date or moment"),
        ("tag:", "expected a value"),
        ('"late', "a quote is opened and not closed"),
        ("tag:(a b)", "expected OR or a closing parenthesis"),
        ("tag:(a OR b", "expected OR or a closing parenthesis"),
        ("a OR b", "OR stands between values of one field"),
        ('tag:"a"b', "stands where a space should be"),
        ('""', "nothing between the quotes"),
    ],
)
def test_a_line_that_means_nothing_is_refused_with_the_place_and_the_way_out(text, says):
    with pytest.raises(InvalidOptionError, match=says):
        parse_filter(text)


_TEXT = st.text(min_size=1, max_size=8)
_NUMBER = st.floats(0, 1e6).map(repr)


@st.composite
def terms(draw):
    name = draw(st.sampled_from(sorted(FIELDS)))
    field = FIELDS[name]
    values = {
        "word": st.sampled_from(field.choices or ("x",)),
        "time": st.sampled_from(["2026-11-01", "2026-11-01T12:00:00+01:00"]),
    }.get(field.kind, _NUMBER if field.kind in {"number", "seconds"} else _TEXT)
    signs = {"word": [":"], "name": [":", "~"], "text": [":", "~"], "any": [":", "~"]}
    some = draw(st.lists(values, min_size=1, max_size=3))
    begins = st.booleans() if field.kind in {"name", "text"} else st.just(value=False)
    return Term(
        field=name,
        key=draw(_TEXT) if field.is_keyed else "",
        operator=draw(st.sampled_from(signs.get(field.kind, [":", "<", "<=", ">", ">="]))),
        values=tuple(Wanted(each, draw(begins)) for each in some),
        is_negated=draw(st.booleans()),
    )


@given(st.lists(terms(), max_size=4))
def test_what_a_filter_says_of_itself_is_read_as_the_same_filter(some):
    written = AttemptFilter(tuple(some))
    assert parse_filter(str(written)) == written


@given(terms())
def test_a_term_and_its_opposite_are_never_both_met(term):
    opposite = Term(
        field=term.field,
        key=term.key,
        operator=term.operator,
        values=term.values,
        is_negated=not term.is_negated,
    )
    for attempt in (ATTEMPT, BARE, CRASHED):
        one, other = term.matches(attempt, AT), opposite.matches(attempt, AT)
        assert (one is None and other is None) or one is (not other)


def test_of_several_filters_all_have_to_be_met():
    assert all_of(["tag:refund", "late"]) == parse_filter("tag:refund late")
