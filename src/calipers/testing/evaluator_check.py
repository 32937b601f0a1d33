"""A check that authors run on their own evaluator: `check_evaluator(MyEvaluator())`.

It calls the evaluator on ordinary contexts (the author's own, or those of `ordinary_contexts`) and then on odd
variations of the first one that it judged, and raises one error that lists everything it found:

- *style*: it has one of the five shapes, and its name, spec, version and repr can be read and stay the same;
- *output*: whatever it is shown, it returns a legal judgement, skips, or raises an ordinary exception. Raising is legal
  on odd contexts, and a finding on contexts the author gave. What would end a run or
  a process (SystemExit, KeyboardInterrupt, unbounded recursion) is a finding everywhere;
- *kind*: a result of one name is everywhere an assertion, or a score, or a label; if it were both, a report would
  count it in two columns, and each would leave some attempts out;
- *time*: each call ends within the timeout;
- *changes*: the context is left as it was, for the evaluators that come after and for the report;
- *unstable*: the same context, and an equal copy, get the same judgement; the wording of a reason may vary;
- *idle*: it judged something. An evaluator that was skipped everywhere has not been checked.

Each call runs in a daemon thread with an event loop of its own. An evaluator that hangs is left behind and not called
again. One that ends the process outright (`os._exit`) ends the test with it: nothing in the same process can stop that.
"""

import copy
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from inspect import isawaitable
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from calipers.data.argument_checks import check_number
from calipers.data.context import EvaluatorContext
from calipers.data.evaluator import Evaluator
from calipers.data.evaluator_output import Judgement, read_output
from calipers.data.evaluator_styles import RolloutEvaluator, as_evaluator
from calipers.data.jsonable import plain, safe_repr
from calipers.data.result import EvalResult, EvalVerdict, Skipped, kind_of
from calipers.errors import InvalidOptionError, InvalidOutputError, NotAnEvaluatorError
from calipers.process.loop import elsewhere, run_sync
from calipers.report.report import Report
from calipers.report.report_evaluator import run_report_evaluators
from calipers.scoring.evaluator_plan import make_plan
from calipers.testing.conformance import ConformanceError, Finding, error_text
from calipers.testing.context import evaluate_one, odd_contexts, ordinary_contexts

ADVICE: dict[str, str] = {
    "style": "give it one of the five shapes",
    "name": "return the same non-empty string from get_default_evaluation_name at every call",
    "spec": "let as_spec return a name and plain data; a dataclass whose fields are text, numbers, lists and dicts does",
    "version": "return the same string, or None, from get_evaluator_version at every call",
    "repr": "a repr shows the evaluator in reports and errors: it must not raise",
    "raises": "on a context that it is meant for, return a judgement, or Skipped(reason) where it does not apply",
    "exit": "raise an ordinary Exception, which is recorded, instead of what ends the run",
    "output": "return a judgement on everything it may be shown, or Skipped(reason) where there is nothing to judge",
    "verdict": "give a score that agrees with the verdict: above 0 for PASS, below 1 for FAIL",
    "kind": "return the same type everywhere; `output and ...` gives the output itself where it is empty: use bool(...)",
    "time": "bound the work by the size of the input, and give external calls a timeout; "
    "or allow more with check_evaluator(..., timeout=...)",
    "changes": "work on a copy: the evaluators that follow and the report read the same objects",
    "unstable": "keep no state between calls and draw at random from ctx.seed; "
    "for a judge that cannot be repeated, such as a model, pass deterministic=False",
    "idle": "pass contexts=[make_context(...)] that it applies to",
    "aggregate": "let compute_metrics return an object with per_turn and overall; aggregate_metrics gets a list of them",
}
"""What to do about a finding, by its rule."""


class Conformance(msgspec.Struct, frozen=True, kw_only=True):
    """What was checked of an evaluator that keeps the contract."""

    name: str
    """What its results are called."""
    judged: int
    """Ordinary contexts that it judged: at least one."""
    skipped: int
    """Ordinary contexts that it did not apply to."""
    raised: int
    """Ordinary contexts on which it raised; never those the author gave."""
    odd: int
    """Odd contexts that it was shown."""
    calls: int
    """How often it was called."""
    not_copied: tuple[str, ...] = ()
    """Contexts of which no copy could be made, so that equal copies were not compared."""


