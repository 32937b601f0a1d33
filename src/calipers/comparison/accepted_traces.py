"""Accepted traces: what an agent may do in each case, as people have looked at it and kept it in a file.

Of an attempt, its calls of tools with their arguments are accepted, in their order, and what it gave. What models answered in between is
accepted only if asked for. Times, tokens, and what tools gave back are not part of it, and what looks like a secret is `[redacted]`
(`calipers.data.redaction`).

A case may have several accepted traces, as of an agent that is not steady. Equal ones are one, with the number of attempts.

Only what an accepted trace says is compared: any arguments follow a call without arguments, and any output one without an output.

A case is known by its inputs. Its name is for people, and tells cases with equal inputs apart.
"""

import json
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import cached_property
from typing import Any, Literal, TypeAlias

import msgspec

from calipers.data.context import EvaluatorContext
from calipers.data.jsonable import plain
from calipers.data.record import ReportCase
from calipers.data.redaction import masked, masked_fields, secrets_in
from calipers.data.trace import ToolCall, Trace, Turn, TurnType
from calipers.errors import InvalidOptionError
from calipers.identity.fingerprint import digest
from calipers.identity.value_bytes import written
from calipers.report.report import Report

from .case_pairs import Record, attempt_number, cases_of, check_report, without_faults

Refusal: TypeAlias = Literal[
    "its task failed",
    "it did not pass",
    "nothing was asserted of it",
    "it has no trace",
    "its calls are not recorded",
]
"""Why an attempt is not accepted."""

_DIGITS = 16
"""Hexadecimal digits that stand for the inputs of a case."""


class AcceptedStep(msgspec.Struct, frozen=True, kw_only=True):
    """A call of a tool, or an answer of a model."""

    call: str | None = None
    """The name of the tool; `None` for an answer."""
    arguments: dict[str, Any] | None = None
    """Plain data, by name; `None` if any will do."""
    answer: str | None = None
    """The text of a model; `None` for a call."""


