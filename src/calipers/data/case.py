"""One thing to try: inputs, what to expect, and who judges.

An expectation of `None` is an expectation: `Case(inputs=x, expected_output=None)` says that the task should return
`None`, while leaving `expected_output` out says that the case expects nothing in particular.

`expected_tool_calls` says which tools an agent should call on the way. An empty list says that it should call none; leaving
it out says nothing about calls.

A case with `turns` instead of inputs is a conversation with a scripted user; see `calipers.data.user_turn`.
"""

import re
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, Generic, overload

from calipers.data.context import InputsT, MetadataT, OutputT
from calipers.data.evaluator import EvaluatorLike
from calipers.data.evaluator_styles import checked_evaluators
from calipers.data.jsonable import safe_repr
from calipers.data.trace import CallLike, ToolCall
from calipers.data.user_turn import ABSENT, UserTurn, as_turns, evaluators_of
from calipers.errors import InvalidCaseError, InvalidOptionError, InvalidTraceError

from .argument_checks import is_number

FAULT_TAG: Final = "fault="
"""How the tag begins that says under which fault of the agent's tools a case is tried."""
NO_FAULT: Final = "none"
"""What follows it where the case is tried as it is, beside others under faults."""


class Case(Generic[InputsT, OutputT, MetadataT]):
    """One thing to try."""

    __slots__ = (
        "_states_output",
        "cluster",
        "evaluators",
        "expected_output",
        "expected_tool_calls",
        "fault",
        "inputs",
        "metadata",
        "name",
        "tags",
        "timeout",
        "turns",
    )

    name: str | None
    """Unique in its dataset; `None` lets the report number it."""
    inputs: InputsT
    """What the task is given; of a case with turns, what the user says in each."""
    metadata: MetadataT | None
    """Anything evaluators or readers want to know about the case."""
    expected_output: OutputT | None
    """What the task should return; `None` also when nothing is expected, see `has_expected_output`."""
    expected_tool_calls: list[ToolCall] | None
    """The tools that should be called, none if it is empty; `None` when the case says nothing about calls."""
    evaluators: list[EvaluatorLike[InputsT, OutputT, MetadataT]]
    """Evaluators for this case alone; they run before those of the dataset."""
    cluster: str | None
    """Cases that stand or fall together (one document, one user) share a cluster; intervals widen accordingly."""
    tags: tuple[str, ...]
    """Words to choose cases by, and to see the pass rate of: each tag is a slice of the report."""
    timeout: float | None
    """Seconds the task may take for this case; `None`: what the run allows (`task_timeout`)."""
    turns: tuple[UserTurn, ...]
    """What a scripted user says, with what is expected of each answer; none for a case with inputs."""
    fault: str | None
    """Under which fault of the agent's tools it is tried, as `calipers.agents.with_faults` sets it; `None`: as it is."""

    @overload
    def __init__(
        self,
        *,
        name: str | None = ...,
        inputs: InputsT,
        metadata: MetadataT | None = ...,
        expected_output: OutputT | None = ...,
        expected_tool_calls: Iterable[CallLike] | None = ...,
        evaluators: Sequence[EvaluatorLike[InputsT, OutputT, MetadataT]] = ...,
        cluster: str | None = ...,
        tags: Sequence[str] = ...,
        timeout: float | None = ...,
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        name: str | None = ...,
        turns: Sequence[UserTurn | str],
        metadata: MetadataT | None = ...,
        expected_tool_calls: Iterable[CallLike] | None = ...,
        evaluators: Sequence[EvaluatorLike[InputsT, OutputT, MetadataT]] = ...,
        cluster: str | None = ...,
        tags: Sequence[str] = ...,
        timeout: float | None = ...,
    ) -> None: ...
    def __init__(
        self,
        *,
        name: str | None = None,
        inputs: InputsT = ABSENT,
        metadata: MetadataT | None = None,
        expected_output: OutputT | None = ABSENT,
        expected_tool_calls: Iterable[CallLike] | None = None,
        evaluators: Sequence[EvaluatorLike[InputsT, OutputT, MetadataT]] = (),
        cluster: str | None = None,
        tags: Sequence[str] = (),
        timeout: float | None = None,
        turns: Sequence[UserTurn | str] = (),
    ) -> None:
        if name is not None and (not isinstance(name, str) or not name):
            raise InvalidCaseError(f"a case's name must be a non-empty string or None, got {name!r}")
        if cluster is not None and not isinstance(cluster, str):
            raise InvalidCaseError(f"the cluster of case {name!r} must be a string or None, got {cluster!r}")
        if not _are_tags(tags):
            raise InvalidCaseError(f"the tags of case {name!r} must be a list of strings, got {tags!r}")
        if timeout is not None and not is_timeout(timeout):
            raise InvalidCaseError(
                f"the timeout of case {name!r} must be a positive number of seconds or None, got {timeout!r}"
            )
        self.turns = as_turns(turns) if turns else ()
        if inputs is ABSENT and not self.turns:
            raise TypeError(f"the case {name!r} needs inputs=..., or turns=[...] of a scripted user")
        if self.turns and (inputs is not ABSENT or expected_output is not ABSENT):
            raise InvalidCaseError(
                f"the case {name!r} has turns: they are its inputs, and each of them may state an expected_output"
            )
        self.name = name
        self.inputs = [turn.user for turn in self.turns] if self.turns else inputs  # type: ignore[assignment]  # a script
        self.metadata = metadata
        self._states_output = expected_output is not ABSENT
        self.expected_output = expected_output if self._states_output else None
        self.expected_tool_calls = (
            None if expected_tool_calls is None else _expected_calls(name, expected_tool_calls)
        )
        self.evaluators = checked_evaluators(evaluators) if evaluators else []
        self.cluster = cluster
        self.tags = tuple(tags)
        self.timeout = timeout
        self.fault = None

    @property
    def has_expected_output(self) -> bool:
        """Whether an expectation was stated, when the case was made or later."""
        return self._states_output or self.expected_output is not None

    @property
    def input_text(self) -> str:
        """The inputs as text, in the words of trace evaluators."""
        return self.inputs if isinstance(self.inputs, str) else str(self.inputs)

    @property
    def own_evaluators(self) -> list[Any]:
        """The evaluators of its turns, then its own."""
        return [*evaluators_of(self.turns), *self.evaluators] if self.turns else self.evaluators

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Case):
            return NotImplemented
        return self.has_expected_output == other.has_expected_output and all(
            getattr(self, slot) == getattr(other, slot) for slot in Case.__slots__[1:]
        )

    __hash__ = None  # type: ignore[assignment]  # a case is mutable

    def plain_data(self) -> dict[str, Any]:
        """What is shown of it as data."""
        fields = {slot: getattr(self, slot) for slot in Case.__slots__[1:]}
        if self.fault is None:
            del fields["fault"]
        return {**fields, "has_expected_output": self.has_expected_output}

    def __repr__(self) -> str:
        shown = [] if self.name is None else [f"name={self.name!r}"]
        shown.append(f"turns={list(self.turns)!r}" if self.turns else f"inputs={self.inputs!r}")
        if self.metadata is not None:
            shown.append(f"metadata={self.metadata!r}")
        if self.has_expected_output:
            shown.append(f"expected_output={self.expected_output!r}")
        if self.expected_tool_calls is not None:
            shown.append(f"expected_tool_calls={self.expected_tool_calls!r}")
        if self.evaluators:
            shown.append(f"evaluators={self.evaluators!r}")
        if self.cluster is not None:
            shown.append(f"cluster={self.cluster!r}")
        if self.tags:
            shown.append(f"tags={list(self.tags)!r}")
        if self.timeout is not None:
            shown.append(f"timeout={self.timeout!r}")
        if self.fault is not None:
            shown.append(f"fault={self.fault!r}")
        return f"Case({', '.join(shown)})"


