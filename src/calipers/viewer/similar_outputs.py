"""Outputs that did not pass and mean nearly the same, by their vectors: an offer beside the groups of failures that say the same.

A vector knows words but not their order, so such a group is a hint about what to read together, not a count to publish. It takes a while, so
it is worked out in the background. If there are many cases, an even part of them is looked at, and the answer says how many.
"""

import hashlib
import re
import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYetError
from importlib.util import find_spec
from typing import Final, NamedTuple

import numpy as np

from calipers.data.record import ReportCase
from calipers.errors import NotKnownError
from calipers.models.embeddings import embed, groups_of
from calipers.report.attempt_fields import as_text
from calipers.report.attempt_filter import Term, Wanted
from calipers.stores.label_queue import read_attempts
from calipers.views.transcript import shown_output

from .case_selection import Selection
from .deadline import Deadline, working_until
from .index_builder import PEEK
from .run_index import RunIndex
from .value_column import Array
from .viewed_store import ViewedStore
from .wire import FailureGroup, GroupsAnswer

MOST_CASES: Final = 2_000
"""Cases whose outputs are compared, each with each."""
MOST_GROUPS: Final = 50
_NAMED: Final = 40
"""Cases of a group up to which a filter names them."""
_BEGINNING: Final = 400
_END: Final = 200
"""Characters of a long output that are compared: from its beginning, and from its end."""
_NUMBER: Final = re.compile(r"\d[\d.,:]*")
"""What differs from case to case, and is no meaning."""
_WAIT: Final = 0.5
"""Seconds that a request waits before it is told to ask again."""
_SECONDS: Final = 60.0
_KNOWN: Final = 20
"""Answers that are remembered."""
_AT_ONCE: Final = 100


def is_offered() -> bool:
    """Whether what makes vectors of texts is installed."""
    return find_spec("wordllama") is not None


class _Output(NamedTuple):
    """What an attempt that did not pass answered."""

    row: int
    case_name: str
    text: str


class SimilarOutputs:
    """The groups of similar outputs that were asked for last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="calipers-similar")
        self._known: OrderedDict[tuple[str, str, str], Future[GroupsAnswer]] = OrderedDict()

    def of(self, viewed: ViewedStore, selection: Selection) -> GroupsAnswer:
        """The groups of a selection; without any, and not ready, while they are worked out.

        Raises:
            NotKnownError: wordllama is not installed.
        """
        if not is_offered():
            raise NotKnownError(
                "failures cannot be grouped by what they mean: install that with pip install 'calipers[embeddings]', or ask for by=said"
            )
        index = selection.index
        key = (index.info.id, f"{index.revision} {index.attempts}", selection.q)
        with self._lock:
            known = self._known.pop(key, None)
            if known is None or (known.done() and known.exception() is not None):
                known = self._worker.submit(_worked_out, viewed, selection)
            self._known[key] = known
            while len(self._known) > _KNOWN:
                self._known.popitem(last=False)[1].cancel()
        try:
            return known.result(timeout=_WAIT)
        except NotYetError:
            return GroupsAnswer(by="meaning", groups=[], left_out=0, ungrouped=0, is_ready=False)

    def close(self) -> None:
        """End the work."""
        self._worker.shutdown(wait=False, cancel_futures=True)


def _worked_out(viewed: ViewedStore, selection: Selection) -> GroupsAnswer:
    index = selection.index
    rows = _rows(selection)
    looked_at = rows[:: max(1, -(-len(rows) // MOST_CASES))]
    with working_until(Deadline(_SECONDS)) as deadline:
        outputs = _outputs(viewed, index, looked_at)
        vectors = _vectors([each.text for each in outputs], deadline)
    outputs = outputs[: len(vectors)]
    found = groups_of(vectors)
    made = [_group(index, [outputs[place] for place in places], len(looked_at)) for places in found]
    return GroupsAnswer(
        by="meaning",
        groups=made[:MOST_GROUPS],
        left_out=max(0, len(made) - MOST_GROUPS),
        ungrouped=len(looked_at) - sum(map(len, found)),
        looked_at=len(looked_at),
        of=len(rows),
    )


def _rows(selection: Selection) -> Array:
    """Of each case of the selection that did not pass, the first attempt that did not, but finished; in the order of the dataset."""
    index = selection.index
    missed = np.flatnonzero((index.status == 1) & selection.chosen[index.case_of])
    ordered = missed[np.lexsort((index.positions[missed], index.case_of[missed]))]
    _, first = np.unique(index.case_of[ordered], return_index=True)
    return ordered[first]


def _outputs(viewed: ViewedStore, index: RunIndex, rows: Array) -> list[_Output]:
    """What the attempts answered; those that answered nothing, or with numbers alone, are left out."""
    row_of = dict(zip(index.positions[rows].tolist(), rows.tolist(), strict=True))
    positions = list(row_of)
    found: list[_Output] = []
    for start in range(0, len(positions), _AT_ONCE):
        with viewed.reading() as store:
            for attempt, record in read_attempts(store, index.info, positions[start : start + _AT_ONCE]):
                text = as_text(shown_output(record)).strip() if isinstance(record, ReportCase) else ""
                if any(sign.isalpha() for sign in text[:_BEGINNING]):
                    found.append(_Output(row_of[attempt.position], attempt.case_name, text))
    return found


def _vectors(texts: Sequence[str], deadline: Deadline) -> list[list[float]]:
    """A vector for each text, as far as there is time."""
    found: list[list[float]] = []
    for text in texts:
        if deadline.is_over:
            break
        part = text if len(text) <= _BEGINNING + _END else f"{text[:_BEGINNING]} {text[-_END:]}"
        found += embed([_NUMBER.sub("0", part)])
    return found


def _group(index: RunIndex, outputs: Sequence[_Output], looked_at: int) -> FailureGroup:
    """A group, whose first output stands for all."""
    first = outputs[0]
    names = [each.case_name for each in outputs]
    term = Term(field="case", values=tuple(Wanted(name) for name in names)) if len(names) <= _NAMED else None
    return FailureGroup(
        id=hashlib.blake2b(first.text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest(),
        evaluator=None,
        said=first.text[:PEEK],
        mark="fail",
        cases=len(outputs),
        share=len(outputs) / looked_at,
        example=index.id_of(int(index.case_of[first.row])),
        example_name=first.case_name,
        filter="" if term is None else str(term),
    )
