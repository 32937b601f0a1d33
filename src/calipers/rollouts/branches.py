"""The rows of a tree of turns: which conversation each belongs to, and which turn it follows."""

from typing import Any


def mark_branches(per_turn: list[dict[str, Any]]) -> list[int]:
    """The places of the last turns of the conversations, in order; where the tree branches, each row gets its own place.

    The rows are in the order of `Graph.walk`, each with its number as `turn`. Where there is more than one conversation,
    each row gets `branch`, the number of the conversation in which it first appears, from 1, and `parent`, the place of
    the row it follows, from 0; `None` for a first turn.
    """
    numbers = [row["turn"] for row in per_turn]
    ends = [
        place
        for place, (this, following) in enumerate(zip(numbers, [*numbers[1:], 1], strict=False))
        if following <= this
    ]
    if len(ends) <= 1:
        return ends
    before: list[int] = []
    branch = 1
    for place, (row, number) in enumerate(zip(per_turn, numbers, strict=True)):
        row["branch"] = branch
        row["parent"] = before[number - 2] if number > 1 else None
        before[number - 1 :] = [place]
        branch += place == ends[branch - 1]
    return ends
