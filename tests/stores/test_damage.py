"""What is damaged in a store is said of the run it is in, and hides no other run."""

from dataclasses import dataclass, field

import pytest

from calipers import Case, Dataset
from calipers.errors import StoreError
from calipers.stores import EvaluatorSlots, pack, why

LONG = "x" * 5000
DAMAGE = {
    "evaluator": "UPDATE evaluators SET body = '{' WHERE run = 1",
    "missing evaluator": "DELETE FROM evaluators WHERE run = 1 AND place = 0",
    "info": "UPDATE runs SET info = '[]' WHERE no = 1",
    "ending": "UPDATE runs SET ending = '{' WHERE no = 1",
    "cells": "UPDATE attempts SET cells = '{\"9\":true}' WHERE run = 1",
    "no cells": "UPDATE attempts SET cells = '{' WHERE run = 1",
    "value": "UPDATE attempts SET cells = '{\"0\":null}' WHERE run = 1",
    "cell": "UPDATE cells SET body = '{\"results\":3}' WHERE run = 1",
    "reference of a cell": "UPDATE cells SET body = 'blob:zz:1' WHERE run = 1",
    "reference": "UPDATE attempts SET given = 'blob:xyz' WHERE run = 1",
    "length": "UPDATE attempts SET output = 'blob:00:many' WHERE run = 1",
    "lost value": "DELETE FROM blobs",
    "value that is none": "UPDATE blobs SET body = x'00'",
    "duration": "UPDATE attempts SET facts = replace(facts, 'duration\":', 'duration\":-') WHERE run = 1",
}


def same(inputs):
    return inputs


def fine(output):
    return True


def grave(output):
    return {"said": LONG, "n": 1.5}


def damaged(store, how):
    for name in ("first", "second"):
        dataset = Dataset(name=name, cases=[Case(name="a", inputs=LONG)], evaluators=[fine, grave])
        dataset.evaluate_sync(same, name=name, store=store, progress=False)
    second, first = store.runs()
    with store._writing() as db:
        db.run("UPDATE runs SET counted = NULL")
        db.run(DAMAGE[how])
    return first.id, second.id


@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_row_is_an_error_that_names_its_run(memory_store, how):
    first, second = damaged(memory_store, how)
    assert [info.id for info in memory_store.runs()] == [second, first]
    with pytest.raises(StoreError, match=f"of run '{first}'|run '{first}' (in the store )?is damaged"):
        memory_store.report(first)
    if "value" not in how:  # which both runs share
        assert memory_store.report(second).pass_rate().value == 1.0


def test_a_result_of_no_evaluator_ends_a_resumed_run_and_an_explanation_with_its_reason(memory_store):
    first, _ = damaged(memory_store, "cells")
    dataset = Dataset(name="first", cases=[Case(name="a", inputs=LONG)], evaluators=[fine, grave])
    report = dataset.evaluate_sync(same, store=memory_store, progress=False, resume=first)
    assert f"of run '{first}' is damaged in the store: there is no evaluator in place 9" in str(
        report.incomplete
    )
    with pytest.raises(StoreError, match=f"of run '{first}' .* no evaluator in place 9"):
        why(memory_store, first, "a", "fine")


@dataclass
class Noting:
    """A task that notes what it was called with."""

    called: list = field(default_factory=list, compare=False)

    def __call__(self, inputs):
        self.called.append(inputs)
        return inputs


@pytest.mark.parametrize(
    "damage",
    [
        "facts = '{'",
        "cells = '{'",
        "cells = '{\"0\":null}'",
        'output = \'{"format":1,"output":\'',
        'output = \'{"format":1,"output":1,"notes":\'',
        "output = 'blob:00:5'",
        "facts = replace(facts, 'duration\":', 'duration\":-')",
    ],
)
def test_a_damaged_attempt_of_another_run_is_made_again_with_a_note(memory_store, damage):
    task = Noting()
    called = task.called
    dataset = Dataset(cases=[Case(name=str(n), inputs=n) for n in range(20)], evaluators=[fine])
    dataset.evaluate_sync(task, store=memory_store, progress=False)
    with memory_store._writing() as db:
        db.run(f"UPDATE attempts SET {damage} WHERE position IN (5, 13)")
    called.clear()
    report = dataset.evaluate_sync(task, store=memory_store, progress=False, reuse=True)
    assert (report.incomplete, sorted(called), len(report.cases)) == (None, [5, 13], 20)
    (note,) = report.reuse.notes
    assert note.startswith("attempts made again, since their stored form cannot be read: 2; ")
    again = dataset.evaluate_sync(task, store=memory_store, progress=False, reuse=True)
    assert (len(called), again.reuse.notes) == (2, [])


def test_what_was_counted_is_counted_again_where_it_is_damaged(memory_store):
    first, _ = damaged(memory_store, "evaluator")
    with memory_store._writing() as db:
        db.run("UPDATE runs SET counted = '{'")
    (second,) = [info for info in memory_store.runs() if info.id != first]
    assert second.damaged is None
    assert memory_store.totals(second.id).counts.cases == 1


def test_a_damaged_run_can_be_deleted(memory_store):
    first, second = damaged(memory_store, "info")
    assert [info.damaged is None for info in memory_store.runs()] == [True, False]
    memory_store.delete_run(first)
    assert [info.id for info in memory_store.runs()] == [second]
    assert memory_store.run("latest").id == second


def test_an_attempt_that_took_less_than_no_time_is_refused(memory_store):
    dataset = Dataset(name="d", cases=[Case(name="a", inputs=1)])
    report = dataset.evaluate_sync(same, progress=False)
    report.cases[0].task_duration = -1.0
    with pytest.raises(StoreError, match=r"cannot be stored: its durations -1\.0"):
        pack(report.cases[0], 0, EvaluatorSlots(()))
    with pytest.raises(StoreError, match=r"cannot be counted, so it cannot be stored: .* got -1\.0"):
        memory_store.add_report(report)
