"""`TestCase`: a case whose inputs are a text, with the argument names that are usual for agents.

It is a `Case`: a `Dataset` may hold it beside others, and evaluators of every style judge it. An `expected_output` of
`None` states no expectation here.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from calipers.data.case import Case
from calipers.data.evaluator import EvaluatorLike
from calipers.data.trace import CallLike


class TestCase(Case[Any, Any, dict[str, Any]]):
    """One request to an agent."""

    __test__ = False  # pytest takes classes called Test... for tests
    __slots__ = ("description", "test_id")

    description: str
    """What the case is about, for readers."""
    test_id: str
    """Unique everywhere."""

    def __init__(
        self,
        *,
        name: str,
        input_text: str = "",
        expected_output: Any = None,
        expected_tool_calls: Iterable[CallLike] | None = None,
        description: str = "",
        tags: Sequence[str] = (),
        timeout_seconds: float | None = None,
        evaluators: Sequence[EvaluatorLike[Any, Any, Any]] = (),
        metadata: Mapping[str, Any] | None = None,
        cluster: str | None = None,
        test_id: str | None = None,
    ) -> None:
        expectation = {} if expected_output is None else {"expected_output": expected_output}
        super().__init__(
            name=name,
            inputs=input_text,
            metadata=dict(metadata or {}),
            expected_tool_calls=expected_tool_calls,
            evaluators=evaluators,
            cluster=cluster,
            tags=tags,
            timeout=timeout_seconds,
            **expectation,
        )
        self.description = description
        self.test_id = str(uuid4()) if test_id is None else test_id

    @property
    def timeout_seconds(self) -> float | None:
        """Seconds the agent may take; `None`: what the run allows."""
        return self.timeout


def as_test_case(case: Any) -> TestCase:
    """A case of any kind, or an evaluator's context, as a `TestCase`."""
    if isinstance(case, TestCase):
        return case
    metadata = case.metadata
    made = TestCase(
        name=case.name or "case",
        expected_output=case.expected_output,
        expected_tool_calls=case.expected_tool_calls,
        tags=getattr(case, "tags", ()),
        timeout_seconds=getattr(case, "timeout", None),
        metadata=metadata
        if isinstance(metadata, Mapping)
        else {}
        if metadata is None
        else {"metadata": metadata},
        cluster=getattr(case, "cluster", None),
    )
    made.inputs = case.inputs
    return made
