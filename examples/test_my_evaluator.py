"""Tests of your own evaluator, without a run and without mocks.

python -m pytest examples/test_my_evaluator.py
"""

from dataclasses import dataclass

import pytest

from calipers import Case, Dataset, EvaluationReason, Evaluator, EvaluatorContext, Skipped
from calipers.testing import ScriptedTask, check_evaluator, evaluate_one, make_context


@dataclass
class QuotesItsSource(Evaluator):
    """The answer quotes a passage of the document it was given."""

    words: int = 3
    """How many words in a row make a quotation."""

    def evaluate(self, ctx: EvaluatorContext) -> EvaluationReason | Skipped:
        if not isinstance(ctx.output, str) or not isinstance(ctx.inputs, str):
            return Skipped("only text can quote text")
        answer = ctx.output.lower().split()
        for start in range(len(answer) - self.words + 1):
            passage = " ".join(answer[start : start + self.words])
            if passage in ctx.inputs.lower():
                return EvaluationReason(True, f"quotes {passage!r}")
        return EvaluationReason(False, f"no {self.words} words in a row are in the source")


SOURCE = "The bridge was opened in 1894 after eight years of work."


@pytest.mark.parametrize(
    ("answer", "quotes"),
    [
        ("It says: opened in 1894 after eight years.", True),
        ("OPENED IN 1894, it says.", False),  # the comma belongs to the word
        ("Sometime before 1900.", False),
        ("", False),
    ],
)
def test_an_answer_quotes_if_three_words_in_a_row_are_in_the_source(answer, quotes):
    assert evaluate_one(QuotesItsSource(), make_context(answer, inputs=SOURCE)).passed is quotes


def test_the_reason_shows_the_passage():
    record = evaluate_one(QuotesItsSource(2), make_context("eight years", inputs=SOURCE))
    assert record.assertions["QuotesItsSource"].reason == "quotes 'eight years'"


def test_what_is_not_text_is_skipped_and_not_passed():
    record = evaluate_one(QuotesItsSource(), make_context(None, inputs=SOURCE))
    assert record.passed is None
    assert record.skipped[0].reason == "only text can quote text"


def test_it_keeps_the_contract_of_an_evaluator():
    check_evaluator(QuotesItsSource())


def test_it_works_in_a_run():
    task = ScriptedTask({SOURCE: "opened in 1894 after eight years"})
    dataset = Dataset(cases=[Case(inputs=SOURCE)], evaluators=[QuotesItsSource()])
    assert dataset.evaluate_sync(task).pass_rate().value == 1
