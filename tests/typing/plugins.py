# pyright: reportUnnecessaryTypeIgnoreComment=true
"""Plugins as authors write them, with attributes or with properties, and as programs use them."""

from dataclasses import dataclass
from typing import Any, assert_type

from calipers import Case, Dataset, Evaluator, EvaluatorContext
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
from calipers.record import ReportCase, ReportCaseFailure
from calipers.report import Report
from calipers.testing import PluginConformance, check_plugin


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

    def create_view(self) -> Any:
        return print

    def on_suite_start(self, name: str, *, total: int | None = None) -> None:
        print(name, total)


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
        assert_type(report, Report)
        Dataset.from_file("cases.yaml", evaluator_types=[Polite, *manager.get_evaluator_types()])
        dataset.evaluate_sync(str, plugins=[WithAttributes])  # type: ignore[arg-type]
        manager.load_plugins(classes=[Polite])  # type: ignore[list-item]
    assert_type(check_plugin(WithAttributes), PluginConformance)
