"""Kinds of failure: what failures have in common, how large a share each kind has, and what that tells of kinds that were not seen.

Failures are of one kind where the same assertions did not hold, where a choice such as the attack is the same, or where their texts mean nearly the same.

**Shares are of users only where trials were draws of the space** (`RandomDraws`): then each has its interval, and the counts tell of kinds that were not seen. A search goes
where it found something, so of its failures there are the counts alone. The intervals are Clopper and Pearson's, of each kind by itself. They are exact where kinds were fixed before, as by
assertions or by a choice; kinds by meaning are made of the failures that are counted, so that theirs are approximate.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Literal, TypeAlias, get_args

from calipers.data.argument_checks import check_choice, check_flag, check_number, did_you_mean
from calipers.data.value_text import shorten
from calipers.errors import InvalidOptionError
from calipers.models.embeddings import NEAR, embed, groups_of
from calipers.rollouts.rollout_outcome import as_text, first_success
from calipers.stats.interval import Interval, clopper_pearson
from calipers.stats.number_text import percent, plural
from calipers.stats.unseen import UnseenKinds, unseen_kinds

from .failure_rate import unseen_text
from .findings import Findings
from .trial_outcome import Outcome

Side = Literal["inputs", "output"]
_NAME = 80
"""Characters of a text that names a kind."""


@dataclass(frozen=True)
class Alike:
    """Sorts failures by their texts: those that mean nearly the same are of one kind. It needs `pip install 'calipers[embeddings]'`.

    A vector knows words and not their order, so the kinds are a hint about what to read together.
    """

    side: Side = "inputs"
    """Whose texts: of the inputs, which of a conversation are what the user said, or of the output."""
    _: KW_ONLY
    near: float = NEAR
    """The least cosine of two texts that mean nearly the same."""

    def __post_init__(self) -> None:
        check_choice("side", self.side, get_args(Side))
        check_number("near", self.near, above=0, at_most=1)

    def text(self, outcome: Outcome) -> str:
        """The text of a failure."""
        graph = outcome.rollout
        if graph is None:
            return as_text(
                outcome.proposal.inputs if self.side == "inputs" else outcome.error or outcome.output
            )
        path = first_success(graph) or list(graph.walk())
        if self.side == "inputs":
            return "\n".join(as_text(node.attack) for node in path)
        return as_text(path[-1].response) if path else ""


By: TypeAlias = str | Callable[[Outcome], Hashable] | Alike | None


@dataclass(frozen=True)
class FailureKind:
    """A kind of failure."""

    name: str
    """The assertions that did not hold, the option of the choice, or the text in the middle of those that are alike."""
    outcomes: tuple[Outcome, ...]
    """The failures; of those that are alike, the one in the middle comes first."""
    share: float
    """Of all failures that were found."""
    share_interval: Interval | None
    """Where its share of the failures in use may lie; `None`: they were not found by draws of the space."""
    rate: float | None
    """How likely a draw of the space fails in this way; `None`: they were not found by draws."""
    rate_interval: Interval | None


@dataclass(frozen=True)
class FailureKinds:
    """Kinds of failure, the most frequent first."""

    kinds: tuple[FailureKind, ...]
    unseen: UnseenKinds | None
    """What they tell of kinds that were not seen; `None`: there are no failures, or they were not found by draws of the space."""

    def __str__(self) -> str:
        lines = [_line(kind) for kind in self.kinds]
        if self.unseen is not None:
            lines.append(unseen_text(self.unseen))
        return "\n".join(lines) or "no failures"


def failure_kinds(found: Findings, by: By = None, *, drawn: bool | None = None) -> FailureKinds:
    """Sort the failures that a search found.

    Args:
        found: what it found.
        by: `None`: the assertions that did not hold, or the error; the name of a choice, such as `"attack"`; `Alike(...)`: what means nearly the same; or a
            function of an outcome.
        drawn: whether the trials are draws of the space; `None`: if the strategy says so, as `RandomDraws` does.

    Raises:
        InvalidOptionError: a failure has no such choice.
        MissingExtraError: wordllama is not installed, which `Alike` needs.
    """
    failures = found.failures
    independent = (
        found.estimate is not None and found.estimate.unseen is not None
        if drawn is None
        else check_flag("drawn", drawn)
    )
    sorted_ = _alike(failures, by) if isinstance(by, Alike) else _by_key(failures, by)
    sizes = [len(outcomes) for _, outcomes in sorted_]
    known = len(found.outcomes) - found.unknown
    kinds = [
        FailureKind(
            name,
            tuple(outcomes),
            len(outcomes) / len(failures),
            clopper_pearson(len(outcomes), len(failures)) if independent else None,
            len(outcomes) / known if independent else None,
            clopper_pearson(len(outcomes), known) if independent else None,
        )
        for name, outcomes in sorted(sorted_, key=lambda kind: (-len(kind[1]), kind[1][0].number))
    ]
    return FailureKinds(tuple(kinds), unseen_kinds(sizes) if independent else None)


def _by_key(
    failures: Sequence[Outcome], by: "str | Callable[[Outcome], Hashable] | None"
) -> list[tuple[str, list[Outcome]]]:
    def key(outcome: Outcome) -> Hashable:
        if by is None:
            return outcome.signature or "failure"
        if callable(by):
            return by(outcome)
        choices = outcome.proposal.choices
        if by not in choices:
            there = f": there are {', '.join(choices)}" if choices else ""
            raise InvalidOptionError(
                f"trial {outcome.number} has no choice {by!r}{did_you_mean(by, choices)}{there}"
            )
        return as_text(choices[by])

    found: dict[Hashable, list[Outcome]] = {}
    for outcome in failures:
        found.setdefault(key(outcome), []).append(outcome)
    return [(str(name), outcomes) for name, outcomes in found.items()]


def _alike(failures: Sequence[Outcome], by: Alike) -> list[tuple[str, list[Outcome]]]:
    with_text: dict[str, list[Outcome]] = {}
    for outcome in failures:
        with_text.setdefault(by.text(outcome), []).append(outcome)
    texts = list(with_text)
    groups = groups_of(embed(texts), by.near)
    grouped = {place for group in groups for place in group}
    groups += [[place] for place in range(len(texts)) if place not in grouped]
    return [
        (
            shorten(" ".join(texts[group[0]].split()), _NAME),
            [each for place in group for each in with_text[texts[place]]],
        )
        for group in groups
    ]


def _line(kind: FailureKind) -> str:
    told = [f"{kind.name}: {plural(len(kind.outcomes), 'failure')}"]
    if kind.share_interval is not None and kind.rate is not None and kind.rate_interval is not None:
        told.append(f"{_with_ends(kind.share, kind.share_interval)} of them")
        told.append(f"{_with_ends(kind.rate, kind.rate_interval)} of all draws")
    return ", ".join(told)


def _with_ends(rate: float, ends: Interval) -> str:
    return f"{percent(rate)} [{percent(ends.low, unit=False)}, {percent(ends.high, unit=False)}]"
