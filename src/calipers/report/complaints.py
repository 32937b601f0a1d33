"""What is said against an attempt: by evaluators that did not pass it or did not finish, or by the error of its task.

Two complaints are *alike* if the same evaluator, or the task, said the same. What differs only in quoted text, lists and objects,
numbers and ids is the same: these are shown as `<…>`. So `expected 'Lima', got 'Cusco'` and `expected 'Rome', got 'Milan'` are alike:
`expected <…>, got <…>`.
"""

import hashlib
import re
from typing import Final, NamedTuple

from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.data.result import EvaluationResult
from calipers.stats.number_text import number

MASK: Final = "<…>"
"""Stands for what differs."""

_READ = 400
"""Characters of a complaint that are compared."""
_QUOTED = re.compile(r"""(?<![\w<])b?(['"`])(?:\\.|(?!\1(?!\w)).)*(?:\1|$)""")
_BRACKETS = re.compile(r"\[[^\[\]{}]*\]|\{[^\[\]{}]*\}")
_WITH_DIGITS = re.compile(r"[\w./:@+-]*\d(?:[\w./:@+-]*\w)?%?")
_REPEATED = re.compile(rf"{MASK}(?:(?:, | … |…){MASK})+")


class Complaint(NamedTuple):
    """What one evaluator, or the task, has against an attempt."""

    evaluator: str
    """The name of the result that is false, or of the evaluator that did not finish; empty for the task."""
    why: str
    did_not_finish: bool = False
    """Whether the task or the evaluator raised an error, rather than that an assertion did not hold."""

    @property
    def said(self) -> str:
        """What alike complaints have in common, on one line."""
        return mask(self.why)

    @property
    def group(self) -> str:
        """The id of all complaints that are like this one, in any run."""
        return group_id(self.evaluator, self.said, did_not_finish=self.did_not_finish)


def complaints_of(record: ReportCase | ReportCaseFailure) -> list[Complaint]:
    """All that is said against an attempt; empty if nothing is."""
    if isinstance(record, ReportCaseFailure):
        return [Complaint("", record.error_message, did_not_finish=True)]
    found = [Complaint(result.name, why(result)) for result in record.results if result.value is False]
    if record.evaluator_failures:
        found += [
            Complaint(each.name, each.error_message, did_not_finish=True)
            for each in record.evaluator_failures
        ]
    return found


def why(result: EvaluationResult) -> str:
    """Why an assertion failed: its reason, or else the grade behind it, or else just that it failed."""
    if result.reason:
        return result.reason
    return "did not hold" if result.score is None else f"score {number(result.score)}"


def mask(text: str) -> str:
    """The beginning of a text on one line, with `<…>` for what differs from case to case."""
    text = " ".join(text[:_READ].split())
    text = _QUOTED.sub(MASK, text)
    while (inner := _BRACKETS.sub(MASK, text)) != text:
        text = inner
    text = _WITH_DIGITS.sub(MASK, text)
    return _REPEATED.sub(MASK, text)


def group_id(evaluator: str, said: str, *, did_not_finish: bool) -> str:
    """The id of alike complaints: twelve hex digits, the same in every run."""
    kind = "error" if did_not_finish else "failed"
    text = f"{kind}\0{evaluator}\0{said}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=6).hexdigest()
