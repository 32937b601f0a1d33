"""Labels of people as a file, CSV or JSON Lines, and back.

A line is one label: the `case`, the `attempt` where it is repeated, the `question`, the `person`, what they said (`human`), and the fields of
`calipers.data.human_label`; also the `inputs` and the `output`, to be read and compared. A file that a policy or `calipers show --labels` reads is one
of these with fewer columns, so files of both kinds can be imported, and an exported file of one person's answers to one question can be named in a policy.

A *sheet* is such a file for people who label elsewhere, in a spreadsheet: `human` is blank in each line. What stays blank is not imported.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from calipers.data.human_label import HumanLabel, Rating, answer_kind, is_rating
from calipers.data.jsonable import plain
from calipers.data.record import ReportCase
from calipers.errors import DatasetFileError, InvalidOptionError
from calipers.gate.human_labels import (
    COLUMNS,
    Label,
    as_in_table,
    is_of_output,
    output_of,
    output_text,
    read_label_file,
)
from calipers.stores.label_queue import read_attempts
from calipers.stores.packing import Record
from calipers.stores.run_info import RunInfo, timestamp
from calipers.stores.store import Store
from calipers.stores.stored_attempt import StoredAttempt
from calipers.views.csv_file import table_lines
from calipers.views.formats import write_chunks

HUMAN: Final = "human"
"""The column of what people said."""
_TITLES: Final = (
    *("case", "attempt", HUMAN, "question", "person", "note", "inputs", "output"),
    *("at", "probability", "seed", "about", "run"),
)
_BLANK: Final = (None, "")
_YES_NO: Final = {"true": True, "yes": True, "false": False, "no": False}


class ImportedLabels(NamedTuple):
    """What came of a file of labels."""

    labels: list[HumanLabel]
    replaced: int
    """Those of them that the person had answered before."""
    blank: int
    """Lines without a label."""


class SheetLine(NamedTuple):
    """An attempt that is to be labelled elsewhere."""

    position: int
    probability: float | None
    seed: int | None


def export_labels(
    store: Store,
    run: RunInfo,
    to: str,
    labels: Sequence[HumanLabel],
    *,
    sheet: Sequence[SheetLine] = (),
    question: str = "",
    person: str = "",
    seed: int | None = None,
) -> None:
    """Write labels of a run to a file that ends in `.csv` or `.jsonl`.

    Args:
        store: that has the run.
        run: the run.
        to: the path; `-` is standard output, as CSV.
        labels: of the run.
        sheet: attempts to be labelled, one line each, after the labels.
        question: of the lines of the sheet.
        person: of the lines of the sheet.
        seed: of the order of the sheet, and of lines that have none.
    """
    is_csv = is_csv_path(to)
    at = {label.position for label in labels} | {line.position for line in sheet}
    read = {attempt.position: (attempt, record) for attempt, record in read_attempts(store, run, sorted(at))}
    asked = {"question": question, "person": person, "run": run.id}
    lines = [
        *(_line(*read[one.position], {**msgspec.to_builtins(one), HUMAN: one.value}) for one in labels),
        *(_line(*read[one.position], {**asked, **_drawn(one, seed)}) for one in sheet),
    ]
    if is_csv:
        rows = ([_cell(line[title]) for title in _TITLES] for line in lines)
        write_chunks(table_lines(_TITLES, rows), to)
    else:
        write_chunks((msgspec.json.encode(plain(line)) + b"\n" for line in lines), to)


def _drawn(line: SheetLine, seed: int | None) -> dict[str, Any]:
    return {"probability": line.probability, "seed": seed if line.seed is None else line.seed}


def is_csv_path(path: str) -> bool:
    """Whether a file of labels is CSV, by its name; otherwise it is JSON Lines.

    Raises:
        InvalidOptionError: its name tells neither.
    """
    suffix = Path(path).suffix.lower()
    if path == "-" or suffix == ".csv":
        return True
    if suffix in {".jsonl", ".json"}:
        return False
    raise InvalidOptionError(f"a file of labels ends in .csv or .jsonl, got {path!r}")


def _line(attempt: StoredAttempt, record: Record, told: Mapping[str, Any]) -> dict[str, Any]:
    about = output_of(record)
    is_about_it = told.get("about") in {*_BLANK, about}  # else the person saw another output
    return {
        **dict.fromkeys(_TITLES),
        **{name: told[name] for name in _TITLES if name in told},
        "case": attempt.case_name,
        "attempt": attempt.repeat,
        "inputs": record.inputs,
        "output": record.output if isinstance(record, ReportCase) and is_about_it else None,
        "about": about if is_about_it else told["about"],
    }


def _cell(value: Any) -> Any:
    """A value as a cell: text, numbers and flags as they are, and anything else as JSON."""
    return value if value is None or isinstance(value, str | bool | int | float) else output_text(value)


# ---------------------------------------------------------------------- back


def import_labels(
    store: Store,
    run: RunInfo,
    path: str | os.PathLike[str],
    *,
    question: str | None = None,
    person: str | None = None,
) -> ImportedLabels:
    """Store the labels in a file, all or nothing.

    Args:
        store: that has the run.
        run: whose attempts were labelled.
        path: of the file.
        question: that lines answer which do not say which.
        person: who labelled the lines that do not say who.

    Raises:
        DatasetFileError: a line cannot be read, names what the run does not have, is of another output, or says something twice.
        OSError: the file cannot be read.
    """
    found, blank = read_label_file(Path(path), HUMAN)
    attempts = list(store.attempts(run.id, parts=False))
    at = {(each.case_name, each.repeat): each.position for each in attempts}
    spelled = {as_in_table(each.case_name): each.case_name for each in attempts}
    found = [
        line if (line.case, line.attempt) in at else line._replace(case=spelled.get(line.case, line.case))
        for line in found
    ]
    before = {_key(label): label for label in store.labels(run=run.id)}
    labels = _of_one_kind([_label(line, run, at, question, person) for line in found], before.values(), found)
    of_places: dict[int, list[tuple[HumanLabel, Label]]] = {}
    for label, line in zip(labels, found, strict=True):
        of_places.setdefault(label.position, []).append((label, line))
    written: list[HumanLabel] = []
    for attempt, record in read_attempts(store, run, sorted(of_places)):
        written += [_about(label, line, record, run) for label, line in of_places[attempt.position]]
    _check_once(labels, found)
    store.add_labels(written)
    return ImportedLabels(written, sum(_key(label) in before for label in written), blank)


def _key(label: HumanLabel) -> tuple[int, str, str]:
    return label.position, label.question, label.person


def _of_one_kind(
    labels: Sequence[HumanLabel], before: Iterable[HumanLabel], lines: Sequence[Label]
) -> list[HumanLabel]:
    """The labels, where texts are read as yes and no, or as numbers, if all answers to their question can be; else they are words."""
    kinds: dict[str, set[str]] = {}
    for label in before:
        kinds.setdefault(label.question, set()).add(answer_kind(label.value))
    texts: dict[str, list[Rating]] = {}
    for label in labels:
        if isinstance(label.value, str):
            texts.setdefault(label.question, []).append(_read(label.value))
        else:
            kinds.setdefault(label.question, set()).add(answer_kind(label.value))
    found: list[HumanLabel] = []
    for label, line in zip(labels, lines, strict=True):
        value, known = label.value, kinds.setdefault(label.question, set())
        if isinstance(value, str):
            read = {answer_kind(each) for each in texts[label.question]}
            value = _read(value) if len(read) == 1 and known <= read else value.strip()
        known.add(answer_kind(value))
        if len(known) > 1:
            raise DatasetFileError(
                f"{line.place}: the answers to {label.question!r} are of two kinds, {' and '.join(sorted(known))}, got {value!r}: give "
                "another --question, or write all in one way"
            )
        found.append(msgspec.structs.replace(label, value=value))
    return found


def _check_once(labels: Iterable[HumanLabel], lines: Iterable[Label]) -> None:
    seen: dict[tuple[int, str, str], str] = {}
    for label, line in zip(labels, lines, strict=True):
        if _key(label) in seen:
            raise DatasetFileError(
                f"{line.place}: {label.person!r} answers {label.question!r} about case {label.case!r} twice: keep one label"
            )
        seen[_key(label)] = line.place


def _label(
    line: Label,
    run: RunInfo,
    at: Mapping[tuple[str, int], int],
    question: str | None,
    person: str | None,
) -> HumanLabel:
    """A line as a label, before its output is looked at."""
    if not line.case:
        raise DatasetFileError(
            f"{line.place}: the line names no case, so there is no attempt to keep its label with: files that only compare a judge "
            "with people are read by `labels:` of a policy"
        )
    position = at.get((line.case, line.attempt))
    if position is None:
        has_case = any(case == line.case for case, _ in at)
        missing = f"attempt {line.attempt} at {line.case!r}" if has_case else f"case {line.case!r}"
        raise DatasetFileError(f"{line.place}: the run has no {missing}: label cases of this run")
    told = {name: line.line[name] for name in COLUMNS if line.line.get(name) not in _BLANK}
    asked, who = _text(told, "question") or question, _text(told, "person") or person
    if not asked or not who:
        way = "--question" if not asked else "--as"
        raise DatasetFileError(
            f"{line.place}: the line does not say {'which question it answers' if not asked else 'who said it'}: add a column, or {way}"
        )
    try:
        return HumanLabel(
            run=run.id,
            position=position,
            case=line.case,
            repeat=line.attempt,
            question=asked,
            person=who,
            value=line.human,
            note=str(told.get("note", "")),
            at=_text(told, "at") or timestamp(),
            probability=line.probability,
            seed=_seed(told),
            about=_text(told, "about"),
        )
    except ValueError as error:
        raise DatasetFileError(f"{line.place}: {error}") from error


def _about(label: HumanLabel, line: Label, record: Record, run: RunInfo) -> HumanLabel:
    """A label with the digest of the output that it is about, which has to be that of the run."""
    about = output_of(record)
    if label.about:
        is_of_it = label.about == about
    elif line.output not in _BLANK:
        is_of_it = is_of_output(line.output, record)
    else:
        is_of_it = line.line.get("run") in {*_BLANK, run.id}
    if not is_of_it:
        raise DatasetFileError(
            f"{line.place}: case {label.case!r} has another output in this run, so the label is not about it: name the run that was "
            "labelled"
        )
    return msgspec.structs.replace(label, about=about)


def _read(value: str) -> Rating:
    """What a text says: yes or no, a number, or a word."""
    text = value.strip()
    if text.lower() in _YES_NO:
        return _YES_NO[text.lower()]
    try:
        number = float(text)
    except ValueError:
        return text
    return (int(number) if number.is_integer() else number) if is_rating(number) else text


def _text(told: Mapping[str, Any], name: str) -> str:
    return str(told.get(name, "")).strip()


def _seed(told: Mapping[str, Any]) -> int | None:
    value = told.get("seed")
    try:
        return None if value is None else int(value)
    except (TypeError, ValueError):
        raise InvalidOptionError(f"seed must be a whole number, got {value!r:.100}") from None
