"""The cases of a run with what one judge said of them, to hold people's labels against: read without what attempts were given, gave and did."""

from collections.abc import Sequence

from calipers.comparison.case_pairs import Record, cases_of
from calipers.comparison.columns import ColumnKey, Columns
from calipers.data.human_label import HumanLabel
from calipers.data.record import ReportCase
from calipers.gate.corrected_mean import Corrected, NotValid, corrected
from calipers.gate.human_labels import read_labels
from calipers.gate.label_choice import case_weights
from calipers.gate.paired_runs import column_of
from calipers.gate.policy import HumanAgreement
from calipers.stores.run_info import RunInfo
from calipers.stores.runs_to_compare import light_run

from .viewed_store import ViewedStore


class JudgedRun:
    """The cases of a run, with what one judge said of them."""

    def __init__(self, viewed: ViewedStore, run: RunInfo, judge: str) -> None:
        """Read the run.

        Raises:
            StoreError: it cannot be read, or not in time.
        """
        with viewed.reading() as store:
            read = light_run(store, run)
        records: list[Record] = [*read.report.cases, *read.report.failures]
        self._at: dict[int, Record] = {read.positions[each.name]: each for each in records}
        contents = {each.source_case_name or each.name: ((), False) for each in records}
        self.columns = Columns(cases_of(read.report, contents))
        self._key: ColumnKey | None = column_of(self.columns, judge)
        makers = self.columns.by_key[self._key].evaluators if self._key is not None else set[str]()
        for each in records:
            each.metrics = {}
            if isinstance(each, ReportCase):
                each.results = tuple(result for result in each.results if result.evaluator in makers)

    def corrected(self, question: str, labels: Sequence[HumanLabel]) -> Corrected | NotValid:
        """The judge's mean, corrected by people.

        Args:
            question: that people answered.
            labels: their answers, of the outputs that the run has.
        """
        if self._key is None or self._key[1] == "label":
            return NotValid("the run has no such judge of yes and no, or of scores", "name another evaluator")
        said: dict[int, list[HumanLabel]] = {}
        for label in labels:
            said.setdefault(label.position, []).append(label)
        for position, record in self._at.items():
            record.human_labels = tuple(said.get(position, ()))
        wanted = HumanAgreement(question=question, corrects=True)
        return corrected(read_labels(wanted, self._key[0], self.columns, None), self.columns, self._key)

    def weights(self, cases: Sequence[str]) -> list[float]:
        """How many cases each labelled one stands for."""
        found = {} if self._key is None else case_weights(self.columns, self._key, cases)
        return [found.get(case, 1.0) for case in cases]
