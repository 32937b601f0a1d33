"""A check that authors run on their own plugin: `check_plugin(MyPlugin)`.

It loads the plugin as a manager would, lets it make all that it provides, takes it through a small run, unloads it, and
raises one error that lists everything it found:

- *load*: the class is one of plugins, and can be loaded: twice, with the same name, version and evaluators;
- *make*: what it makes is what it promised: an evaluator of a known style, an adapter with `name` and `invoke`, a view of
  one of the two shapes, a store;
- *shared*: each call makes a new object, so that what one run does to it does not show in the next;
- *evaluator*: each evaluator that can be made without arguments keeps the contract that `check_evaluator` checks;
- *view*: a view that is a function makes text or bytes of the report of the run, and of one without attempts; what writes
  reports itself is not called;
- *hook*: the hooks of runs, and `on_unload`, do not raise.

Evaluators that need arguments are not made; check them with `check_evaluator`. The outcome names them.
"""

import inspect
from collections.abc import Sequence
from typing import Any

import msgspec

from calipers.data.case import Case
from calipers.data.context import EvaluatorContext
from calipers.data.evaluator_styles import as_evaluator
from calipers.data.jsonable import safe_repr
from calipers.errors import NotAnEvaluatorError, ViewError
from calipers.files.named_objects import parameters_of
from calipers.plugins import LoadedPlugin, PluginBase, PluginManager, PluginType, ViewPlugin
from calipers.plugins.plugin import DETAILS, defines
from calipers.report.report import Report
from calipers.report.report_evaluator import ReportEvaluator
from calipers.run.dataset import Dataset
from calipers.testing.conformance import ConformanceError, Finding, error_text
from calipers.testing.evaluator_check import Conformance, check_evaluator
from calipers.views.view import is_view, use_view, writes_itself

ADVICE: dict[str, str] = {
    "load": "a plugin is a class that is made without arguments, and says the same of itself each time",
    "make": "return what the method is named for: it gets no arguments, so those it has need defaults",
    "shared": "make a new object at each call",
    "evaluator": "check_evaluator(...) says what to do about it",
    "view": "make text or bytes of every report, also of one that has no attempts and so no rates",
    "hook": "catch what may go wrong in a hook: a run goes on without it, but others may rely on it",
}
"""What to do about a finding, by its rule."""

_METHODS = {
    PluginType.EVALUATOR: "create_evaluator",
    PluginType.ADAPTER: "create_adapter",
    PluginType.VIEW: "create_view",
    PluginType.STORE: "create_store",
}


class PluginConformance(msgspec.Struct, frozen=True, kw_only=True):
    """What was checked of a plugin that keeps the contract."""

    name: str
    version: str | None
    types: tuple[PluginType, ...]
    """What it provides."""
    evaluators: dict[str, Conformance]
    """What was checked of each evaluator, by the name that files call it."""
    not_checked: tuple[str, ...]
    """Evaluators that need arguments, or judge whole reports: check them with `check_evaluator`, or in a run."""


def check_plugin(
    kind: type[PluginBase],
    *,
    contexts: Sequence[EvaluatorContext[Any, Any, Any]] | None = None,
    deterministic: bool = True,
    timeout: float = 5.0,
) -> PluginConformance:
    """Check that a plugin keeps the contract, and say what was checked.

    Args:
        kind: the class of the plugin.
        contexts: attempts that its evaluators are meant to judge; see `check_evaluator`.
        deterministic: whether the same context must get the same judgement; see `check_evaluator`.
        timeout: seconds that each call of an evaluator may take.

    Raises:
        ConformanceError: an AssertionError that lists every finding, with what to do about it.
    """
    examination = _Examination()
    with PluginManager() as manager:
        loaded = examination.load(manager, kind)
        checked: dict[str, Conformance] = {}
        if loaded is not None:
            for provided in loaded.types:
                examination.make(loaded, provided)
            options = {"contexts": contexts, "deterministic": deterministic, "timeout": timeout}
            checked = examination.check_evaluators(loaded, options)
            report = examination.take_through_a_run(manager)
            examination.draw(loaded, report)
    examination.note_failures(manager)
    if examination.found or loaded is None:
        raise ConformanceError(getattr(kind, "__name__", safe_repr(kind)), examination.found, "a plugin")
    return PluginConformance(
        name=loaded.name,
        version=loaded.version,
        types=loaded.types,
        evaluators=checked,
        not_checked=tuple(examination.not_checked),
    )


