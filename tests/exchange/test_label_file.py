"""Labels go to files and come back as they were, alone and with their run."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from calipers.errors import DatasetFileError
from calipers.exchange import export_run, import_run
from calipers.exchange.label_file import export_labels, import_labels
from calipers.gate.human_labels import output_of
from calipers.report.report import Report
from calipers.stores import HumanLabel, MemoryStore
from calipers.testing.store_check import record

OUTPUTS = ["=1+1", "-5", "a\r\nb", {"x": [None, "é"]}, "\x1b[2J", ""]

lines = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=12).filter(
    lambda text: text.strip() == text
)
"""What stands in one cell as it is: a spreadsheet shows control characters as escapes."""


def filled(store):
    report = Report(name="r", cases=[record(n, output=output) for n, output in enumerate(OUTPUTS)], seed=0)
    run = store.add_report(report)
    return run, [output_of(case) for case in store.report(run.id).cases]


def label(run, position=0, value=True, **more):
    known = {"question": "q", "person": "ann", "at": "2026-01-01T00:00:00+00:00", **more}
    return HumanLabel(run=run.id, position=position, case=f"case {position}", value=value, **known)


answers = st.one_of(
    st.lists(st.booleans(), min_size=6, max_size=6),
    st.lists(st.integers(-9, 99) | st.floats(-10, 10, width=16), min_size=6, max_size=6),
    st.lists(lines.filter(str.isalpha), min_size=6, max_size=6).filter(
        lambda words: (
            not {word.lower() for word in words} <= {"yes", "no", "true", "false", "nan", "inf", "infinity"}
        )
    ),
)


@settings(max_examples=40, deadline=None)
@given(
    said=answers,
    people=st.lists(lines, min_size=6, max_size=6),
    questions=lines,
    notes=st.lists(lines | st.just(""), min_size=6, max_size=6),
    chances=st.lists(st.none() | st.floats(0.01, 1), min_size=6, max_size=6),
    seed=st.none() | st.integers(0, 2**62),
    suffix=st.sampled_from(["csv", "jsonl"]),
)
def test_labels_come_back_from_a_file_as_they_were(
    tmp_path_factory, said, people, questions, notes, chances, seed, suffix
):
    path = tmp_path_factory.mktemp("labels") / f"labels.{suffix}"
    with MemoryStore() as store:
        run, about = filled(store)
        before = [
            label(
                run,
                n,
                said[n],
                person=people[n],
                question=questions,
                note=notes[n],
                probability=chances[n],
                seed=seed,
                about=about[n],
            )
            for n in range(6)
        ]
        store.add_labels(before)
        export_labels(store, run, str(path), store.labels())
        for one in before:
            store.remove_label(run.id, one.position, question=one.question, person=one.person)
        found = import_labels(store, run, path)
        assert (len(found.labels), found.replaced, found.blank) == (6, 0, 0)
        assert store.labels() == before


@pytest.mark.parametrize(
    ("before", "cells", "after"),
    [
        ([], ["yes", "FALSE", " no "], [True, False, False]),
        ([], ["1", "0", "4.5"], [1, 0, 4.5]),
        ([], ["yes", "no", "unsure"], ["yes", "no", "unsure"]),
        (["unsure"], ["yes", "no", "no"], ["yes", "no", "no"]),
        ([True], ["yes", "no", "no"], [True, False, False]),
        ([True], ["1", "0", "1"], None),
        ([True], ["yes", "maybe", "no"], None),
        ([3], ["yes", "no", "no"], None),
    ],
)
def test_texts_are_read_as_what_all_answers_to_the_question_are(tmp_path, before, cells, after):
    path = tmp_path / "labels.csv"
    path.write_text("case,human\n" + "\n".join(f"case {n},{cell}" for n, cell in enumerate(cells)))
    with MemoryStore() as store:
        run, _ = filled(store)
        store.add_labels([label(run, 5, value) for value in before])
        if after is None:
            with pytest.raises(DatasetFileError, match=r"are of two kinds, .* and .*, got"):
                import_labels(store, run, path, question="q", person="bob")
            assert len(store.labels()) == len(before)
        else:
            found = import_labels(store, run, path, question="q", person="bob").labels
            assert [(type(each.value), each.value) for each in found] == [
                (type(each), each) for each in after
            ]


def test_a_run_that_is_exported_takes_its_labels_with_it(tmp_path):
    path = tmp_path / "run.jsonl"
    with MemoryStore() as store, MemoryStore() as other:
        run, about = filled(store)
        labels = [label(run, 0, about=about[0]), label(run, 2, "so-so", person="bob", about=about[2])]
        export_run(store, run.id, to=path)
        bare = path.read_bytes()
        store.add_labels(labels)
        export_run(store, run.id, to=path)
        assert len(path.read_bytes()) > len(bare)
        done = import_run(path, other)
        assert done.is_new
        assert other.labels() == labels
        assert not import_run(path, other).is_new
        path.write_bytes(bare)
        assert not import_run(path, other).is_new, "labels make it no other run"
        assert other.labels() == labels


def test_a_report_that_is_stored_again_takes_its_labels_with_it():
    with MemoryStore() as store, MemoryStore() as other:
        run, about = filled(store)
        store.add_labels([label(run, 3, about=about[3])])
        copy = other.add_report(store.report(run.id))
        assert other.labels() == [replace(label(run, 3, about=about[3]), run=copy.id)]


def test_an_exported_file_can_be_named_in_a_policy(tmp_path):
    from calipers.evaluators import JudgeCorrectionEvaluator, ReportEvaluatorContext

    path = tmp_path / "labels.csv"
    with MemoryStore() as store:
        run, about = filled(store)
        store.add_labels([label(run, n, n % 2 == 0, about=about[n]) for n in (0, 1, 3)])
        export_labels(store, run, str(path), store.labels())
        report = store.report(run.id)
    assert "'=1+1" in Path(path).read_text()
    by_file, by_question = (
        JudgeCorrectionEvaluator("Right", **source).evaluate(ReportEvaluatorContext(name="r", report=report))
        for source in ({"labels": path}, {"question": "q"})
    )
    assert by_file == by_question
