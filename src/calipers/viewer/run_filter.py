"""Which runs of a list are meant: the grammar of `calipers.report.attempt_filter`, with what runs have.

| term | meets it |
|---|---|
| `nightly`, `"order agent"` | the name, the dataset, the task, the id or the commit has this in it |
| `name:`, `dataset:`, `task:`, `version:`, `commit:`, `evaluator:` | these; `*` at the end stands for any ending |
| `state:running` | `running`, `finished`, `interrupted`, `failed`, `abandoned` |
| `gate:pass` | the verdict of a gate: `pass`, `fail`, `worse`, `inconclusive`, `undecided` |
| `rate>0.9`, `cost>1`, `duration>10min` | the pass rate, US dollars, how long it took |
| `attempts>100`, `cases:`, `failures>0`, `repeat>1` | how many |
| `time>2026-11-01` | when it began |

What is not known of a run, such as the rate of one that was not counted yet, meets neither a term nor its opposite.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, get_args

from calipers.report.attempt_fields import Kind
from calipers.report.attempt_filter import PlacedTerm, parse_terms

from .wire import RunRow, RunState


class RunField(NamedTuple):
    """Something that a term can ask about a run."""

    kind: Kind
    read: Callable[[RunRow], Sequence[Any] | None]
    """Its values; `None`: not known."""
    about: str
    """What it means, in a few words."""
    choices: tuple[str, ...] = ()
    is_keyed: bool = False


def _one(value: Any) -> list[Any] | None:
    return None if value is None else [value]


def _some(value: Any) -> list[Any]:
    return [] if value is None else [value]


def _moment(text: str) -> list[datetime] | None:
    with suppress(ValueError):
        found = datetime.fromisoformat(text)
        return [found if found.tzinfo is not None else found.replace(tzinfo=UTC)]
    return None


def _texts(row: RunRow) -> list[str]:
    known = (row.name, row.dataset, row.task, row.id, row.commit)
    return [text for text in known if text is not None]


RUN_FIELDS: Final[Mapping[str, RunField]] = {
    "name": RunField("name", lambda row: [row.name], "the name of the run"),
    "dataset": RunField("name", lambda row: _some(row.dataset), "the name of its dataset"),
    "state": RunField("word", lambda row: [row.state], "what became of it", get_args(RunState)),
    "rate": RunField("number", lambda row: None if row.rate is None else [row.rate.value], "the pass rate, from 0 to 1"),
    "cost": RunField("number", lambda row: None if row.cost is None else [row.cost.dollars], "US dollars, as far as they are known"),
    "time": RunField("time", lambda row: _moment(row.started_at), "when it began"),
    "duration": RunField("seconds", lambda row: _one(row.seconds), "how long it took"),
    "gate": RunField(
        "word",
        lambda row: None if row.gate is None else [row.gate.outcome.lower()],
        "the verdict of a gate",
        ("pass", "fail", "worse", "inconclusive", "undecided"),
    ),
    "commit": RunField("name", lambda row: _some(row.commit), "the git commit, or its beginning with a * after it"),
    "task": RunField("name", lambda row: _some(row.task), "the name of the task"),
    "version": RunField("name", lambda row: _some(row.task_version), "the version of the task"),
    "evaluator": RunField("name", lambda row: row.evaluators, "an evaluator that judged it"),
    "attempts": RunField("number", lambda row: [row.attempts], "attempts that it made"),
    "cases": RunField("number", lambda row: _one(row.cases), "cases that it tried"),
    "failures": RunField("number", lambda row: [row.failures], "attempts whose task did not finish"),
    "repeat": RunField("number", lambda row: [row.repeat], "attempts at each case"),
    "text": RunField("text", _texts, "the name, dataset, task, id or commit"),
}  # fmt: skip
"""What a filter can ask about runs, by its name."""


class RunFilter(NamedTuple):
    """Terms, all of which a run has to meet."""

    terms: list[PlacedTerm]

    @classmethod
    def read(cls, text: str) -> "RunFilter":
        """The filter that a text describes; an empty one lets every run through.

        Raises:
            FilterError: it is not a filter; the message says where, and which fields there are.
        """
        return cls(parse_terms(text, RUN_FIELDS))

    def matches(self, row: RunRow) -> bool:
        """Whether a run is known to meet all terms."""
        return all(
            placed.term.is_met_by(RUN_FIELDS[placed.term.field].read(row), RUN_FIELDS) is True
            for placed in self.terms
        )
