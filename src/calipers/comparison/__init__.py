"""Two or more reports side by side: what changed, and is it noise."""

from typing import TYPE_CHECKING

from calipers.late import late_names

if TYPE_CHECKING:
    from .cases import ChangedCase, Pairing
    from .change import Change
    from .comparison import Comparison, Side, compare_many, compare_reports
    from .conclusion import Conclusion
    from .flips import Flip
    from .labels import LabelChange, LabelMove
    from .rank import Rank, ranks
    from .yardstick import ChangedEvaluator

_HOMES = {
    "Change": ".change",
    "ChangedCase": ".cases",
    "ChangedEvaluator": ".yardstick",
    "Comparison": ".comparison",
    "Conclusion": ".conclusion",
    "Flip": ".flips",
    "LabelChange": ".labels",
    "LabelMove": ".labels",
    "Pairing": ".cases",
    "Rank": ".rank",
    "Side": ".comparison",
    "compare_many": ".comparison",
    "compare_reports": ".comparison",
    "ranks": ".rank",
}

__all__ = [
    "Change",
    "ChangedCase",
    "ChangedEvaluator",
    "Comparison",
    "Conclusion",
    "Flip",
    "LabelChange",
    "LabelMove",
    "Pairing",
    "Rank",
    "Side",
    "compare_many",
    "compare_reports",
    "ranks",
]


if not TYPE_CHECKING:
    __getattr__, __dir__ = late_names(__name__, _HOMES, globals())