def check_evaluator(
    x: Any,
    *,
    contexts: Sequence[EvaluatorContext[Any, Any, Any]] | None = None,
    deterministic: bool = True,
    timeout: float = 5.0,
) -> Conformance:
    """Check that an evaluator keeps the contract, and say what was checked.

    Args:
        x: an evaluator of any style.
        contexts: attempts that it is meant to judge; default: `ordinary_contexts()`, of which it must judge some.
        deterministic: whether the same context must get the same judgement; pass False for a model as judge.
        timeout: seconds that each call may take.

    Raises:
        ConformanceError: an AssertionError that lists every finding, with what to do about it.
    """
    given = ordinary_contexts() if contexts is None else list(contexts)
    if not given or not all(isinstance(ctx, EvaluatorContext) for ctx in given):
        raise InvalidOptionError(
            f"contexts must be one or more EvaluatorContext objects, such as make_context(...), got {contexts!r}"
        )
    check_number("timeout", timeout, above=0, of="seconds")
    examination = _Examination(x, promised=contexts is not None, deterministic=deterministic, timeout=timeout)
    return examination.run(given)


Kind: TypeAlias = Literal["judged", "skipped", "raised", "illegal", "exit", "late"]
"""How a call ended; `exit` is what a run would not survive."""


class Outcome(NamedTuple):
    """The end of one call."""

    kind: Kind
    said: Any = None
    """What must be the same at the next call."""
    text: str = ""
    """What it said, for people."""
    judgements: Sequence[Judgement] = ()
    output: Any = None
    """What it returned."""


