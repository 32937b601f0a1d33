"""Runs that are read without what attempts gave compare as they do when all of it is read."""

import random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, Dataset, EvaluationReason
from calipers.comparison import compare_many
from calipers.comparison.flips import FlippedTraces, told
from calipers.data.result import Skipped
from calipers.stores import MemoryStore
from calipers.stores.label_queue import read_attempts
from calipers.stores.runs_to_compare import runs_to_compare

ATTEMPTS = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.sampled_from("abcde"),
            "inputs": st.integers(0, 3),
            "comes": st.sampled_from(["right", "wrong", "crash", "no verdict", "skip"]),
            "tags": st.sampled_from([(), ("t",), ("t", "u")]),
        }
    ),
    min_size=1,
    max_size=5,
    unique_by=lambda each: each["name"],
)


def correct(output, metadata):
    if output == "no verdict":
        raise RuntimeError("the judge is out")
    if output == "skip":
        return Skipped("nothing to judge")
    return EvaluationReason(value=output == "right", reason=f"since it is {output!r}")


def style(output):
    return {"length": len(output), "tone": output[0], "ok": output != "wrong"}


def depth(inputs):
    return {"length": inputs + 0.5}


def put(store, attempts, *, repeat=1, seed=0, name="run", evaluators=(correct, style, depth)):
    comes = {each["name"]: each["comes"] for each in attempts}
    draw = random.Random(seed)

    def task(inputs):
        came = comes[inputs[0]] if draw.random() < 0.7 else "right"
        if came == "crash":
            raise ValueError("it broke")
        return came

    cases = [
        Case(name=each["name"], inputs=(each["name"], each["inputs"]), tags=each["tags"]) for each in attempts
    ]
    dataset = Dataset(name="data", cases=cases, evaluators=[correct, style, _depth])
    done = dataset.evaluate_sync(task, name=name, store=store, repeat=repeat, progress=False)
    return done.reuse.run


def _depth(inputs):
    return depth(inputs[1])


def both_ways(store, ids):
    runs = [store.run(each) for each in ids]
    read = runs_to_compare(store, runs)
    light = compare_many(
        [each.report for each in read],
        known_evaluators=[each.evaluators for each in read],
        contents=[each.contents for each in read],
    )
    whole = compare_many(
        [store.report(each) for each in ids], known_evaluators=[store.known_evaluators(each) for each in ids]
    )
    return read, light, whole


@given(ATTEMPTS, ATTEMPTS, st.integers(1, 2), st.booleans())
def test_the_numbers_are_the_same(one, two, repeat, hashed):
    """Whether the store knows a hash of each case or not."""
    with MemoryStore() as store:
        ids = [put(store, one, repeat=repeat), put(store, two, repeat=repeat, seed=1, name="new")]
        if not hashed:
            ids = [
                store.add_report(msgspec.structs.replace(store.report(each), reuse=None)).id for each in ids
            ]
        read, light, whole = both_ways(store, ids)
        bare = [
            msgspec.structs.replace(
                flip,
                assertions=tuple(
                    msgspec.structs.replace(each, baseline_reason=None, candidate_reason=None)
                    for each in flip.assertions
                ),
                baseline_gave=None,
                candidate_gave=None,
                trace_gap=None,
            )
            for flip in whole[0].flips
        ]
        assert list(light[0].flips) == bare
        assert msgspec.structs.replace(light[0], flips=()) == msgspec.structs.replace(whole[0], flips=())
        traces = FlippedTraces()
        runs = [store.run(each) for each in ids]
        for flip, expected in zip(light[0].flips, whole[0].flips, strict=True):
            records = [
                record_at(store, run, each, flip.case, number)
                for run, each, number in zip(
                    runs, read, (flip.baseline_attempt, flip.candidate_attempt), strict=True
                )
            ]
            assert told(flip, *records, traces) == expected


def record_at(store, run, read, case, number):
    name = case if run.repeat == 1 else f"{case} [{number}/{run.repeat}]"
    return next(record for _, record in read_attempts(store, run, [read.positions[name]]))


def test_a_renamed_case_and_one_that_changed_are_told_apart(store):
    kept = {"inputs": 1, "comes": "right", "tags": ()}
    one = put(store, [{"name": "a", **kept}, {"name": "b", **kept}])
    two = put(store, [{"name": "a", **kept}, {"name": "b", **kept, "inputs": 2}])
    _, light, whole = both_ways(store, [one, two])
    assert [each.name for each in light[0].pairing.changed] == ["b"]
    assert light[0].pairing == whole[0].pairing


def test_what_attempts_gave_is_not_kept_in_memory(store):
    run = put(store, [{"name": "a", "inputs": 1, "comes": "right", "tags": ()}])
    heard = []
    (read,) = runs_to_compare(store, [store.run(run)], hear=heard.append)
    (record,) = read.report.cases
    assert (record.inputs, record.output, record.trace) == (None, None, None)
    assert {each.reason for each in record.results} == {None}
    assert sum(heard) == 1


@pytest.mark.parametrize("parts", [True, "given", False])
def test_a_store_reads_the_parts_that_are_asked_for(store, parts):
    run = put(store, [{"name": "a", "inputs": 1, "comes": "right", "tags": ()}])
    (attempt,) = store.attempts(run, parts=parts)
    assert bool(attempt.given) is (parts is not False)
    assert bool(attempt.output) is (parts is True)
