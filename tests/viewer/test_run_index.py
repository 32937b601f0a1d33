"""The index of a run says of every filter what the records say, however it was read."""

from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers.data.human_label import HumanLabel
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.result import EvaluationResult, EvaluatorFailure, EvaluatorSpec, SkippedEvaluation
from calipers.data.trace import LLMCall, ToolCall, Trace, Turn, TurnType
from calipers.errors import FilterError, InvalidOptionError
from calipers.exchange.attempt_source import KeptRun, began_at
from calipers.report.attempt_fields import FIELDS, Beside
from calipers.report.attempt_filter import AttemptFilter, Term, Wanted, parse_filter
from calipers.report.report import Report
from calipers.stores import MemoryStore
from calipers.viewer.attempt_mask import attempts_that_meet
from calipers.viewer.case_selection import neighbours, place_of, select, window
from calipers.viewer.facets import facets
from calipers.viewer.failure_groups import failure_groups
from calipers.viewer.index_builder import IndexBuilder
from calipers.viewer.kept_index import MANIFEST, KeptIndex, pack_index, read_manifest
from calipers.viewer.run_index import RunIndex

WORDS = ["late", "Order 17", "", "GROSS", "groß", "a", "refund\nnow", "ab", "1", "true"]
NAMES = ["Right", "Tone", "f1"]


def spec(name):
    return EvaluatorSpec(name=name, arguments={})


def result(name, value, **more):
    return EvaluationResult(name=name, value=value, evaluator=name, source=spec(name), **more)


@st.composite
def results(draw):
    """What three evaluators say of an attempt: results, failures and skips."""
    said, failures, skipped = [], [], []
    values = {
        "Right": st.booleans(),
        "Tone": st.sampled_from(["rude", "kind"]),
        "f1": st.sampled_from([0, 0.5, 1.0]),
    }
    for name in NAMES:
        match draw(st.sampled_from(["result", "result", "result", "failure", "skip", "nothing"])):
            case "result":
                reason = draw(
                    st.sampled_from([None, "expected 'x', got 'y'", "expected 'a', got 'b'", "late"])
                )
                said.append(result(name, draw(values[name]), reason=reason))
            case "failure":
                failures.append(
                    EvaluatorFailure(
                        name=name,
                        error_type="E",
                        error_message=f"E: no {draw(st.integers(1, 3))}",
                        source=spec(name),
                    )
                )
            case "skip":
                skipped.append(SkippedEvaluation(name, "not asked"))
    return {"results": tuple(said), "evaluator_failures": tuple(failures), "skipped": tuple(skipped)}


@st.composite
def traces(draw):
    turns = [Turn(turn_type=TurnType.USER_MESSAGE, content=draw(st.sampled_from(WORDS)))]
    turns += [
        Turn(tool_call=ToolCall(name, {}))
        for name in draw(st.lists(st.sampled_from(["find", "buy"]), max_size=2))
    ]
    if draw(st.booleans()):
        turns.append(Turn(llm_call=LLMCall(model="m-1", input_tokens=10, output_tokens=2, cost=0.02)))
    turns.append(Turn(turn_type=TurnType.AGENT_MESSAGE, content=draw(st.sampled_from(WORDS))))
    return Trace(
        turns=turns,
        agent_name=draw(st.sampled_from(["", "shop"])),
        records_calls=draw(st.booleans()),
        created_at=datetime(2026, 11, draw(st.integers(1, 3)), 12, tzinfo=UTC),
        tags=draw(st.sampled_from([[], ["live"]])),
    )