class _Examination:
    """One evaluator, and what was found of it so far."""

    def __init__(self, x: Any, *, promised: bool, deterministic: bool, timeout: float) -> None:
        self.x = x
        self.promised = promised
        self.deterministic = deterministic
        self.timeout = timeout
        self.found: dict[tuple[str, str], list[str]] = {}
        self.outcomes: list[Outcome] = []
        self.judged: list[EvaluatorContext[Any, Any, Any]] = []
        self.kinds: dict[str, tuple[str, str]] = {}
        """What kind each result had where it was first given."""
        self.not_copied: list[str] = []
        self.calls = 0
        self.hangs = False

    def run(self, contexts: Sequence[EvaluatorContext[Any, Any, Any]]) -> Conformance:
        """Check everything there is to check.

        Raises:
            ConformanceError: something was found.
        """
        evaluator = self._as_evaluator()
        name, odd = "", 0
        if evaluator is not None:
            name = self._describe(evaluator)
            for number, ctx in enumerate(contexts, 1):
                self._show(evaluator, ctx, f"context {number}, {ctx.name!r}")
            odd = self._show_odd(evaluator, contexts)
            if isinstance(evaluator, RolloutEvaluator):
                self._aggregate(evaluator)
            if self._describe(evaluator) != name:
                self._note("name", f"the name changed from {name!r} while it judged")
            self._judged_something()
        if self.found:
            findings = [
                Finding(rule, text, tuple(where), ADVICE[rule]) for (rule, text), where in self.found.items()
            ]
            raise ConformanceError(name or safe_repr(self.x), findings)
        return Conformance(
            name=name,
            judged=self._count("judged"),
            skipped=self._count("skipped"),
            raised=self._count("raised"),
            odd=odd,
            calls=self.calls,
            not_copied=tuple(self.not_copied),
        )

    def _note(self, rule: str, problem: str, where: str | None = None) -> None:
        places = self.found.setdefault((rule, problem), [])
        if where is not None and where not in places:
            places.append(where)

    def _count(self, kind: Kind) -> int:
        return sum(outcome.kind == kind for outcome in self.outcomes)

    # ------------------------------------------------------------------ what it says of itself

    def _as_evaluator(self) -> Evaluator[Any, Any, Any] | None:
        try:
            return as_evaluator(self.x)
        except Exception as error:
            problem = str(error) if isinstance(error, NotAnEvaluatorError) else error_text(error)
        try:
            evaluator = as_evaluator(self.x, name="unnamed")
        except Exception:
            self._note("style", problem)
            return None
        self._note("name", problem)
        return evaluator

    def _describe(self, evaluator: Evaluator[Any, Any, Any]) -> str:
        """The evaluator's name, after a look at all that a report says of it."""
        name = ""
        with self._noted("name", "get_default_evaluation_name"):
            name = evaluator.get_default_evaluation_name()
            if not isinstance(name, str) or not name.strip():
                self._note("name", f"the name is {safe_repr(name)}")
                name = ""
        with self._noted("version", "get_evaluator_version"):
            version, again = evaluator.get_evaluator_version(), evaluator.get_evaluator_version()
            if version is not None and not isinstance(version, str):
                self._note("version", f"the version is {safe_repr(version)}")
            elif version != again:
                self._note("version", f"the version was {version!r} and then {again!r}")
        with self._noted("repr", "repr"):
            repr(self.x)
        self._describe_spec(evaluator)
        return name

    @contextmanager
    def _noted(self, rule: str, what: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self._note(rule, f"{what} raised {error_text(error)}")

    def _describe_spec(self, evaluator: Evaluator[Any, Any, Any]) -> None:
        try:
            spec, again = plain(evaluator.as_spec()), plain(evaluator.as_spec())
            json.dumps(spec, allow_nan=False)
        except Exception as error:
            self._note("spec", f"as_spec gave nothing that can be written as JSON: {error_text(error)}")
            return
        arguments = spec.get("arguments", {}) if isinstance(spec, dict) else {}
        placed = [name for name, value in arguments.items() if re.search(r" at 0x[0-9a-fA-F]+>", repr(value))]
        if placed:
            self._note("spec", f"the spec tells {', '.join(placed)} only by a place in memory")
        elif spec != again:
            self._note("spec", f"as_spec gave {spec} and then {again}")

    # ------------------------------------------------------------------ what it does

    def _show(
        self, evaluator: Evaluator[Any, Any, Any], ctx: EvaluatorContext[Any, Any, Any], where: str
    ) -> None:
        """Call it on an ordinary context, again, and on a copy."""
        try:
            twin = copy.deepcopy(ctx)
        except Exception:  # files, locks, generators: the author's objects are as they are
            twin = None
            self.not_copied.append(where)
        outcome = self._call(evaluator, ctx, where)
        if outcome is None:
            return
        self.outcomes.append(outcome)
        if outcome.kind == "judged":
            self.judged.append(ctx)
        if outcome.kind == "raised" and self.promised:
            self._note("raises", f"raised {outcome.text}", where)
        if not self.deterministic or self._found_on("changes", where):
            return
        for other, shown in ((ctx, "the same context"), (twin, "an equal copy of the context")):
            again = None if other is None else self._call(evaluator, other, where)
            if again is not None and again.said != outcome.said:
                self._note(
                    "unstable", f"judged {shown} differently: {outcome.text}, then {again.text}", where
                )
                return

    def _show_odd(
        self, evaluator: Evaluator[Any, Any, Any], contexts: Sequence[EvaluatorContext[Any, Any, Any]]
    ) -> int:
        """Show it variations of the first context that it judged; how many."""
        odd = odd_contexts(self.judged[0] if self.judged else contexts[0])
        return sum(self._call(evaluator, ctx, str(ctx.name)) is not None for ctx in odd)

    def _call(
        self, evaluator: Evaluator[Any, Any, Any], ctx: EvaluatorContext[Any, Any, Any], where: str
    ) -> Outcome | None:
        """Call it once and note what is wrong everywhere; `None` if it hung before and is called no more."""
        if self.hangs:
            return None
        self.calls += 1
        before = _parts(ctx)
        outcome = outcome_of_call(evaluator, ctx, self.timeout)
        if outcome.kind == "late":
            self.hangs = True
            self._note("time", f"did not finish within {self.timeout:g} s, and was not called again", where)
            return outcome
        changed = [name for name, part in _parts(ctx).items() if part != before[name]]
        if changed:
            self._note("changes", f"changed {', '.join(changed)}", where)
        if outcome.kind == "exit":
            self._note("exit", f"raised {outcome.text}", where)
        elif outcome.kind == "illegal":
            self._note("output", outcome.text, where)
        for judgement in outcome.judgements:
            self._look_at(judgement, where)
        return outcome

    def _look_at(self, judgement: Judgement, where: str) -> None:
        """Whether one judgement agrees with itself and with the others of its name."""
        if not _agrees(judgement):
            self._note("verdict", f"the verdict is {judgement.verdict}, the score {judgement.score:g}", where)
        result = "the result" if judgement.key is None else f"the result {judgement.key!r}"
        kind = kind_of(judgement.value)
        first, there = self.kinds.setdefault(result, (kind, where))
        if kind != first:
            self._note("kind", f"{result} was of kind {first} on {there}, and then of kind {kind}", where)

    def _found_on(self, rule: str, where: str) -> bool:
        return any(where in places for (found, _), places in self.found.items() if found == rule)

    def _aggregate(self, evaluator: RolloutEvaluator) -> None:
        """Let a rollout metric combine what it computed, as at the end of a run."""
        plan = make_plan([evaluator])
        cases = [] if self.hangs else [evaluate_one(evaluator, ctx) for ctx in self.judged]
        report = Report(name="check", cases=cases)
        run_sync(lambda: run_report_evaluators(report, (), plan))
        for failure in report.report_evaluator_failures:
            self._note("aggregate", f"aggregate_metrics failed: {failure.error_message}")

    def _judged_something(self) -> None:
        if self._count("judged") or self.found:
            return
        reasons = dict.fromkeys(f"{outcome.kind}: {outcome.text}" for outcome in self.outcomes)
        self._note("idle", f"judged none of {len(self.outcomes)} contexts ({'; '.join(reasons)})")


def _agrees(judgement: Judgement) -> bool:
    """Whether a verdict's score is one the verdict allows."""
    disagreeing = ((EvalVerdict.PASS, 0.0), (EvalVerdict.FAIL, 1.0))
    return (judgement.verdict, judgement.score) not in disagreeing


def _parts(ctx: EvaluatorContext[Any, Any, Any]) -> dict[str, Any]:
    """The state of all that an evaluator may look at, by field."""
    return {
        name.lstrip("_"): state_of(getattr(ctx, name)) for name in ctx.__struct_fields__ if name != "_attempt"
    }


# ---------------------------------------------------------------------- one call


def outcome_of_call(
    evaluator: Evaluator[Any, Any, Any], ctx: EvaluatorContext[Any, Any, Any], timeout: float
) -> Outcome:
    """Call an evaluator in another thread, so that one that hangs can be left behind."""
    try:
        return elsewhere(lambda: _outcome(evaluator, ctx), timeout=timeout)
    except TimeoutError:
        return Outcome("late")


def _outcome(evaluator: Evaluator[Any, Any, Any], ctx: EvaluatorContext[Any, Any, Any]) -> Outcome:
    output: Any = None
    try:
        output = run_sync(lambda: _evaluate(evaluator, ctx))
    except RecursionError as error:
        return Outcome("exit", RecursionError, error_text(error))
    except Exception as error:
        return Outcome("raised", type(error), error_text(error))
    except BaseException as error:
        return Outcome("exit", type(error), error_text(error))
    try:
        found = read_output(output)
    except (Exception, SystemExit) as error:
        if isinstance(output, EvalResult) and output.error is error:  # caught, and told instead of raised
            return Outcome("raised", type(error), error_text(error))
        if isinstance(error, InvalidOutputError):
            failed = getattr(output, "verdict", None) == EvalVerdict.ERROR  # an error, told instead of raised
            return Outcome("raised" if failed else "illegal", "error" if failed else str(error), str(error))
        return Outcome(
            "illegal", type(error), f"returned {safe_repr(output):.200}, which raised {error_text(error)}"
        )
    if isinstance(found, Skipped):
        return Outcome("skipped", "skipped", found.reason)
    said = [(j.key, repr(j.value), j.verdict, j.score) for j in found]
    shown = ", ".join(safe_repr(j.value) if j.key is None else f"{j.key}={safe_repr(j.value)}" for j in found)
    return Outcome("judged", said, shown, found, output)


async def _evaluate(evaluator: Evaluator[Any, Any, Any], ctx: EvaluatorContext[Any, Any, Any]) -> Any:
    # On a running event loop, where a run calls evaluators too.
    output = evaluator.evaluate(ctx)
    return await output if isawaitable(output) else output


# ---------------------------------------------------------------------- what an object is like

_WHOLE = (type(None), bool, int, str, bytes)

# By id: when it was met, and the object itself, so that no other takes its id while the state is read.
_Seen: TypeAlias = dict[int, tuple[int, Any]]


def state_of(value: Any) -> Any:
    """A state that equals a later one of the same object unless something in it was changed."""
    try:
        return _state(value, {})
    except RecursionError:  # nested too deeply to be followed
        return id(value)


def _state(value: Any, seen: _Seen) -> Any:
    kind = type(value)
    if kind in _WHOLE:
        return kind, value
    if kind is float:
        return repr(value)  # NaN is unchanged, although it does not equal itself
    if id(value) in seen:
        return "seen", seen[id(value)][0]
    seen[id(value)] = (len(seen), value)
    if kind is dict:
        return kind, [(_state(k, seen), _state(v, seen)) for k, v in value.items()]
    if kind is list or kind is tuple:
        return kind, [_state(item, seen) for item in value]
    if kind is set or kind is frozenset:
        return kind, {id(item) for item in value}
    return kind, _fields(value, seen)


def _fields(value: Any, seen: _Seen) -> Any:
    """What `pickle` would keep of an object: how it is made, its state, and the items it holds."""
    try:
        reduced = value.__reduce_ex__(4)
        if isinstance(reduced, str):  # the name of a global
            return reduced
        _, arguments, state, in_list, in_dict = (*reduced, None, None, None)[:5]
        items = [list(part) for part in (in_list, in_dict) if part is not None]
    except RecursionError:
        raise
    except Exception:
        return id(value)
    return _state([arguments, state, items], seen)