class _Examination:
    """One plugin, and what was found of it so far."""

    def __init__(self) -> None:
        self.found: list[Finding] = []
        self.not_checked: list[str] = []

    def _note(self, rule: str, problem: str) -> None:
        self.found.append(Finding(rule, problem, advice=ADVICE[rule]))

    def load(self, manager: PluginManager, kind: Any) -> LoadedPlugin | None:
        """Load the plugin, and once more elsewhere."""
        manager.load_plugins(classes=[kind], entry_points=False)
        if not manager.plugins:
            return None  # the failure says why
        with PluginManager() as other:
            other.load_plugins(classes=[kind], entry_points=False)
            said, again = ([_told(each) for each in some.plugins] for some in (manager, other))
        if said != again:
            self._note("load", f"said {said} of itself, and then {again or 'nothing, for it was not loaded'}")
        return manager.plugins[0]

    def make(self, loaded: LoadedPlugin, provided: PluginType) -> None:
        """Let the plugin make what it provides, twice."""
        method = _METHODS.get(provided)
        if method is None or (
            provided is PluginType.EVALUATOR and not defines(type(loaded.plugin), "create_evaluator")
        ):
            return
        try:
            made, again = getattr(loaded.plugin, method)(), getattr(loaded.plugin, method)()
            _check_made(provided, made)
        except (Exception, SystemExit) as error:
            self._note("make", f"{method}: {error_text(error)}")
            return
        if made is again and not inspect.isroutine(made):
            self._note("shared", f"{method} gave the same {type(made).__name__} twice")

    def check_evaluators(self, loaded: LoadedPlugin, options: dict[str, Any]) -> dict[str, Conformance]:
        """Check each evaluator that can be made without arguments."""
        checked: dict[str, Conformance] = {}
        for name, kind in loaded.evaluators.items():
            try:
                if _judges_reports(kind) or any(each.required for each in parameters_of(kind)):
                    self.not_checked.append(name)
                    continue
                checked[name] = check_evaluator(kind if inspect.isroutine(kind) else kind(), **options)
            except ConformanceError as error:
                for finding in error.findings:
                    self._note("evaluator", f"{name}: {finding.rule}: {finding.problem}")
            except (Exception, SystemExit) as error:
                self._note("make", f"{name}: {error_text(error)}")
        return checked

    def take_through_a_run(self, manager: PluginManager) -> Report:
        """Call the hooks of runs, with an attempt that passes, one that does not, and one whose task fails."""
        cases = [Case(name=name, inputs=name) for name in ("passes", "does not pass", "fails")]
        return Dataset(name="check_plugin", cases=cases, evaluators=[_passes]).evaluate_sync(
            _task, plugins=manager, repeat=2, seed=0, progress=False
        )

    def draw(self, loaded: LoadedPlugin, report: Report) -> None:
        """Let the view, if there is one, draw a report, and one without attempts."""
        if not isinstance(loaded.plugin, ViewPlugin):
            return
        try:
            view = loaded.plugin.create_view()
        except (Exception, SystemExit):
            return  # found by `make`
        if not is_view(view) or writes_itself(view):
            return
        empty = Report(name="check_plugin", cases=[])
        for what, each in (("a report", report), ("a report without attempts", empty)):
            try:
                use_view(loaded.name, view, each, "-")
            except ViewError as error:
                self._note("view", f"of {what}: {error}")

    def note_failures(self, manager: PluginManager) -> None:
        """What went wrong while the plugin was loaded, told of a run, and unloaded."""
        for failure in manager.failures:
            self._note("hook" if failure.stage in {*DETAILS, "on_unload"} else "load", failure.summary)


def _judges_reports(kind: Any) -> bool:
    return inspect.isclass(kind) and issubclass(kind, ReportEvaluator)


def _told(loaded: LoadedPlugin) -> tuple[Any, ...]:
    return loaded.name, loaded.version, list(loaded.evaluators)


def _task(inputs: str) -> str:
    if inputs == "fails":
        raise ValueError("an attempt that fails")
    return inputs


def _passes(output: str) -> bool:
    return output == "passes"


def _check_made(provided: PluginType, made: Any) -> None:
    """Refuse what is not of the promised kind.

    Raises:
        TypeError: it is not.
    """
    if provided is PluginType.EVALUATOR:
        try:
            as_evaluator(made)
        except NotAnEvaluatorError as error:
            raise TypeError(str(error)) from error
    if provided is PluginType.ADAPTER and not (
        isinstance(getattr(made, "name", None), str) and callable(getattr(made, "invoke", None))
    ):
        raise TypeError(
            f"an adapter has a name and a method invoke(input_text), which {safe_repr(made):.200} has not"
        )
    if provided is PluginType.VIEW and not is_view(made):
        raise TypeError(
            f"a view is a function of a report, or an object with write(report, path), not {safe_repr(made):.200}"
        )
    if made is None:
        raise TypeError("it made nothing")
