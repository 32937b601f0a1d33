"""How far people have come with correcting a judge: the width of the interval of its corrected rate, with the labels so far.

It is the interval that `calipers show` gives (`calipers.gate.corrected_mean`). Only its width is told while people label: the rate itself, or why
labels do not correct the judge, would tell how the answers turned out.

The run is read once, in the background, without what attempts were given and gave; a label needs no more than a pass over its cases. An answer does not
wait for it: while it is worked out, the width that was known before stands.
"""

import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYetError
from math import ceil
from typing import Final, NamedTuple

import msgspec

from calipers.data.human_label import HumanLabel
from calipers.errors import CalipersError
from calipers.gate.corrected_mean import NotValid
from calipers.stores.run_info import RunInfo

from .judged_run import JudgedRun
from .viewed_store import ViewedStore
from .wire import LabelPlan

MOST: Final = 300_000
"""Attempts of a run that is read for this."""
_RUNS: Final = 2
_MOST_KNOWN: Final = 100
_WAIT: Final = 0.15
"""Seconds that an answer waits for the width."""
CONFIDENCE: Final = 0.95


class Width(NamedTuple):
    """What is known of the corrected rate."""

    width: float | None = None
    labels: int = 0
    """Labelled cases that it rests on."""
    why: str = ""
    """Why it is not known."""

    def about_left(self, wanted: float | None) -> int | None:
        """Labels that would make the interval as narrow as is wanted, if it narrows with their root; `None` if that is not known."""
        if self.width is None or wanted is None:
            return None
        return max(0, ceil(self.labels * ((self.width / wanted) ** 2 - 1)))


class LabelWidths:
    """The widths that were asked for last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="calipers-label-width")
        self._runs: OrderedDict[Hashable, JudgedRun] = OrderedDict()
        self._known: dict[Hashable, tuple[Hashable, Future[Width]]] = {}
        """By question: the state of the labels, and the width with them."""
        self._before: dict[Hashable, Width] = {}

    def width(
        self, viewed: ViewedStore, run: RunInfo, plan: LabelPlan, judge: str, labels: Sequence[HumanLabel]
    ) -> Width:
        """The width with these labels, or the one before if that takes a while."""
        if run.attempts > MOST:
            return Width(why=f"not known: the run has more than {MOST:,} attempts")
        key = (run.id, plan.question, judge)
        state = hash(tuple((each.position, each.person, each.value, each.at) for each in labels))
        with self._lock:
            known = self._known.get(key)
            if known is None or known[0] != state:
                # Labels of an output that is there now are about it, whatever its digest: the run is read without outputs.
                current = [_as_current(each) for each in labels]
                future = self._worker.submit(self._work, viewed, run, plan.question, judge, current)
                known = self._known[key] = (state, future)
                if len(self._known) > _MOST_KNOWN:
                    self._known.pop(next(iter(self._known)))
        try:
            found = known[1].result(timeout=_WAIT)
        except NotYetError:
            return self._before.get(key, Width(why="being worked out"))
        except CalipersError:
            return Width(why="not known: the run could not be read in time")
        self._before[key] = found
        return found

    def _work(
        self,
        viewed: ViewedStore,
        run: RunInfo,
        question: str,
        judge: str,
        labels: Sequence[HumanLabel],
    ) -> Width:
        with viewed.reading() as store:
            key = (run.id, judge, store.revision(run.id, judging=False))
        if key not in self._runs:
            while len(self._runs) >= _RUNS:
                self._runs.popitem(last=False)
            self._runs[key] = JudgedRun(viewed, run, judge)
        found = self._runs[key].corrected(question, labels)
        if isinstance(found, NotValid):
            return Width(why="not known yet")
        interval = found.interval(CONFIDENCE)
        if interval is None:
            return Width(labels=found.n, why="not known yet: too few labels")
        return Width(width=interval.width, labels=found.n)

    def close(self) -> None:
        """End the work."""
        self._worker.shutdown(wait=False, cancel_futures=True)
        self._runs.clear()


def _as_current(label: HumanLabel) -> HumanLabel:
    return msgspec.structs.replace(label, about="")