@st.composite
def records(draw, name, source_name, cluster):
    values = (
        st.sampled_from(WORDS)
        | st.integers(-(2**60), 2**60)
        | st.booleans()
        | st.sampled_from([0.5, 1.0, -0.0])
    )
    common = {
        "name": name,
        "source_case_name": source_name,
        "cluster": cluster,
        "inputs": draw(st.sampled_from(WORDS) | st.just({"q": "late"})),
        "metadata": draw(
            st.none()
            | st.dictionaries(
                st.sampled_from(["lang", "age"]),
                values | st.lists(values, max_size=2) | st.none(),
                max_size=2,
            )
        ),
        "expected_output": None,
        "has_expected_output": draw(st.booleans()),
        "tags": tuple(draw(st.lists(st.sampled_from(["refund", "EU"]), unique=True, max_size=2))),
        "metrics": draw(
            st.dictionaries(
                st.sampled_from(["cost", "input_tokens", "retries"]), st.sampled_from([0, 1, 2.5]), max_size=3
            )
        ),
        "task_duration": draw(st.sampled_from([0.0, 0.5, 2.0])),
        "trace": draw(st.none() | traces()),
    }
    if draw(st.integers(0, 5)) == 0:
        error = draw(st.sampled_from(["TimeoutError", "ValueError"]))
        return ReportCaseFailure(
            **common, error_type=error, error_message=f"{error}: late", not_run=("Right",)
        )
    attributes = draw(st.sampled_from([{}, {"audio": "a/b.WAV"}]))
    output = draw(st.sampled_from(WORDS) | st.just([1, "late"]))
    return ReportCase(**common, output=output, attributes=attributes, total_duration=3.0, **draw(results()))


@st.composite
def reports(draw, *, most=6):
    """A report of some cases, each tried once or several times."""
    repeat = draw(st.integers(1, 3))
    cases, failures = [], []
    for number in range(draw(st.integers(0, most))):
        cluster = draw(st.sampled_from([None, None, "doc"]))
        case = f"Case {number}" if number else "späte/r"
        for attempt in range(1, repeat + 1):
            name = case if repeat == 1 else f"{case} [{attempt}/{repeat}]"
            record = draw(records(name, case if repeat > 1 else None, cluster))
            (cases if isinstance(record, ReportCase) else failures).append(record)
    return Report(
        name="orders", cases=cases, failures=failures, repeat=repeat, started_at="2026-11-05T12:00:00+00:00"
    )


@st.composite
def terms(draw):
    """A term that a single run can be asked."""
    name = draw(st.sampled_from([name for name, field in FIELDS.items() if not field.compares]))
    field = FIELDS[name]
    keys = {
        "eval": NAMES,
        "score": ["f1", "x"],
        "label": ["Tone", "polite?", "x"],
        "metric": ["retries", "cost", "x"],
        "meta": ["lang", "age", "x"],
    }
    texts = st.sampled_from(
        [*WORDS, "refund", "eu", "find", "shop", "m-1", "case 1", "doc", "TimeoutError", "rude", "asked", "3"]
    )
    values = {
        "word": st.sampled_from([choice for choice in field.choices if choice != "new"] or ["x"]),
        "time": st.sampled_from(["2026-11-01", "2026-11-02T12:00:00+00:00", "2026-11-05"]),
    }.get(
        field.kind,
        st.sampled_from(["0", "0.5", "1", "2", "12"]) if field.kind in {"number", "seconds"} else texts,
    )
    signs = {"word": [":"], "name": [":", "~"], "text": [":", "~"]}.get(
        field.kind, [":", "<", "<=", ">", ">="]
    )
    sign = draw(st.sampled_from(signs))
    if field.kind == "any":
        sign = draw(st.sampled_from([":", "~", ">", "<="]))
        if sign in {">", "<="}:
            values = st.sampled_from(["0", "1", "0.5", str(2**55)])
    begins = st.booleans() if sign == ":" and field.kind in {"name", "any"} else st.just(False)
    return Term(
        field=name,
        key=draw(st.sampled_from(keys[name])) if field.is_keyed else "",
        operator=sign,
        values=tuple(Wanted(draw(values), draw(begins)) for _ in range(draw(st.integers(1, 2)))),
        is_negated=draw(st.booleans()),
    )


