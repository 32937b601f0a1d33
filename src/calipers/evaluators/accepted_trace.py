"""Whether an attempt does what was accepted of its case, by a baseline file."""

from dataclasses import dataclass, field
from pathlib import Path

from calipers.comparison.accepted_traces import AcceptedTraces, inputs_of
from calipers.comparison.drift import drift_of
from calipers.data.argument_checks import check_text
from calipers.data.context import EvaluatorContext
from calipers.data.evaluator import Evaluator
from calipers.data.result import EvaluationReason, Skipped
from calipers.errors import InvalidOptionError
from calipers.identity.fingerprint import digest


@dataclass
class FollowsBaseline(Evaluator):
    """The attempt does what some accepted trace of its case says; the reason tells what it does otherwise.

    Skipped for a case of which nothing is accepted, and for an attempt whose trace does not show what would decide. The content of the
    file is part of the identity of the evaluator, so a case is judged again when the file changed.
    """

    path: str
    """The file that `calipers baseline accept` wrote, relative to the current folder. It is read once, before a run."""
    evaluation_name: str | None = field(default=None, kw_only=True)
    """What the result is called; `None` for the class's name."""

    def __post_init__(self) -> None:
        check_text("path of FollowsBaseline", self.path)
        self._accepted: AcceptedTraces | None = None

    async def before_run(self) -> None:
        """Read the file, before anything is paid for.

        Raises:
            InvalidOptionError: it is not there.
            DatasetFileError: something is wrong with it.
        """
        self._read()

    def _read(self) -> AcceptedTraces:
        if not Path(self.path).is_file():
            raise InvalidOptionError(
                f"there is no baseline file {self.path!r}: `calipers baseline accept RUN --out {self.path}` writes it"
            )
        self._accepted = AcceptedTraces.from_file(self.path)
        return self._accepted

    def get_evaluator_version(self) -> str | None:
        """What stands for the accepted traces in the file."""
        traces = [
            (case.name, case.inputs, [trace.key for trace in case.traces]) for case in self._read().cases
        ]
        return digest(repr(traces).encode("utf-8", "backslashreplace"))

    def evaluate(self, ctx: EvaluatorContext) -> EvaluationReason | Skipped:
        """True if it follows; otherwise the reason is the change from the nearest accepted trace."""
        known = self._accepted or self._read()
        accepted = known.find(ctx.name, inputs_of(ctx))
        if accepted is None:
            other = ctx.name is not None and known.has_name(ctx.name)
            what = "the case was accepted with other inputs" if other else "nothing is accepted of this case"
            return Skipped(f"{what}: `calipers baseline accept` accepts what a run did")
        found = drift_of(ctx.trace, ctx.output, accepted)
        if found.state == "unknown":
            return Skipped(f"not known, since of this attempt {found.words}")
        return EvaluationReason(value=found.state == "follows", reason=found.words or None)
