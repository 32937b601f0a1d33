import pytest

from calipers.stores.attempt_notes import (
    AttemptNotes,
    CellNotes,
    attempt_notes,
    cell_notes,
    with_attempt_notes,
    with_notes,
)


@pytest.mark.parametrize(
    "body", ["true", "0.5", '"a \\"notes\\": b"', '{"format":1,"results":[{"value":true,"reason":"x"}]}']
)
@pytest.mark.parametrize(
    "notes",
    [
        CellNotes(),
        CellNotes(after=""),
        CellNotes(after="x", seed=0),
        CellNotes(as_plain=True, original={"overall": {}}),
    ],
    ids=["nothing", "unknown", "both", "original"],
)
def test_notes_of_a_cell_come_back_whatever_it_says(body, notes):
    assert cell_notes(with_notes(body, notes)) == notes


def test_what_has_no_notes_stays_as_it_is():
    assert with_notes("true", CellNotes()) == "true"
    assert with_attempt_notes('{"format":1}', AttemptNotes()) == '{"format":1}'


@pytest.mark.parametrize("output", ['{"format":1}', '{"format":1,"output":"\\"notes\\":"}'])
@pytest.mark.parametrize(
    "notes",
    [AttemptNotes(), AttemptNotes(rich=True, seed=0), AttemptNotes(spans={"a": 1})],
    ids=["nothing", "rich", "spans"],
)
def test_notes_of_an_attempt_come_back(output, notes):
    assert attempt_notes(with_attempt_notes(output, notes)) == notes
