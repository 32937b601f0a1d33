"""What judges of a run say, corrected by people's labels of some attempts: worked out in the background, since it needs every attempt.

They are the corrections that `calipers show` adds to the report of a labelled run.
"""

from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYetError
from threading import Lock
from typing import Final

from calipers.errors import CalipersError
from calipers.evaluators.judge_correction import corrections
from calipers.report.analysis import JudgeCorrection
from calipers.stores.run_info import RunInfo

from .deadline import Deadline, working_until
from .viewed_store import ViewedStore

MOST: Final = 20_000
"""Attempts of a run whose judges are corrected; of longer ones `calipers show` tells."""
_KNOWN: Final = 20
"""Runs whose corrections are remembered."""
_WAIT: Final = 0.2
_SECONDS: Final = 60.0


class LabelCorrections:
    """The corrections that were asked for last."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="calipers-corrections")
        self._known: OrderedDict[tuple[str, str], Future[list[JudgeCorrection]]] = OrderedDict()

    def of(self, viewed: ViewedStore, run: RunInfo, revision: str) -> list[JudgeCorrection] | None:
        """The corrections of a run; empty if no one labelled it, `None` while they are worked out."""
        with viewed.reading() as store:
            if run.attempts > MOST or not store.labels(run=run.id):
                return []
        with self._lock:
            known = self._known.get((run.id, revision))
            if known is None:
                known = self._known[run.id, revision] = self._worker.submit(_worked_out, viewed, run.id)
                if len(self._known) > _KNOWN:
                    self._known.popitem(last=False)
        try:
            return known.result(timeout=_WAIT)
        except NotYetError:
            return None
        except CalipersError:  # it was deleted, or took too long: opening it again says so
            return []

    def close(self) -> None:
        """End the work."""
        self._worker.shutdown(wait=False, cancel_futures=True)


def _worked_out(viewed: ViewedStore, run: str) -> list[JudgeCorrection]:
    with working_until(Deadline(_SECONDS)), viewed.reading() as store:
        return corrections(store.report(run))
