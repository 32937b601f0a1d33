"""What the viewer says of a run as a whole: the numbers of `calipers show`, whatever the run is."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from calipers import Case, Dataset
from calipers.data.attempt import increment_eval_metric
from calipers.errors import RunMissingError
from calipers.report.analysis import Analysis, ScalarResult
from calipers.report.report import Report
from calipers.report.report_evaluator import ReportEvaluator, ReportEvaluatorContext
from calipers.stores import open_store
from calipers.stores.store import Store
from calipers.viewer.run_answer import run_answer
from calipers.viewer.viewed_store import ViewedStore
from calipers.viewer.wire import RunAnswer, WireLine
from calipers.views.line import Line
from calipers.views.report_table import Measured, Named, Table
from calipers.views.statement import Statement

from .conftest import until

View = Callable[[Store], ViewedStore]


def right(output: Any, expected_output: Any) -> bool:
    return bool(output == expected_output)


def near(output: Any, expected_output: Any) -> float:
    return float(1 / (1 + abs(output - expected_output)))


def parity(output: Any) -> str:
    return "even" if output % 2 == 0 else "odd"


def judged(inputs: int) -> Any:
    if inputs % 7 == 3:
        raise ValueError("the judge is out")
    return True


def double(inputs: int) -> int:
    if inputs % 11 == 5:
        raise TimeoutError("no answer")
    return 2 * inputs + (inputs % 4 == 0)


class HalfEvaluator(ReportEvaluator):
    def evaluate(self, ctx: ReportEvaluatorContext) -> Analysis:
        return ScalarResult(title="half", value=len(ctx.report.cases) / 2)


class BrokenEvaluator(ReportEvaluator):
    def evaluate(self, ctx: ReportEvaluatorContext) -> Analysis:
        raise ValueError(f"no way {ctx.name}")


def numbers(count: int = 40) -> Dataset[int, int, Any]:
    return Dataset(
        name="numbers",
        cases=[
            Case(
                name=f"n{n}",
                inputs=n,
                expected_output=2 * n,
                tags=("small",) if n < 10 else ("large", "slow"),
            )
            for n in range(count)
        ],
        evaluators=[right, near, parity, judged],
        report_evaluators=[HalfEvaluator(), BrokenEvaluator()],
    )


def texts(lines: list[WireLine]) -> list[str]:
    return ["".join(part.text for part in line) for line in lines]


def said(lines: list[Line]) -> list[str]:
    return ["".join(part.text for part in line) for line in lines]


def check_table(table: Table, drawn: Any) -> None:
    assert [column.title for column in drawn.columns] == [column.title for column in table.columns]
    for cells, shown in zip(table.rows, drawn.rows, strict=True):
        for cell, one in zip(cells, shown, strict=True):
            if isinstance(cell, Measured):
                assert (one.estimate, one.is_rate) == (cell.estimate, cell.is_rate)
            elif isinstance(cell, Named):
                assert one.text == cell.name + cell.suffix


@pytest.mark.parametrize("options", [{}, {"repeat": 3}], ids=["once", "repeated"])
def test_it_says_what_the_report_says(store: Store, view: View, options: dict[str, Any]) -> None:
    numbers().evaluate_sync(double, store=store, progress=False, seed=1, **options)
    found = run_answer(view(store), "latest")
    says = Statement(store.report("latest", keep="failed"))
    headline = says.headline
    assert headline is not None
    assert found.headline is not None
    assert (found.headline.what, found.headline.text) == (headline.what, headline.number)
    assert found.headline.estimate == headline.rate
    assert found.facts == says.facts
    check_table(says.evaluators, found.evaluators)
    check_table(says.tags, found.tags)
    assert texts(found.alerts)[: len(says.alerts)] == said(says.alerts)
    assert texts(found.alerts)[-1].startswith("Report evaluator 'BrokenEvaluator' failed: ValueError: no way")
    assert [chart.title for chart in found.charts] == ["half"]
    assert set(said(says.footnotes)) <= set(texts(found.notes))
    assert msgspec.json.decode(msgspec.json.encode(found), type=RunAnswer) == found


def test_its_numbers_stand_in_what_calipers_show_prints(store: Store, view: View) -> None:
    numbers().evaluate_sync(double, store=store, progress=False, seed=1, repeat=2)
    printed = store.report("latest").render(width=200)
    found = run_answer(view(store), "latest")
    assert found.headline is not None
    shown = [found.headline.what, *found.headline.text.split("  ")]
    for row in found.evaluators.rows:
        shown += [part for cell in row if cell.estimate for part in cell.text.split("  ")]
    for name, number, meaning in found.headline.readings:
        shown += [name, *number.split("  "), meaning]
    for head, facts in found.measures:
        shown += [head, *texts(facts)]
    assert [each for each in shown if each not in printed] == []


def test_it_can_be_asked_for_by_id_by_name_and_as_the_latest(store: Store, view: View) -> None:
    numbers(4).evaluate_sync(double, store=store, progress=False, name="first")
    numbers(8).evaluate_sync(double, store=store, progress=False, name="second")
    viewed = view(store)
    first = run_answer(viewed, "first")
    assert first.run.cases == 4
    assert run_answer(viewed, first.run.id[:18]).run == first.run
    assert run_answer(viewed, "latest").run.name == "second"
    with pytest.raises(RunMissingError, match="no run 'third'"):
        run_answer(viewed, "third")


def test_its_revision_changes_with_what_is_written(store: Store, view: View) -> None:
    numbers(4).evaluate_sync(double, store=store, progress=False)
    viewed = view(store)
    before = run_answer(viewed, "latest")
    assert run_answer(viewed, "latest").revision == before.revision
    store.remove_attempts(before.run.id, [0])
    after = run_answer(viewed, "latest")
    assert after.revision != before.revision
    assert after.run.attempts == 3


def test_a_run_without_assertions_says_why_there_is_no_pass_rate(store: Store, view: View) -> None:
    Dataset(name="bare", cases=[Case(name="a", inputs=1)], evaluators=[parity]).evaluate_sync(
        lambda inputs: inputs, store=store, progress=False
    )
    found = run_answer(view(store), "latest")
    assert found.headline is None
    assert found.no_headline is not None
    assert "".join(part.text for part in found.no_headline) == "No pass rate: nothing was asserted."
    assert found.slices == ["label.parity"]


def test_an_empty_run_says_that_nothing_was_measured(store: Store, view: View) -> None:
    store.add_report(Report(name="empty", cases=[]))
    found = run_answer(view(store), "latest")
    assert texts(found.alerts) == ["No cases ran: nothing was measured."]
    assert (found.evaluators.rows, found.tags) == ([], None)


def test_costs_stand_in_the_row_and_in_the_measures(store: Store, view: View) -> None:
    def agent(inputs: int) -> int:
        increment_eval_metric("cost", 0.25)
        return inputs

    cases = [Case(name=f"n{n}", inputs=n) for n in range(4)]
    Dataset(name="paid", cases=cases, evaluators=[parity]).evaluate_sync(agent, store=store, progress=False)
    found = run_answer(view(store), "latest")
    assert found.run.cost is not None
    assert found.run.cost.text == "$1.00"
    assert "$1.00 in all" in texts(dict(found.measures)["Cost"])


def test_postgresql_says_the_same(store: Store, view: View, postgresql_url: str) -> None:
    report = numbers().evaluate_sync(double, progress=False, seed=1)
    with open_store(postgresql_url) as other:
        answers = []
        for each in (store, other):
            each.add_report(report)
            viewed = view(each)
            answers.append(
                until(lambda: run_answer(viewed, "latest"), lambda answer: answer.index.state == "ready")
            )
    one, two = (
        msgspec.structs.replace(
            each, run=msgspec.structs.replace(each.run, id="", ended_at=None, seconds=None)
        )
        for each in answers
    )
    assert msgspec.structs.replace(one, revision="") == msgspec.structs.replace(two, revision="")
