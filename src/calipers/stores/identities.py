"""The keys by which a store knows the work and the evaluators of a run.

An attempt is known by the case's content, the task, the repeat and, where several cases of a dataset have the same content,
by which of them it is. Results are known by the evaluator and its name in the run, so that a result is never shown under
another name than it was given.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from calipers.data.case import Case
from calipers.identity.callables import evaluator_identity
from calipers.identity.case_content import CodeInValues, case_key, code_key
from calipers.identity.fingerprint import AnyIdentity, Identity, Unknown, digest, raw_digest
from calipers.identity.libraries import Libraries
from calipers.identity.value_bytes import NoFormError, held, written
from calipers.run.work import REMEMBERED_NAMES, Work
from calipers.scoring.evaluator_plan import Plan, PlannedEvaluator

from .run_info import StoredEvaluator, plain_spec

_MOST_KEPT = 10_000
"""Evaluators of single cases whose identity is remembered."""
_NO_SETTING = frozenset(
    {
        "inputs",
        "metadata",
        "expected_output",
        "_states_output",
        "expected_tool_calls",
        "evaluators",
        "name",
        "test_id",
    }
)
"""Attributes of a case that are content, known otherwise, or never the same twice."""
_FIRST = b"0"
"""Marks the first of several cases with the same content."""
_END = 8
"""Bytes of an attempt's key for task, repeat and place among cases of the same content."""


class IdentifiedEvaluator(msgspec.Struct, frozen=True):
    """An evaluator of a run, as a store knows it."""

    stored: StoredEvaluator
    reads_name: bool
    """Whether its results may depend on the name of the case."""

    @property
    def key(self) -> str | None:
        """What its results are found by; `None` if its identity is unknown."""
        return self.stored.identity


def evaluator_key(identity: AnyIdentity, name: str) -> str | None:
    """What the results of an evaluator are found by, under its name in a run; `None` if its identity is unknown."""
    if not isinstance(identity, Identity):
        return None
    return digest(f"{identity.key}\0{name}".encode("utf-8", "surrogatepass"))


def setting_key(case: Case[Any, Any, Any], name: str) -> str:
    """A hash of all that a case says beside its content; empty if something has no form."""
    said = {what: value for what, value in held(case).items() if what not in _NO_SETTING}
    try:
        return digest(written([name, said]))
    except NoFormError:
        return ""


class EvaluatorIdentities:
    """The evaluators of a run with their identities."""

    def __init__(self, plan: Plan, libraries: Libraries | None = None) -> None:
        self.libraries = libraries or Libraries()
        self._shared = {
            id(planned): self._made(planned, evaluator_identity(_origin(planned), libraries=self.libraries))
            for planned in plan.evaluators
        }
        self._shared_plan = plan
        self._known: dict[int, tuple[Any, AnyIdentity]] = {}
        self._before: dict[tuple[str | None, ...], str] = {}

    @property
    def shared(self) -> tuple[StoredEvaluator, ...]:
        """The evaluators that judge every attempt."""
        return tuple(self._shared[id(planned)].stored for planned in self._shared_plan.evaluators)

    def of(self, planned: PlannedEvaluator) -> IdentifiedEvaluator:
        """An evaluator with its identity."""
        found = self._shared.get(id(planned))
        return self._made(planned, self._identity(_origin(planned)), shared=False) if found is None else found

    def before(self, plan: Plan, planned: PlannedEvaluator) -> str:
        """A hash of the evaluators that run before this one; empty if one of them is unknown."""
        keys = tuple(self.of(other).key for other in plan.evaluators[: plan.evaluators.index(planned)])
        found = self._before.get(keys)
        if found is None:
            found = "" if None in keys else digest("\0".join(map(str, keys)).encode())
            if len(self._before) < _MOST_KEPT:
                self._before[keys] = found
        return found

    def _identity(self, origin: Any) -> AnyIdentity:
        known = self._known.get(id(origin))
        if known is None:
            known = (origin, evaluator_identity(origin, libraries=self.libraries))
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            self._known[id(origin)] = known
        return known[1]

    def _made(
        self, planned: PlannedEvaluator, identity: AnyIdentity, *, shared: bool = True
    ) -> IdentifiedEvaluator:
        stored = StoredEvaluator(
            name=planned.name,
            spec=plain_spec(planned.source),
            version=planned.version,
            identity=evaluator_key(identity, planned.name),
            shared=shared,
            parts=identity.parts,
            unknown=None if isinstance(identity, Identity) else identity.reason,
            is_judge=planned.is_judge,
        )
        return IdentifiedEvaluator(stored, not isinstance(identity, Identity) or identity.reads_name)


def _origin(planned: PlannedEvaluator) -> Any:
    return getattr(planned.evaluator, "origin", planned.evaluator)


class WorkKeys:
    """Gives each piece of work the keys it is known by; read in the order of the dataset."""

    def __init__(self, task: AnyIdentity, libraries: Libraries | None = None, *, bounded: bool) -> None:
        """Keys for the work of one task; `bounded`: the dataset may be too long to remember the content of every case."""
        self._task = task.key.encode() if isinstance(task, Identity) else None
        self._bounded = bounded
        self._seen: dict[bytes, int] = {}
        self._ends: dict[tuple[int, bytes], bytes] = {}
        self._code = CodeInValues(libraries)
        self.unknown_cases = 0
        """Cases whose content has no form."""
        self.unknown_code: dict[str, int] = {}
        """Cases that hold code which cannot be known, by the reason."""

    def of(self, items: Iterator[Work]) -> Iterator[Work]:
        """The work, with its keys."""
        case: bytes | None = None
        which = b""
        most = self._end(1, _FIRST)  # as it is for most attempts of a run
        code: dict[str, str] | Unknown = {}
        for work in items:
            if work.repeat_index == 1 or case is None:
                case = None if work.problem is not None else case_key(work.case, self._code)
                code = self._code.taken()
                if case is not None:
                    which = self._which(case, work)
                elif work.problem is None and work.repeat_index == 1:
                    self.unknown_cases += 1
                if isinstance(code, Unknown) and case is not None:
                    self.unknown_code[code.reason] = self.unknown_code.get(code.reason, 0) + 1
            if case is not None:
                work.case_key = case
                if not code:
                    usual = which is _FIRST and work.repeat_index == 1
                    end = most if usual else self._end(work.repeat_index, which)
                    work.attempt_key = None if end is None else case + end
                elif isinstance(code, Unknown):
                    work.case_code = {}
                else:
                    work.case_code = code
                    end = self._end(work.repeat_index, which + code_key(code))
                    work.attempt_key = None if end is None else case + end
            yield work

    def _end(self, repeat: int, which: bytes) -> bytes | None:
        """What follows the key of a case in the key of an attempt."""
        if self._task is None:
            return None
        found = self._ends.get((repeat, which))
        if found is None:
            found = raw_digest(b"%s %d %s" % (self._task, repeat, which))[:_END]
            if len(self._ends) < _MOST_KEPT:
                self._ends[repeat, which] = found
        return found

    def _which(self, case: bytes, work: Work) -> bytes:
        """What tells a case from earlier ones of the same content: how many there were, or else its name."""
        if self._bounded and len(self._seen) >= REMEMBERED_NAMES and case not in self._seen:
            return work.case_name.encode("utf-8", "surrogatepass")
        earlier = self._seen.get(case, 0)
        self._seen[case] = earlier + 1
        return b"%d" % earlier if earlier else _FIRST
