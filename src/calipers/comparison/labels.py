"""What became of labels: from which label to which the cases went."""

from collections import Counter
from collections.abc import Iterable

import msgspec

from calipers.stats.estimate import Estimate, rate

from .cases import Pair
from .change import clusters_of
from .columns import Columns


class LabelMove(msgspec.Struct, frozen=True):
    """Cases that have one label in the baseline and one in the candidate."""

    baseline: str
    candidate: str
    cases: int


class LabelChange(msgspec.Struct, frozen=True, kw_only=True):
    """One column of labels in two runs over the same cases. A case that is repeated has the label it is given most often."""

    name: str
    cases: int
    """Cases with a label in both."""
    moves: tuple[LabelMove, ...]
    """How many went from which label to which, those that stayed included; most frequent first."""
    changed: Estimate | None
    """The share of cases whose label is another one now."""
    warning: str | None = None


def label_change(
    name: str,
    pairs: Iterable[Pair],
    baseline: Columns,
    candidate: Columns,
    *,
    confidence: float,
    warning: str | None = None,
) -> LabelChange | None:
    """Where the labels of a column went; `None` if no case has one in both."""
    moves: Counter[tuple[str, str]] = Counter()
    changed: list[tuple[float, int]] = []
    clusters: list[str | None] = []
    for one, two in pairs:
        before, after = baseline.labels(one, name), candidate.labels(two, name)
        if before and after:
            move = _usual(before), _usual(after)
            moves[move] += 1
            changed.append((float(move[0] != move[1]), 1))
            clusters.append(one.cluster if one.cluster is not None else two.cluster)
    if not moves:
        return None
    return LabelChange(
        name=name,
        cases=moves.total(),
        moves=tuple(LabelMove(*labels, count) for labels, count in moves.most_common()),
        changed=rate(changed, clusters=clusters_of(clusters), confidence=confidence),
        warning=warning,
    )


def _usual(labels: list[str]) -> str:
    """The commonest label; of equally common ones the first given."""
    return labels[0] if len(labels) == 1 else Counter(labels).most_common(1)[0][0]
