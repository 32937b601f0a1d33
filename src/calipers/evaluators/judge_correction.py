"""What people would say of all cases: a judge's mean, and the same corrected by people's labels of some cases.

`calipers.gate.corrected_mean` says which labels allow it, and what has to be so for it to hold.
"""

from dataclasses import dataclass
from os import PathLike, fspath

from calipers.comparison.case_pairs import Record, cases_of
from calipers.comparison.columns import Columns
from calipers.errors import InvalidOptionError
from calipers.gate.corrected_mean import NotValid, agreement_of, corrected
from calipers.gate.human_labels import read_labels
from calipers.gate.label_choice import judge_column
from calipers.gate.policy import HumanAgreement
from calipers.report.analysis import JudgeCorrection
from calipers.report.report import Report
from calipers.report.report_evaluator import ReportEvaluator, ReportEvaluatorContext
from calipers.stats.number_text import plural


@dataclass
class JudgeCorrectionEvaluator(ReportEvaluator):
    """Corrects the mean of a judge by people's labels.

    `JudgeCorrectionEvaluator("helpful", labels="labels.csv")` reads them from a file, which names cases of the run, or has what the
    judge said of other cases; `JudgeCorrectionEvaluator("helpful", question="Is it helpful?")` takes what people answered in the store, and
    `JudgeCorrectionEvaluator("helpful", human="people")` a column of the report.
    """

    judge: str
    """The name of the judge's column: assertions, or scores."""
    labels: str | PathLike[str] | None = None
    """A file of labels, CSV or JSON Lines; `None`: people have a column in the report."""
    human: str = "human"
    """The column, of the file or of the report, that holds what people said."""
    question: str | None = None
    """The question that people answered with `calipers label`; then there is neither a file nor a column."""

    def evaluate(self, ctx: ReportEvaluatorContext) -> JudgeCorrection:
        """The judge's mean, and the corrected one.

        Raises:
            InvalidOptionError: the report has no such judge, or a label is not what the judge gives.
            DatasetFileError: a line of the file cannot be read, or names what the report does not have.
            OSError: the file cannot be read.
        """
        run = Columns(cases_of(ctx.report))
        key = judge_column(run, self.judge)
        summary = next(each for each in ctx.report.summaries().values() if (each.name, each.kind) == key)
        assert summary.estimate is not None
        source = None if self.labels is None else fspath(self.labels)
        wanted = HumanAgreement(labels=source, human=self.human, question=self.question, corrects=True)
        labelled = read_labels(wanted, key[0], run, None)
        is_rate = key[1] == "assertion"
        found = corrected(labelled, run, key)
        share, kappa = agreement_of(labelled, found) if is_rate else (None, None)
        value = interval = method = None
        if isinstance(found, NotValid):
            no_column = self.labels is self.question is None and not any(
                name == self.human for name, _ in run.by_key
            )
            why = f"the report has no column {self.human!r} of what people said" if no_column else found.said
            note = f"not corrected: {why}; {found.advice}"
        else:
            value, interval, method = found.found(0.95)
            what = "rate" if is_rate else "mean"
            own = f"no correction but the labels' own {what}, since the judge makes it no more certain; it "
            note = f"{'' if found.uses_judge else own}holds if {found.holds_if}"
        unjudged = sum(not run.scores(case, key) for case in run.cases)
        if unjudged:
            note += f"; {unjudged:,} of {plural(len(run.cases), 'case')} are left out, which {key[0]!r} did not judge"
        if labelled.left_out is not None:
            note += f"; {labelled.left_out}"
        return JudgeCorrection(
            title=f"{key[0]}, {'by the labels alone' if method == 'labels alone' else 'corrected by people'}",
            note=note,
            judge=key[0],
            judged=summary.estimate,
            value=value,
            interval=interval,
            method=None if value is None else method,
            people=None if isinstance(found, NotValid) else found.labelled,
            labels=len(labelled.judge) if labelled.by_case is None else len(labelled.by_case),
            agreement=share,
            kappa=kappa,
            is_rate=is_rate,
        )


def corrections(report: Report) -> list[JudgeCorrection]:
    """The corrections of all judges whose column is called like a question that people answered about the report's attempts.

    Judges that the report has a correction of already are left out. Labels that are not what a judge gives, such as words for a judge of
    yes and no, correct nothing, and the note says so: no one asked for the correction, and the report is shown without it.
    """
    records: list[Record] = [*report.cases, *report.failures]
    asked = {label.question for record in records for label in record.human_labels}
    done = {each.judge for each in report.analyses if isinstance(each, JudgeCorrection)}
    context = ReportEvaluatorContext(name=report.name, report=report)
    found: list[JudgeCorrection] = []
    for name, summary in report.summaries().items() if asked - done else ():
        if name not in asked - done or summary.estimate is None:
            continue
        try:
            found.append(JudgeCorrectionEvaluator(name, question=name).evaluate(context))
        except InvalidOptionError as error:
            found.append(
                JudgeCorrection(
                    title=f"{name}, corrected by people",
                    note=f"not corrected: {error}",
                    judge=name,
                    judged=summary.estimate,
                    value=None,
                    labels=0,
                    is_rate=summary.kind == "assertion",
                )
            )
    return found