def kept(store, report, labels=()):
    """The run of a report in a store, with what people said of some positions."""
    info = store.add_report(report)
    people = [
        HumanLabel(
            run=info.id, position=place, case="", question="polite?", person=person, value=value, at=""
        )
        for place, person, value in labels
    ]
    store.add_labels(people)
    return store.run(info.id)


def indexed(store, info):
    built = IndexBuilder(info)
    built.add(store.judged(info.id))
    return RunIndex(built, people=store.labels_by_position(info.id))


def again(index):
    """The same index, as a store would give it back."""
    parts = {}
    for name, number, body in pack_index(index, changes=7):
        parts.setdefault(name, {})[number] = body
    manifest = read_manifest(parts[MANIFEST], index.info.generation, 7)

    def read(name, numbers):
        return {number: body for number, body in parts[name].items() if numbers is None or number in numbers}

    return RunIndex(KeptIndex(index.info, manifest, read), people=index.people)


def in_pieces(store, info, draw):
    """The index of a run that was read a few attempts at a time, in any order."""
    built = IndexBuilder(info)
    positions = draw(st.permutations([attempt.position for attempt in store.attempts(info.id)]))
    while positions:
        count = draw(st.integers(1, len(positions)))
        built.add(store.judged_at(info.id, positions[:count]))
        positions = positions[count:]
    return RunIndex(built, people=store.labels_by_position(info.id))


def attempts_of(store, info):
    """The records of a run by position, each with what is known beside it."""
    source = KeptRun(store, info)
    found = dict(source.attempts())
    by_case = {}
    for record in found.values():
        by_case.setdefault(record.source_case_name or record.name, []).append(record.passed)
    beside = {}
    for position, record in found.items():
        said = by_case[record.source_case_name or record.name]
        beside[position] = Beside(at=began_at(record, source), is_flaky=True in said and False in said)
    return found, beside


@given(reports(), st.lists(terms(), min_size=1, max_size=2), st.data())
@settings(max_examples=50)
def test_a_filter_finds_in_the_index_what_it_finds_among_the_records(report, some, data):
    wanted = AttemptFilter(tuple(some))
    with MemoryStore() as store:
        count = len(report.cases) + len(report.failures)
        answers = st.tuples(
            st.integers(0, max(count - 1, 0)),
            st.sampled_from(["ann", "bob"]),
            st.sampled_from([True, "rude", 3]),
        )
        labels = data.draw(st.lists(answers, max_size=3, unique_by=lambda each: each[:2])) if count else []
        info = kept(store, report, labels)
        index = indexed(store, info)
        found, beside = attempts_of(store, info)
    met = attempts_that_meet(index, wanted)
    positions = {int(index.positions[row]) for row in met.rows.nonzero()[0]}
    assert positions == {place for place, record in found.items() if wanted.matches(record, beside[place])}
    cases = {record.source_case_name or record.name for place, record in found.items() if place in positions}
    selection = select(index, wanted)
    assert {row.name for row in window(selection)} == cases
    assert selection.total == len(cases)
    assert select(index, selection.q).total == selection.total


@given(reports(), terms(), st.sampled_from(["", "-order", "name", "-mark", "-cost", "seconds"]), st.data())
def test_however_an_index_was_read_it_says_the_same(report, term, sort, data):
    wanted = AttemptFilter((term,))
    with MemoryStore() as store:
        info = kept(store, report)
        whole = indexed(store, info)
        pieces = in_pieces(store, info, data.draw)
    expected = window(select(whole, wanted, sort=sort))
    for index in (pieces, again(whole), again(pieces), again(again(pieces))):
        assert (index.attempts, index.cases) == (whole.attempts, whole.cases)
        assert window(select(index, wanted, sort=sort)) == expected
        everything = select(index)
        for field in ("tag", "status", "meta.lang", "label.Tone", "group", "eval.Right", "tool", "rep"):
            assert facets(everything, field) == facets(select(whole), field)
        assert failure_groups(everything) == failure_groups(select(whole))


