"""What a judge and people said of the same cases, from a file of labels or from a run in which both have a column.

Ratings are compared as categories: `true` in a CSV file is the `true` of JSON, and 4.0 is 4. Of a repeated case, the first
attempt counts, since attempts at one case are no independent evidence.
"""

import csv
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from calipers.comparison.cases import cases_of
from calipers.comparison.columns import Columns, differing
from calipers.errors import InvalidOptionError
from calipers.record import ReportCase
from calipers.report import Report
from calipers.stats import Interval, clopper_pearson, cohen_kappa

from .policy import HumanAgreement

ReadRun = Callable[[str], Report]
"""Finds the run that a policy names."""


@dataclass(frozen=True, kw_only=True)
class Ratings:
    """The agreement of a judge with people."""

    judge: list[Hashable]
    human: list[Hashable]
    by: Literal["kappa", "share"]

    @property
    def n(self) -> int:
        """Cases that both rated."""
        return len(self.judge)

    @property
    def same(self) -> int:
        """Cases on which both say the same."""
        return sum(a == b for a, b in zip(self.judge, self.human, strict=True))

    @property
    def value(self) -> float | None:
        """Kappa, or the share; `None` if it is not defined."""
        if not self.n:
            return None
        if self.by == "share":
            return self.same / self.n
        found = cohen_kappa(self.judge, self.human)
        return None if found is None else found.value

    def interval(self, confidence: float) -> Interval | None:
        """Of kappa, or of the share."""
        if self.by == "share":
            return clopper_pearson(self.same, self.n, confidence=confidence)
        found = cohen_kappa(self.judge, self.human, confidence=confidence) if self.n else None
        return None if found is None else found.interval

    def needed(self, limit: float, confidence: float) -> int | None:
        """Labels that would tell the agreement from the limit, by how intervals shrink."""
        interval, value = self.interval(confidence), self.value
        if interval is None or value is None or abs(value - limit) < 1e-9:
            return None
        return round(self.n * (interval.width / 2 / abs(value - limit)) ** 2) + 1


def read_ratings(
    wanted: HumanAgreement, judge: str, run: Columns, read_run: ReadRun | None
) -> tuple[list[Hashable], list[Hashable], str | None]:
    """What the judge and people said, and why it does not count for this run; `None` if it does.

    Raises:
        InvalidOptionError: a line lacks a rating, or nobody can find the run.
        OSError: the file cannot be read.
    """
    if wanted.labels is not None:
        pairs = list(_of_file(Path(wanted.labels), wanted.human))
        return [pair[0] for pair in pairs], [pair[1] for pair in pairs], None
    assert wanted.run is not None
    if read_run is None:
        raise InvalidOptionError(f"agreement with the run {wanted.run!r}: pass read_run=, which finds it")
    labelled = Columns(cases_of(read_run(wanted.run)))
    pairs = []
    for case in labelled.cases:
        first = case.attempts[0]
        if isinstance(first, ReportCase):
            said = {result.name: result.value for result in first.results}
            if judge in said and wanted.human in said:
                pairs.append((_category(said[judge]), _category(said[wanted.human])))
    ours = [column for (name, _), column in run.by_key.items() if name == judge]
    theirs = [column for (name, _), column in labelled.by_key.items() if name == judge]
    differs = differing(theirs[0], ours[0]) if ours and theirs else None
    why = (
        None
        if differs is None
        else differs.replace("the baseline", "the labelled run").replace("the candidate", "this one")
    )
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs], why


def _of_file(path: Path, human: str) -> Iterator[tuple[Hashable, Hashable]]:
    for number, line in _lines(path):
        missing = [key for key in ("judge", human) if line.get(key) in {None, ""}]
        if missing:
            raise InvalidOptionError(
                f"{str(path)!r}, line {number}: expected what {' and '.join(missing)} said, got {line!r:.200}"
            )
        yield _category(line["judge"]), _category(line[human])


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    if path.suffix.lower() == ".csv":
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            for line in reader:
                yield reader.line_num, line
        return
    for number, text in enumerate(path.read_bytes().splitlines(), 1):
        if text.strip():
            try:
                yield number, msgspec.json.decode(text, type=dict[str, Any])
            except msgspec.DecodeError as error:
                raise InvalidOptionError(f"{str(path)!r}, line {number}: no JSON object: {error}") from error


def _category(value: Any) -> Hashable:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip().lower()
