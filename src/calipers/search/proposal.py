"""A proposal: the inputs that a search tries next, and what they were made of."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from calipers.data.argument_checks import check_mapping
from calipers.data.case import Case
from calipers.data.jsonable import safe_repr
from calipers.errors import InvalidOptionError


@dataclass(frozen=True)
class Proposal:
    """Inputs to try. It holds plain data alone, so that a stored run tells what was tried and why."""

    inputs: Any
    """What the task is given."""
    _: KW_ONLY
    choices: Mapping[str, Any] = field(default_factory=dict)
    """What the inputs were made of, by name: the attack, the goal, the mutation. Bandits learn of these, and archives sort by them.
    Values are plain data; texts become tags of the trial, so that a report has a slice for each."""
    parents: tuple[int, ...] = ()
    """The numbers of the trials that it was made from; none where it was drawn."""
    case: Case[Any, Any, Any] | None = None
    """The case that it varies, whose expectation and evaluators hold for it as well; `None`: it varies none."""

    def __post_init__(self) -> None:
        check_mapping("the choices of a Proposal", self.choices)
        if not isinstance(self.parents, tuple) or not all(isinstance(each, int) for each in self.parents):
            raise InvalidOptionError(
                f"the parents of a Proposal are a tuple of numbers of trials, got {safe_repr(self.parents):.200}"
            )
        if self.case is not None and not isinstance(self.case, Case):
            raise InvalidOptionError(f"the case of a Proposal is a Case, got {safe_repr(self.case):.200}")
