"""Comparisons as JSON, each number with the sentence that says what it means.

`calipers_comparisons` is the version of the file; each of its `comparisons` is what `Comparison.to_dict` gives, with the
field `words` added to the conclusion and to every change. `Comparison.from_dict` reads each of them back.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from calipers.comparison.change import Change
from calipers.comparison.comparison import Comparison, check_comparisons, ranks

from .words import lead, sentence

FORMAT_VERSION = 1


def comparisons_json(comparisons: Sequence[Comparison]) -> str:
    """The comparisons as strict JSON, indented."""
    check_comparisons(comparisons)
    data = {
        "calipers_comparisons": FORMAT_VERSION,
        "ranks": [msgspec.to_builtins(rank) for rank in ranks(comparisons)],
        "comparisons": [_data(each) for each in comparisons],
    }
    return msgspec.json.format(msgspec.json.encode(data), indent=2).decode() + "\n"


def _data(comparison: Comparison) -> dict[str, Any]:
    data = comparison.to_dict()
    data["conclusion"]["words"] = list(lead(comparison))
    if comparison.pass_rate is not None:
        data["pass_rate"]["words"] = sentence(comparison.pass_rate)
    for name in ("slices", "evaluators", "measures"):
        data[name] = list(_worded(data[name], getattr(comparison, name)))
    return data


def _worded(data: Iterable[dict[str, Any]], changes: Iterable[Change]) -> Iterable[dict[str, Any]]:
    return ({**each, "words": sentence(change)} for each, change in zip(data, changes, strict=True))
