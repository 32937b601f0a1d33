"""What people said of cases, beside what a judge said of the same.

It comes from a file of labels, from the store, where people answered a question (`calipers.data.human_label`), or from a column. The last two
are of the run that is looked at, or of another one.

Several people may have answered the question about one attempt. What they say is averaged where a mean is corrected: then the
estimate is of the same thing, what one of them would say, however many people labelled each attempt. For the agreement with a judge, the
label that was given first counts, and later ones do not: a majority would agree better the more people vote, and to leave out attempts
on which they are split would leave out the hard ones. A label of an output that the attempt no longer has does not count, and is reported.

A file of labels is JSON Lines, or CSV with a header, whose columns are separated by commas or semicolons and may be written in
capitals. A line has either what the judge said of the same case (`judge`), which makes it a pair from anywhere, or the name of a
`case` of the run that is looked at, whose judge is then taken. Of a repeated case it says which `attempt`, from 1; without, it is
the first. An `output`, where there is one, has to be that of the attempt, so that labels of another run are not taken for labels of
this one. A `probability`, with which the case was drawn, says that it was not drawn as all others were. A line whose label is blank leaves its case unlabelled; such lines are counted. What cannot be read is refused with the
file and the line, since leaving it out would change how well the judge seems to agree.

Ratings are compared as categories: `true` in a CSV file is the `true` of JSON, and 4.0 is 4. Where the judge says only yes or no,
in one word each, people may write it in another: `yes`, `true`, `pass`, `passed`, `good` and `1` are the same, and so are their
opposites. Of a repeated case, the first attempt counts, since attempts at one case are no independent evidence.
"""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import StringIO
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import msgspec

from calipers.comparison.case_pairs import Record, RunCase, attempt_number, cases_of, pair_cases
from calipers.comparison.columns import Columns
from calipers.comparison.evaluator_changes import ComparedEvaluators
from calipers.data.human_label import HumanLabel, Rating, output_digest
from calipers.data.jsonable import plain
from calipers.data.record import ReportCase
from calipers.errors import DatasetFileError, InvalidOptionError
from calipers.report.report import Report
from calipers.stats.number_text import plural

from .policy import HumanAgreement

