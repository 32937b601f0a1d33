"""What the difference of two traces says, in words: where they part, and which values are not the same.

    parts at step 3: book(flight='AZ611') became book(flight='LH220')
    parts at step 2: extra call of cancel(order=7)
    stops after step 2: no call of refund(amount=40)

A step has the number that `calipers show` gives it: its place in the trace of the candidate or, where only the baseline has it, of
the baseline.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from calipers.comparison.flips import Flip, FlippedAssertion, TraceGap
from calipers.comparison.trace_difference import ChangedValue, StepPair, TraceDifference
from calipers.data.value_text import show
from calipers.stats.number_text import plural

GAPS: Final[dict[TraceGap, str]] = {
    "no traces": "not compared: neither attempt left a trace",
    "no baseline trace": "not compared: the attempt of the baseline left no trace",
    "no candidate trace": "not compared: the attempt of the candidate left no trace",
    "too long": "not compared here, where so many traces are so long: calipers compare --case NAME compares those of one case",
}
"""Why the traces of a flip are not compared."""

_NAMES: Final = {
    "user_message": "message of the user",
    "agent_message": "message of the agent",
    "llm_call": "answer of a model",
}
"""What a step is called that is no call of a tool."""
_LONGEST = 160
"""Characters of a value."""
_NAMED = 3
"""Tools that are named."""


def flip_lines(flips: Sequence[Flip]) -> Iterator[list[tuple[str, str]]]:
    """What each of some flips says of its two attempts, line by line, each with the word before it.

    That an attempt left no trace is said where another one did: an evaluation without agents needs none.
    """
    traced = any(flip.trace_gap not in {None, "no traces"} or flip.trace is not None for flip in flips)
    for flip in flips:
        lines = [*_gave(flip), *(("why", said) for each in flip.assertions for said in _reasons(each))]
        if flip.trace is not None:
            lines += [("trace", line) for line in difference_lines(flip.trace)]
        elif flip.trace_gap is not None and traced:
            lines.append(("trace", GAPS[flip.trace_gap]))
        yield lines


def _gave(flip: Flip) -> Iterator[tuple[str, str]]:
    sides = (
        ("before", flip.baseline_gave, flip.baseline_attempt, flip.baseline_attempts),
        ("now", flip.candidate_gave, flip.candidate_attempt, flip.candidate_attempts),
    )
    for word, gave, number, of in sides:
        if gave is not None:
            yield word, gave if of == 1 else f"{gave} (attempt {number} of {of})"


def _reasons(assertion: FlippedAssertion) -> Iterator[str]:
    """The reasons that an evaluator gave for the two attempts; nothing where it gave none."""
    sides = (
        ("before", assertion.baseline, assertion.baseline_reason),
        ("now", assertion.candidate, assertion.candidate_reason),
    )
    for word, held, reason in sides:
        if reason:
            nothing = "no result, " if held is None else ""
            lines = (" ".join(line.split()) for line in reason.splitlines())
            yield f"{assertion.name} {word}: {nothing}{' · '.join(filter(None, lines))}"


def difference_lines(difference: TraceDifference) -> list[str]:
    """Where two traces part, the first call that is not the same, and the values that differ in these steps."""
    if difference.first is None:
        return [_alike(difference)]
    first, call = difference.parting[0], difference.first_call
    lines = [_parting(difference), *_values(first)]
    if first.kind != "tool_call" and call is not None:
        lines += [f"first call that differs, step {step_number(call)}: {step_words(call)}", *_values(call)]
    if difference.left_out:
        lines.append(f"not compared: {_left_out(difference)}")
    return lines


def step_number(step: StepPair) -> int:
    """The number of a step, from 1."""
    place = step.baseline if step.candidate is None else step.candidate
    assert place is not None
    return place + 1


def step_words(step: StepPair) -> str:
    """What became of a step."""
    before, now = step.baseline_shown, step.candidate_shown
    if before is None:
        return f"extra {_named(step, now)}"
    if now is None:
        return f"no {_named(step, before)}"
    if before != now:
        return f"{before} became {now}"
    parts = {_part(change) for change in step.changes}
    if parts == {"error"}:
        failed = all(change.kind == "unexpected" for change in step.changes)
        recovered = all(change.kind == "missing" for change in step.changes)
        return f"{now} {'fails now' if failed else 'no longer fails' if recovered else 'fails otherwise'}"
    if parts == {"model"}:
        return "another model answers"
    if "arguments" in parts:
        return f"{now} with other arguments"
    return f"{now} gave something else" if step.kind == "tool_call" else f"another {_NAMES[step.kind]}"


def change_words(change: ChangedValue) -> str:
    """One value that differs, with its path: `arguments.flight: 'AZ611' → 'LH220'`."""
    before, now = show(change.baseline, _LONGEST), show(change.candidate, _LONGEST)
    match change.kind:
        case "missing":
            return f"{change.path}: {before} → nothing"
        case "unexpected":
            return f"{change.path}: nothing → {now}"
        case "different":
            return f"{change.path}: {before} → {now}"


def _parting(difference: TraceDifference) -> str:
    """Where two traces part."""
    first = difference.parting[0]
    number = step_number(first)
    if difference.stops == "candidate":
        after = f"stops after step {number - 1}" if number > 1 else "makes no step"
        return f"{after}: {step_words(first)}"
    if difference.stops == "baseline":
        return f"goes on at step {number}: {step_words(first)}"
    other = next((step for step in difference.parting if step.baseline is None), None)
    if first.candidate is None and other is not None:
        return (
            f"parts at step {step_number(other)}: {other.candidate_shown} instead of {first.baseline_shown}"
        )
    return f"parts at step {number}: {step_words(first)}"


def _values(step: StepPair) -> list[str]:
    """The values of a step that differ. Another request brings another result, and a single argument is seen in the step itself."""
    changes = step.changes
    if any(_part(change) == "arguments" for change in changes):
        changes = tuple(change for change in changes if _part(change) != "output")
    seen = step.kind == "tool_call" and len(changes) == 1 and step.baseline_shown != step.candidate_shown
    return [] if seen else [change_words(change) for change in changes]


def _alike(difference: TraceDifference) -> str:
    if difference.compared:
        besides = f"; not compared: {_left_out(difference)}" if difference.left_out else ""
        return f"does not part: {plural(difference.compared // 2, 'step')} the same{besides}"
    if difference.left_out:
        return f"not compared: {_left_out(difference)}"
    return "not compared: neither trace has a step"


def _left_out(difference: TraceDifference) -> str:
    """The steps that were not compared, with their tools."""
    tools = difference.left_out_tools
    of = f" ({', '.join(tools[:_NAMED])}{', …' if len(tools) > _NAMED else ''})" if tools else ""
    return f"{plural(difference.left_out, 'step')} of one trace that the other does not record{of}"


def _named(step: StepPair, shown: str | None) -> str:
    if step.kind == "tool_call":
        return f"call of {shown}"
    return f"{_NAMES[step.kind]}: {shown}"


def _part(change: ChangedValue) -> str:
    """The first word of a path."""
    return re.split(r"[.\[]", change.path, maxsplit=1)[0]
