# pyright: reportUnnecessaryTypeIgnoreComment=true
"""Plugins as authors write them, with attributes or with properties, and as programs use them."""

from dataclasses import dataclass
from typing import Any, assert_type

from calipers import Case, Dataset, Evaluator, EvaluatorContext
from calipers.data.record import ReportCase, ReportCaseFailure
from calipers.plugins import (
    AdapterPlugin,
    EvaluatorPlugin,
    LoadedPlugin,
    PluginBase,
    PluginFailure,
    PluginManager,
    PluginType,
    ViewPlugin,
)
from calipers.report.report import Report
from calipers.testing import PluginConformance, check_plugin
from calipers.views.formats import write_report
from calipers.views.view import ReportWriter, View


@dataclass
class Polite(Evaluator[Any, str, Any]):
    word: str = "please"

    def evaluate(self, ctx: EvaluatorContext[Any, str, Any]) -> bool:
        return self.word in ctx.output


class WithAttributes(EvaluatorPlugin):
    name = "attributes"
    version = "1.0"
    requires_calipers = ">=0.1"
    evaluator_types = (Polite,)

    def create_evaluator(self, word: str = "please") -> Polite:
        return Polite(word)

    def on_test_end(self, test_name: str, record: ReportCase | ReportCaseFailure | None) -> None:
        print(test_name, record)

    async def on_suite_end(self, report: Report | None, **details: Any) -> None:
        print(report, details)


class WithProperties(EvaluatorPlugin, ViewPlugin):
    @property
    def name(self) -> str:
        return "properties"

    @property
    def version(self) -> str:
        return "1.0"

    @property
    def plugin_type(self) -> PluginType:
        return PluginType.EVALUATOR

    def create_evaluator(self) -> Polite:
        return Polite()

    def create_view(self) -> View:
        return lambda report: report.name

    def on_suite_start(self, name: str, *, total: int | None = None) -> None:
        print(name, total)


class Writer(ViewPlugin):
    name = "writer"

    def create_view(self, width: int = 80) -> ReportWriter:
        return Printer(width)


class Printer:
    def __init__(self, width: int) -> None:
        self.width = width

    def write(self, report: Report, path: str) -> None:
        print(report.name, path)


class Adapter(AdapterPlugin):
    name = "adapter"

    def create_adapter(self, url: str = "http://localhost") -> object:
        return url


def use() -> None:
    with PluginManager() as manager:
        manager.load_plugins(
            directories=["plugins"],
            classes=[WithAttributes, WithProperties],
            entry_points=["tone"],
            strict=True,
        )
        assert_type(manager.plugins, list[LoadedPlugin])
        assert_type(manager.failures, list[PluginFailure])
        assert_type(manager.get("attributes"), PluginBase)
        dataset = Dataset(cases=[Case(inputs="x")], evaluators=manager.get_evaluators())
        report = dataset.evaluate_sync(str, plugins=manager)
        write_report(report, "properties:report.txt", views=manager.views)
        write_report(report, "mine:report.txt", views={"mine": str, "other": Printer(80)})
        write_report(report, "mine:report.txt", views={"mine": Printer})  # type: ignore[dict-item]
        dataset.evaluate_sync(manager.adapters["adapter"])
        Dataset.from_file("cases.yaml", evaluator_types=[Polite, *manager.get_evaluator_types()])
        dataset.evaluate_sync(str, plugins=[WithAttributes])  # type: ignore[arg-type]
        manager.load_plugins(classes=[Polite])  # type: ignore[list-item]
    assert_type(check_plugin(WithAttributes), PluginConformance)