JUDGE = "judge"
"""The column of the judge."""
CASE = "case"
"""The column with the name of a case."""
_ByCase: TypeAlias = dict[str, dict[int, list[Rating]]]
"""By the name of a case and the number of an attempt at it, what people said, the first one first."""
_GUARD = re.compile(r"^'(?=[\s\ufeff\u200b]*[=+\-@＝＋－＠]|\t)")  # noqa: RUF001 - full-width signs start formulas, too
"""The apostrophe in front of what a spreadsheet would compute (`calipers.views.csv_file`)."""
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""What a table for spreadsheets shows as escapes."""
COLUMNS = ("question", "person", "note", "at", "probability", "seed", "run", "about")
"""Further columns of a file that is exported from a store; see `calipers.data.human_label`."""
ReadRun = Callable[[str], Report]
"""Finds the run that a policy names."""
_WORDS = (
    ("true", "false"),
    ("yes", "no"),
    ("pass", "fail"),
    ("passed", "failed"),
    ("good", "bad"),
    ("1", "0"),
)
"""What says yes, and what says no."""
_RUNS = ("the labelled run", "this one")
_YES, _NO = (frozenset(words) for words in zip(*_WORDS, strict=True))


class Label(NamedTuple):
    """What people said of one case, and where it stands."""

    place: str
    """The file and the line, to be named in an error."""
    human: Rating
    judge: Rating | None
    """What the judge said; `None` if the line names a case instead."""
    case: str
    """The name of the case; empty beside a `judge`."""
    attempt: int
    """Of a repeated case, from 1."""
    output: Any
    """What the attempt gave, as the file has it; `None` if it does not say."""
    line: dict[str, Any]
    """All that the line says, by column."""
    probability: float | None = None
    """With which the case was drawn; `None` if the line does not say."""


class LabelFile(NamedTuple):
    """What a file says."""

    labels: list[Label]
    blank: int
    """Lines without a label."""


class DrawnCase(NamedTuple):
    """A case that was drawn for labelling."""

    case: str
    probability: float
    """With which it was drawn."""
    draw: int | None
    """The seed of the draw; `None` if that is not known."""


class Labelled(NamedTuple):
    """What people said, beside what the judge said of the same."""

    judge: list[str]
    human: list[str]
    by_case: dict[str, list[list[Rating]]] | None
    """By the name of a case of the run that is looked at, what people said of each of its attempts; `None` if the labels are of other
    cases."""
    stale: str | None
    """Why the labels do not count for this run: they are of another judge. `None` if they do."""
    blank: int = 0
    """Lines of the file without a label."""
    outdated: int = 0
    """Labels in the store of outputs that their attempts no longer have."""
    drawn: tuple[DrawnCase, ...] = ()
    """Cases that were drawn for labelling with a known probability (`calipers.gate.label_choice`)."""

    @property
    def uneven(self) -> bool:
        """Whether cases were drawn with different probabilities, so that each stands for another number of cases."""
        return len({each.probability for each in self.drawn}) > 1

    @property
    def left_out(self) -> str | None:
        """Which lines and labels do not count, in words; `None` if all do."""
        if self.outdated:
            one = self.outdated == 1
            return (
                f"{plural(self.outdated, 'label')} {'is' if one else 'are'} of an output that the run no longer has, and "
                f"{'does' if one else 'do'} not count"
            )
        if not self.blank:
            return None
        return f"{plural(self.blank, 'line')} of the labels {'has' if self.blank == 1 else 'have'} no label and count as unlabelled"


def read_labels(wanted: HumanAgreement, judge: str, run: Columns, read_run: ReadRun | None) -> Labelled:
    """What the judge and people said.

    Args:
        wanted: where the labels are.
        judge: the name of the judge's column.
        run: the run that is looked at.
        read_run: finds a run by what the policy calls it.

    Raises:
        InvalidOptionError: the run is not found, the judge would be compared with itself, or a label is neither yes nor no where
            the judge says true or false.
        DatasetFileError: a line of the file cannot be read, or names what the run does not have.
        OSError: the file cannot be read.
    """
    if wanted.human == (JUDGE if wanted.labels is not None else judge):
        raise InvalidOptionError(
            f"human: {wanted.human!r} is the judge itself, which always agrees: name the column of what people said"
        )
    if wanted.labels is not None:
        lines, blank = read_label_file(Path(wanted.labels), wanted.human)
        pairs = [(line.judge, line.human) for line in lines if line.judge is not None]
        if len(pairs) == len(lines):
            return _labelled(pairs, blank=blank)
        if pairs:
            raise DatasetFileError(
                f"{str(wanted.labels)!r}: some lines have what the judge said and others only a case: use one kind"
            )
        by_case = _by_case(lines, run)
        drawn = _drawn((line.case, line.probability, None) for line in lines)
        return _labelled(_pairs(run, judge, by_case), by_case, blank=blank, drawn=drawn)
    if wanted.run is None:
        by_case, outdated = _people(run, wanted)
        drawn = _drawn(
            (case.name, label.probability, label.seed)
            for case in run.cases
            for record in case.attempts
            for label in answers(record, wanted.question or "")[0]
        )
        return _labelled(_pairs(run, judge, by_case), by_case, outdated=outdated, drawn=drawn)
    if read_run is None:
        raise InvalidOptionError(f"agreement with the run {wanted.run!r}: pass read_run=, which finds it")
    labelled = Columns(cases_of(read_run(wanted.run)))
    by_case, outdated = _people(labelled, wanted)
    rated = _pairs(labelled, judge, by_case)
    return _labelled(rated, stale=_how_it_differs(labelled, run, judge), outdated=outdated)


def answers(record: Record, question: str) -> tuple[list[HumanLabel], int]:
    """What people answered about an attempt, the first one first; and how many labels are of an output that it no longer has."""
    said = [label for label in record.human_labels if label.question == question]
    if not said:
        return [], 0
    output = output_of(record)
    now = [label for label in said if label.about in {"", output}]
    return sorted(now, key=lambda label: label.at), len(said) - len(now)


def output_of(record: Record) -> str:
    """What the output of an attempt is known by in labels; of a task that failed, its error stands for it."""
    return output_digest(record.output if isinstance(record, ReportCase) else {"error": record.error_type})


def _people(run: Columns, wanted: HumanAgreement) -> tuple[_ByCase, int]:
    """What people said of the cases of a run, and how many labels no longer count."""
    if wanted.question is None:
        return _by_column(run, wanted.human), 0
    found: _ByCase = {}
    outdated, asked = 0, set[str]()
    for case in run.cases:
        for record in case.attempts:
            asked.update(label.question for label in record.human_labels)
            said, gone = answers(record, wanted.question)
            outdated += gone
            if said:
                found.setdefault(case.name, {})[attempt_number(record)[0]] = [label.value for label in said]
    if asked and wanted.question not in asked:
        there = ", ".join(map(repr, sorted(asked)))
        raise InvalidOptionError(f"no one was asked {wanted.question!r} about this run; there are {there}")
    return found, outdated


def _drawn(found: Iterable[tuple[str, float | None, int | None]]) -> tuple[DrawnCase, ...]:
    """The cases that were drawn with a known probability."""
    return tuple(
        DrawnCase(case, probability, draw) for case, probability, draw in found if probability is not None
    )


def yes_or_no(label: Rating) -> bool:
    """What a label says where the judge passes or fails."""
    category = _category(label)
    if category not in _YES | _NO:
        raise InvalidOptionError(
            f"the label {label!r} is neither yes nor no: write true or false where the judge passes or fails"
        )
    return category in _YES


def _labelled(
    pairs: Iterable[tuple[Rating, Rating]],
    by_case: _ByCase | None = None,
    stale: str | None = None,
    blank: int = 0,
    outdated: int = 0,
    drawn: tuple[DrawnCase, ...] = (),
) -> Labelled:
    rated = list(pairs)
    judge, human = ([_category(pair[side]) for pair in rated] for side in (0, 1))
    answers = set(judge)
    if answers <= {"true", "false"}:
        human = ["true" if yes_or_no(label) else "false" for _, label in rated]
    elif answers <= _YES | _NO and max(len(answers & _YES), len(answers & _NO)) == 1:
        yes, no = next(pair for pair in _WORDS if answers.intersection(pair))
        human = [yes if each in _YES else no if each in _NO else each for each in human]
        judge = [yes if each in _YES else no for each in judge]
    of_cases = None if by_case is None else {name: list(labels.values()) for name, labels in by_case.items()}
    return Labelled(judge, human, of_cases, stale, blank, outdated, drawn)


def _said_by(case: RunCase, column: str) -> dict[int, Rating]:
    """What a column says of the attempts at a case, by their number."""
    return {
        attempt_number(record)[0]: result.value
        for record in case.attempts
        if isinstance(record, ReportCase)
        for result in record.results
        if result.name == column
    }


def _by_column(run: Columns, human: str) -> _ByCase:
    """What people said of the cases of a run, by a column of it."""
    found = {case.name: _said_by(case, human) for case in run.cases}
    return {name: {number: [value] for number, value in said.items()} for name, said in found.items() if said}


def _by_case(lines: Sequence[Label], run: Columns) -> _ByCase:
    """What a file says of the cases of a run; each line is of an attempt that the run has."""
    cases = {case.name: {attempt_number(each)[0]: each for each in case.attempts} for case in run.cases}
    spelled = {as_in_table(name): name for name in cases}
    found: _ByCase = {}
    for told in lines:
        line = told if told.case in cases else told._replace(case=spelled.get(told.case, told.case))
        record = cases.get(line.case, {}).get(line.attempt)
        if record is None:
            missing = (
                f"attempt {line.attempt} at {line.case!r}" if line.case in cases else f"case {line.case!r}"
            )
            raise DatasetFileError(f"{line.place}: the run has no {missing}: label cases of this run")
        if not is_of_output(line.output, record):
            raise DatasetFileError(
                f"{line.place}: case {line.case!r} has another output in this run, so the label is not about it: label this run, "
                "or name the labelled one with run:"
            )
        of_case = found.setdefault(line.case, {})
        if line.attempt in of_case:
            raise DatasetFileError(f"{line.place}: case {line.case!r} is labelled twice: keep one label")
        of_case[line.attempt] = [line.human]
    return found


def _pairs(run: Columns, judge: str, by_case: _ByCase) -> Iterator[tuple[Rating, Rating]]:
    """What the judge and people said of the first attempt at each case that both have."""
    for case in run.cases:
        said, labels = _said_by(case, judge), by_case.get(case.name, {})
        first = min(said.keys() & labels.keys(), default=None)
        if first is not None:
            yield said[first], labels[first][0]


def is_of_output(told: object, record: Record) -> bool:
    """Whether what a file says an attempt gave is what it gave; a file that does not say is believed."""
    given = record.output if isinstance(record, ReportCase) else None
    if told is None or given is None:
        return True
    one, other = (output_text(as_in_table(each) if isinstance(each, str) else each) for each in (told, given))
    return one == other


def output_text(value: object) -> str:
    """An output as a file of labels may have it: text as it is, and anything else as JSON."""
    return (
        value.strip()
        if isinstance(value, str)
        else msgspec.json.encode(plain(value), order="sorted").decode()
    )


def as_in_table(text: str) -> str:
    r"""A text as a table for spreadsheets has it: lines end by `\n`, and control characters are escapes such as `\x1b`."""
    lines = text.replace("\r\n", "\n")
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), lines)


def _how_it_differs(labelled: Columns, run: Columns, judge: str) -> str | None:
    """How the judge differs between two runs, on any case; `None` if it looks the same.

    It is compared on the cases of both; on all, where none of these has its result in both. Labels of a judge that one case brings
    say nothing of another judge, so a single case counts.
    """
    pairs, _ = pair_cases(labelled.cases, run.cases)
    found = ComparedEvaluators.of(pairs)
    if not found.has_results(judge):
        found = ComparedEvaluators.of((), labelled.cases, run.cases)
    both = (each for each in found.changed(judge) if each.baseline and each.candidate)
    return found.differing(judge, _RUNS) or next(
        (f"on case {each.case!r}: {each.text(_RUNS)}" for each in both), None
    )


def _category(value: Rating) -> str:
    text = str(value).strip().lower()
    whole, dot, part = text.partition(".")
    return whole if dot and whole.lstrip("-").isdigit() and not part.strip("0") else text


def read_label_file(path: Path, human: str) -> LabelFile:
    """What people said (in the column `human`), line by line; a file that ends in `.csv` is CSV, any other JSON Lines."""
    lines = list((_csv_lines if path.suffix.lower() == ".csv" else _json_lines)(path, human))
    labels = [
        _label(path, number, line, human)
        for number, line in lines
        if human not in line or not _is_blank(line[human])
    ]
    return LabelFile(labels, len(lines) - len(labels))


def _label(path: Path, number: int, line: dict[str, Any], human: str) -> Label:
    place, said = f"{str(path)!r}, line {number}", _rating(path, number, line, human)
    if JUDGE in line or CASE not in line:
        return Label(place, said, _rating(path, number, line, JUDGE), "", 1, None, line)
    given = line.get("attempt")
    attempt = "1" if _is_blank(given) else str(given).strip()
    if not attempt.isdecimal() or int(attempt) < 1:
        raise _wrong(path, number, f"expected the number of an attempt, from 1, got {_cut(attempt)}")
    case = str(_rating(path, number, line, CASE))
    given = line.get("probability")
    probability = None if _is_blank(given) else _share(path, number, given)
    return Label(place, said, None, case, int(attempt), line.get("output"), line, probability)


def _share(path: Path, number: int, given: object) -> float:
    """A probability, as a line has it."""
    try:
        found = float(str(given))
    except ValueError:
        found = 0.0
    if not 0 < found <= 1:
        raise _wrong(path, number, f"expected a probability above 0 and up to 1, got {_cut(given)}")
    return found


def _rating(path: Path, number: int, line: dict[str, Any], column: str) -> Rating:
    value = line.get(column)
    if _is_blank(value):
        raise _wrong(path, number, f"expected what {column!r} said, got {_cut(line)}")
    if not isinstance(value, Rating):
        raise _wrong(path, number, f"expected text, a number, true or false as {column!r}, got {_cut(value)}")
    return value


def _is_blank(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _json_lines(path: Path, human: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, text in enumerate(_read_text(path).split("\n"), 1):
        if not text.strip():
            continue
        try:
            yield number, msgspec.json.decode(text, type=dict[str, Any])
        except (msgspec.DecodeError, RecursionError) as error:
            way = f'one object in each line, such as {{"{JUDGE}": true, "{human}": false}}; a CSV file ends in .csv'
            raise _wrong(path, number, f"expected {way}, got {_cut(text)}: {error}") from error


def _csv_lines(path: Path, human: str) -> Iterator[tuple[int, dict[str, Any]]]:
    text = _read_text(path)
    rows = csv.reader(StringIO(text, newline=""), strict=True, delimiter=_separator(text))
    header: list[str] | None = None
    while True:
        try:
            row = next(rows, None)
        except csv.Error as error:
            raise _wrong(path, rows.line_num, f"this is no CSV: {error}") from error
        if row is None:
            return
        if header is None:
            header = _named(row, human)
            if header.count(human) != 1 or max(header.count(JUDGE), header.count(CASE)) != 1:
                wanted = f"one column {human!r} and one of {JUDGE!r} or {CASE!r}"
                raise _wrong(path, rows.line_num, f"expected {wanted}, got {_cut(', '.join(header))}")
        elif len(row) > len(header):
            raise _wrong(
                path, rows.line_num, f"expected {len(header)} cells, as in the header, got {_cut(row)}"
            )
        elif any(row):
            cells = (_GUARD.sub("", cell) for cell in row)
            yield rows.line_num, dict(zip_longest(header, cells, fillvalue=""))


def _separator(text: str) -> str:
    """What separates the columns: a spreadsheet writes semicolons where the comma is the decimal point."""
    header = text.lstrip().partition("\n")[0]
    return ";" if header.count(";") > header.count(",") else ","


def _named(header: list[str], human: str) -> list[str]:
    """The header, with the columns that are read spelled as they are asked for."""
    spelled = {name.casefold(): name for name in (JUDGE, CASE, "attempt", "output", *COLUMNS, human)}
    names = [name.strip() for name in header]
    known = {name: wanted for name in names if (wanted := spelled.get(name.casefold())) not in names}
    return [known.get(name) or name for name in names]


def _read_text(path: Path) -> str:
    data = path.read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        byte = data[error.start : error.start + 1]
        raise _wrong(
            path, number, f"expected UTF-8, got the byte {byte!r}: save the file as UTF-8"
        ) from error


def _wrong(path: Path, number: int, what: str) -> DatasetFileError:
    return DatasetFileError(f"{str(path)!r}, line {number}: {what}")


def _cut(value: object) -> str:
    try:
        text = repr(value)
    except RecursionError:
        text = f"a {type(value).__name__} that is nested too deep"
    return text if len(text) <= 200 else f"{text[:200]}…"