def field_tags(metadata: Any, field: str) -> list[str]:
    """The tags that a field of a case's metadata stands for: `difficulty=hard`; of a list, one for each item.

    Only texts, numbers and flags make tags. What has no such field has no tags.
    """
    value = metadata.get(field) if isinstance(metadata, Mapping) else getattr(metadata, field, None)
    values = value if isinstance(value, list | tuple | set | frozenset) else [value]
    found = [
        f"{field}={str(each).lower() if isinstance(each, bool) else each}"
        for each in values
        if isinstance(each, str | int | float)
    ]
    return sorted(found) if isinstance(value, set | frozenset) else found


def _expected_calls(name: str | None, calls: Any) -> list[ToolCall]:
    from calipers.matching.match import as_expected_calls

    try:
        return list(as_expected_calls(calls))
    except (InvalidTraceError, InvalidOptionError) as error:
        raise InvalidCaseError(f"the expected tool calls of case {name!r}: {error}") from error


def _are_tags(value: Any) -> bool:
    if type(value) is tuple and not value:  # most cases have none
        return True
    is_list = isinstance(value, Collection) and not isinstance(value, str)
    return is_list and all(isinstance(tag, str) for tag in value)


def is_timeout(value: Any) -> bool:
    """Whether a case may have this timeout: a positive number of seconds, with an end."""
    return is_number(value) and 0 < value <= sys.float_info.max


def similar_names(wanted: str, names: Iterable[str], *, cutoff: float = 0.6) -> list[str]:
    """Up to three names that may have been meant: those that differ only in leading zeros, else similar ones."""
    from difflib import get_close_matches

    def without_zeros(name: str) -> str:
        return re.sub("(?<![0-9])0+(?=[0-9])", "", name)

    names = list(names)
    same = [name for name in names if without_zeros(name) == without_zeros(wanted)]
    return same[:3] or get_close_matches(wanted, names, n=3, cutoff=cutoff)


def not_a_case(item: Any, number: int) -> InvalidCaseError:
    """The error for an item of a dataset, counted from 1, that is no `Case`."""
    hint = "; make it one with Case(**item)" if isinstance(item, dict) else ""
    return InvalidCaseError(f"item {number} of the dataset is not a Case: {safe_repr(item):.200}{hint}")