class AcceptedTrace(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """One way in which a case may go."""

    steps: tuple[AcceptedStep, ...]
    has_output: bool = False
    """Whether the output is accepted, too; if not, any will do."""
    output: Any = None
    """Plain data."""
    attempts: int = 1
    """How many attempts went this way in the run that was accepted."""

    @property
    def has_answers(self) -> bool:
        """Whether answers of models are accepted, too."""
        return any(step.answer is not None for step in self.steps)

    @property
    def trace(self) -> Trace:
        """The steps as a trace, of which nothing else is known."""
        return Trace(turns=[_turn(step) for step in self.steps], records_calls=True)

    @cached_property
    def key(self) -> str:
        """The same of traces that are the same, however often they were seen."""
        steps = [[step.call, step.arguments, step.answer] for step in self.steps]
        return json.dumps([steps, self.has_output, self.output], sort_keys=True)


class AcceptedCase(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A case with the traces that were accepted of it."""

    name: str
    inputs: str
    """16 hexadecimal digits that stand for what the task is given."""
    traces: tuple[AcceptedTrace, ...]

    @cached_property
    def tools(self) -> frozenset[str]:
        """The tools that some accepted trace calls."""
        return frozenset(step.call for trace in self.traces for step in trace.steps if step.call is not None)

    def joined_with(self, other: "AcceptedCase") -> "AcceptedCase":
        """The case with the traces of both; of equal ones the larger number of attempts counts."""
        return AcceptedCase(
            name=other.name, inputs=other.inputs, traces=_distinct([*self.traces, *other.traces], max)
        )


class AcceptedTraces(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The accepted traces of a dataset."""

    cases: tuple[AcceptedCase, ...] = ()
    """By name."""

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> "AcceptedTraces":
        """The accepted traces in a YAML or JSON file.

        Raises:
            DatasetFileError: something is wrong with the file; the error lists all of it, with line and column.
            InvalidOptionError: the file is neither YAML nor JSON by its name.
            OSError: the file cannot be read.
        """
        from calipers.files.baseline_file import read_baseline

        return read_baseline(path)

    def to_file(self, path: str | os.PathLike[str]) -> None:
        """Write them to a YAML or JSON file, whole or not at all. Equal traces make equal files.

        Raises:
            InvalidOptionError: the file is neither YAML nor JSON by its name, or it is a folder.
            OSError: the file cannot be written.
        """
        from calipers.files.baseline_file import save_baseline

        save_baseline(self, path)

    @cached_property
    def _by_inputs(self) -> dict[str, dict[str, AcceptedCase]]:
        found: dict[str, dict[str, AcceptedCase]] = {}
        for case in self.cases:
            found.setdefault(case.inputs, {})[case.name] = case
        return found

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(case.name for case in self.cases)

    def find(self, name: str | None, inputs: str) -> AcceptedCase | None:
        """The case with these inputs; of several, that of the name, else the first."""
        found = self._by_inputs.get(inputs)
        if found is None:
            return None
        return found.get(name or "") or next(iter(found.values()))

    def has_name(self, name: str) -> bool:
        """Whether a case has this name, whatever its inputs."""
        return name in self._names

    def updated(self, accepted: "AcceptedTraces", *, add: bool = False) -> "AcceptedTraces":
        """These with what was accepted since. Other cases stay as they are.

        Args:
            accepted: from `accept_traces`.
            add: keep what was accepted of the same cases before, too; default: it is replaced. A case of the same name with other
                inputs is always replaced.
        """
        found = {(case.name, case.inputs): case for case in self.cases}
        for new in accepted.cases:
            old = self._by_inputs.get(new.inputs, {}).get(new.name)
            for name, inputs in [key for key in found if key[0] == new.name]:
                del found[name, inputs]
            found[new.name, new.inputs] = old.joined_with(new) if add and old is not None else new
        return AcceptedTraces(cases=tuple(sorted(found.values(), key=lambda case: (case.name, case.inputs))))


class RefusedAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt that was not accepted."""

    case: str
    attempt: int
    """Which one, from 1."""
    why: Refusal


class Acceptance(msgspec.Struct, frozen=True, kw_only=True):
    """What was accepted of a run, and what was not."""

    accepted: AcceptedTraces
    refused: tuple[RefusedAttempt, ...] = ()

    @property
    def without(self) -> tuple[str, ...]:
        """The cases of which nothing was accepted."""
        known = {case.name for case in self.accepted.cases}
        return tuple(dict.fromkeys(each.case for each in self.refused if each.case not in known))


def accept_traces(
    report: Report,
    *,
    cases: Collection[str] | None = None,
    only_passed: bool = True,
    outputs: bool = True,
    answers: bool = False,
) -> Acceptance:
    """The traces of a run, to be accepted.

    Args:
        report: of the run; it has to keep every attempt.
        cases: names of the cases; default: all.
        only_passed: leave out attempts that did not pass, and those of which nothing was asserted. What a failed task did is never accepted.
        outputs: accept the outputs, too.
        answers: accept what models answered before the output, too.

    Raises:
        InvalidOptionError: a case that the run does not have, or a report without all attempts.
    """
    check_report(report, "what is accepted")
    found = {case.name: case for case in without_faults(cases_of(report))}
    if cases is not None:
        _check_names(cases, found)
    accepted: list[AcceptedCase] = []
    refused: list[RefusedAttempt] = []
    for name in sorted(found if cases is None else set(cases)):
        traces: list[AcceptedTrace] = []
        for record in found[name].attempts:
            why = _refusal(record, only_passed=only_passed)
            if why is not None:
                refused.append(RefusedAttempt(case=name, attempt=attempt_number(record)[0], why=why))
                continue
            assert isinstance(record, ReportCase)
            assert record.trace is not None
            traces.append(
                AcceptedTrace(
                    steps=steps_of(record.trace, answers=answers),
                    has_output=outputs,
                    output=output_of(record.output, record.trace) if outputs else None,
                )
            )
        if traces:
            inputs = inputs_of(found[name].attempts[0])
            accepted.append(
                AcceptedCase(name=plain(name), inputs=inputs, traces=_distinct(traces, int.__add__))
            )
    return Acceptance(accepted=AcceptedTraces(cases=tuple(accepted)), refused=tuple(refused))


def inputs_of(attempt: Record | EvaluatorContext) -> str:
    """What stands for the inputs of a case."""
    return digest(written(plain(attempt.inputs)))[:_DIGITS]


def steps_of(trace: Trace, *, answers: bool) -> tuple[AcceptedStep, ...]:
    """The steps of a trace as they are accepted: its calls and, if wanted, what models answered."""
    known = secrets_in([call.arguments for call in trace.tool_calls])
    # The messages of an agent repeat what its models answered.
    texts = TurnType.LLM_CALL if trace.llm_calls else TurnType.AGENT_MESSAGE
    return tuple(_steps(trace, known, texts if answers else None))


def output_of(output: Any, trace: Trace) -> Any:
    """What an attempt gave, as it is accepted."""
    known = secrets_in([call.arguments for call in trace.tool_calls])
    return _in_order(plain(masked(plain(output), known)))


def _steps(trace: Trace, known: Sequence[str], texts: TurnType | None) -> Iterator[AcceptedStep]:
    for turn in trace.turns:
        if (call := turn.tool_call) is not None:
            arguments = None
            if "arguments" not in call.unknown:
                arguments = _in_order(plain(masked_fields(plain(call.arguments), known)))
            yield AcceptedStep(call=plain(masked(call.name, known)), arguments=arguments)
        elif turn.turn_type is texts:
            text = turn.content if turn.llm_call is None else turn.llm_call.output_text
            if text:
                yield AcceptedStep(answer=plain(masked(text, known)))


def _turn(step: AcceptedStep) -> Turn:
    if step.call is None:
        return Turn(turn_type=TurnType.AGENT_MESSAGE, content=step.answer or "")
    unknown = ["output", "success", *(["arguments"] if step.arguments is None else [])]
    return Turn(tool_call=ToolCall(step.call, step.arguments, unknown=unknown))


def _refusal(record: Record, *, only_passed: bool) -> Refusal | None:
    if not isinstance(record, ReportCase):
        return "its task failed"
    if only_passed and not record.passed:
        return "nothing was asserted of it" if record.passed is None else "it did not pass"
    if record.trace is None:
        return "it has no trace"
    return None if record.trace.calls_known else "its calls are not recorded"


def _distinct(traces: Iterable[AcceptedTrace], count: Any) -> tuple[AcceptedTrace, ...]:
    """Equal traces as one, in an order that does not depend on theirs: the shortest first."""
    found: dict[str, AcceptedTrace] = {}
    for trace in traces:
        key, attempts = trace.key, trace.attempts
        if key in found:
            attempts = count(found[key].attempts, attempts)
        found[key] = msgspec.structs.replace(trace, attempts=attempts)
    return tuple(found[key] for key in sorted(found, key=lambda key: (len(found[key].steps), key)))


def _in_order(value: Any) -> Any:
    """Plain data with the keys of its mappings sorted."""
    if isinstance(value, dict):
        return {key: _in_order(value[key]) for key in sorted(value)}
    return [_in_order(item) for item in value] if isinstance(value, list) else value


def _check_names(names: Collection[str], known: Collection[str]) -> None:
    for name in sorted(set(names)):
        if name not in known:
            near = get_close_matches(name, known, n=3)
            hint = (
                f"did you mean {' or '.join(map(repr, near))}?"
                if near
                else "calipers show lists a run's cases"
            )
            raise InvalidOptionError(f"no case of this run is called {name!r}; {hint}")