def test_an_index_that_is_not_whole_or_of_another_state_of_the_run_is_not_used():
    with MemoryStore() as store:
        index = indexed(store, kept(store, Report(name="empty", cases=[])))
    parts = {name: {number: body} for name, number, body in pack_index(index, changes=7)}
    assert list(parts)[-1] == MANIFEST
    kept_parts = parts[MANIFEST]
    assert read_manifest(kept_parts, 0, 7) is not None
    for given_parts, generation, changes in (
        ({}, 0, 7),
        (kept_parts, 0, 8),
        (kept_parts, 1, 7),
        ({0: b"{"}, 0, 7),
    ):
        assert read_manifest(given_parts, generation, changes) is None


@given(
    reports(),
    st.sampled_from(
        ["order", "name", "mark", "seconds", "cost", "tokens", "value.f1", "value.Right", "value.Tone"]
    ),
)
def test_sorting_keeps_all_cases_puts_the_unknown_last_and_leaves_equal_ones_in_order(report, by):
    with MemoryStore() as store:
        index = indexed(store, kept(store, report))
    name = by.removeprefix("value.")
    if by.startswith("value.") and name not in {each.name for each in index.results}:
        with pytest.raises(InvalidOptionError, match="cannot be sorted by"):
            select(index, sort=by)
        return
    up, down = (window(select(index, sort=sign + by)) for sign in ("", "-"))
    assert sorted(row.id for row in up) == sorted(row.id for row in down)
    column = next((place for place, each in enumerate(index.results) if each.name == name), None)

    def key(row):
        if by == "order":
            return index.number_of(row.id)
        if by == "name":
            return row.name.casefold()
        if by == "mark":
            return ["error", "fail", "pass", "skip"].index(row.mark)
        if column is not None:
            return row.values[column]
        return getattr(row, by)

    for rows, sign in ((up, 1), (down, -1)):
        known = [key(row) for row in rows if key(row) is not None]
        assert [key(row) for row in rows[: len(known)]] == known
        if name != "Tone" and by not in {"tokens"}:
            assert known == sorted(known, reverse=sign < 0)
        places = [(key(row), index.number_of(row.id)) for row in rows]
        for one, other in pairwise(places):
            if one[0] == other[0] and by != "order" and name != "Tone" and by != "tokens":
                assert one[1] < other[1]


@given(reports(), terms())
def test_the_neighbours_of_a_case_are_those_beside_it_in_the_table(report, term):
    with MemoryStore() as store:
        index = indexed(store, kept(store, report))
    selection = select(index, AttemptFilter((term,)), sort="-mark")
    rows = window(selection)
    missed = [row.mark in {"fail", "error"} for row in rows]
    for place, row in enumerate(rows):
        found = neighbours(selection, row.id)
        assert (found.at, found.of) == (place, len(rows)) == (place_of(selection, row.id), selection.total)
        assert found.previous == (rows[place - 1].id if place else None)
        assert found.next == (rows[place + 1].id if place + 1 < len(rows) else None)
        before = [other.id for other, failed in zip(rows[:place], missed, strict=False) if failed]
        after = [
            other.id for other, failed in zip(rows[place + 1 :], missed[place + 1 :], strict=True) if failed
        ]
        assert found.previous_failure == (before[-1] if before else None)
        assert found.next_failure == (after[0] if after else None)
    assert neighbours(selection, "000000000000").at is None


def test_what_is_known_only_of_two_runs_is_refused_of_one():
    with MemoryStore() as store:
        index = indexed(store, kept(store, Report(name="empty", cases=[])))
    for text in ("flip:worse", "judge.tone:disagrees", "is:new"):
        with pytest.raises(FilterError, match="compared"):
            select(index, text)
    assert select(index, parse_filter("is:flaky")).total == 0
