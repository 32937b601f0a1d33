"""What makes two cases the same: their content.

Content is what a task and an evaluator are given: the inputs, the expectation (none at all differs from an expectation of
`None`), the expected tool calls (none stated differs from none expected) and the metadata. The name is not content, so that
renaming a case computes nothing anew; neither are tags, cluster and timeout, which say how to choose, count and watch a
case. A case's own evaluators have identities of their own.

Content is data. Where it holds objects of the project's own classes, or functions, their code counts beside it: a task
that calls a method of its inputs, or an evaluator that asks the expectation, does another thing once that is edited.

Two cases of one dataset may have the same content. They stay apart all the same: a stored attempt stands for one attempt
of a run and no more, so the second of them takes another stored one or is run.
"""

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from calipers.data.case import Case
from calipers.errors import InvalidOptionError

from .code import UnknowableError, Walk
from .fingerprint import AnyIdentity, Identity, Unknown, digest, identity_of, raw_digest
from .libraries import Libraries
from .value_bytes import NoFormError, written

_ABSENT = b"-"
_NOTHING = written(None)
_CONTENT = ("inputs", "metadata", "expected_output", "expected_tool_calls")
_NO_CODE: dict[str, str] = {}


class CodeInValues:
    """The code that values hold: that of functions, and of the classes of objects. Each is looked into once."""

    def __init__(self, libraries: Libraries | None = None) -> None:
        """Nothing met yet; `libraries` are their settings, where several identities share them."""
        self._libraries = libraries
        self._known: dict[int, tuple[Any, AnyIdentity]] = {}
        self._met: list[Any] = []

    def meet(self, thing: Any) -> None:
        """Note a function or class."""
        self._met.append(thing)

    def taken(self) -> dict[str, str] | Unknown:
        """What was met since the last time: digests of code by the names of functions and classes."""
        if not self._met:  # as it is with most values: every case of a run passes here
            return _NO_CODE
        met, self._met = self._met, []
        found: dict[str, str] = {}
        for thing in met:
            identity = self._identity(thing)
            if isinstance(identity, Unknown):
                return identity
            name = f"{thing.__module__}.{getattr(thing, '__qualname__', type(thing).__qualname__)}"
            earlier = found.get(name)
            if earlier is None or isinstance(thing, type):
                found[name] = identity.key
            else:  # two lambdas in one list
                found[name] = digest(f"{earlier} {identity.key}".encode())
        return found

    def of(self, *values: Any) -> dict[str, str] | None:
        """The code that values hold, as far as they tell; `None` if they hold none, empty if it cannot be known."""
        for value in values:
            with suppress(NoFormError):
                written(value, meet=self.meet)
        found = self.taken()
        return {} if isinstance(found, Unknown) else found or None

    def holds(self, code: Mapping[str, str]) -> bool:
        """Whether code that was noted is still the same: classes and functions are looked for by their names."""
        found = {name: _named(name) for name in code}
        known = {name: self._identity(thing) for name, thing in found.items() if thing is not None}
        return bool(code) and all(
            isinstance(one := known.get(name), Identity) and one.key == key for name, key in code.items()
        )

    def _identity(self, thing: Any) -> AnyIdentity:
        known = self._known.get(id(thing))
        if known is None:
            known = self._known[id(thing)] = (thing, _identity_of_code(thing, self._libraries))
        return known[1]


def _named(name: str) -> Any:
    """The class or function of that full name; `None` if it is not loaded."""
    parts = name.split(".")
    for count in range(len(parts) - 1, 0, -1):
        found: Any = sys.modules.get(".".join(parts[:count]))
        if found is not None:
            for part in parts[count:]:
                found = getattr(found, part, None)
            return found
    return None


def _identity_of_code(thing: Any, libraries: Libraries | None) -> AnyIdentity:
    walk = Walk(libraries)
    try:
        walk.parts["refers to"] = walk.refer(thing)
        walk.finish()
    except (UnknowableError, NoFormError) as error:
        return Unknown(str(error), walk.parts)
    return identity_of(walk.parts)


def case_identity(case: Case[Any, Any, Any]) -> AnyIdentity:
    """The identity of a case; `Unknown` if something in it has no form, such as an open file."""
    code = CodeInValues()
    found = [_part(case, name, code) for name in _CONTENT]
    parts = {
        name: digest(part) for name, part in zip(_CONTENT, found, strict=True) if isinstance(part, bytes)
    }
    for name, part in zip(_CONTENT, found, strict=True):
        if isinstance(part, NoFormError):
            return Unknown(f"its {name}: {part}", parts)
    held = code.taken()
    if isinstance(held, Unknown):
        return Unknown(held.reason, parts)
    parts |= {f"code of {name}": key for name, key in held.items()}
    content = b"".join(part for part in found if isinstance(part, bytes))
    return Identity(digest(content + code_key(held)), parts)


def case_key(case: Case[Any, Any, Any], code: CodeInValues | None = None) -> bytes | None:
    """The key of a case's content as bytes; `None` if it cannot be known. `code` notes what code the content holds."""
    meet = (CodeInValues() if code is None else code).meet
    try:
        return raw_digest(
            written(case.inputs, meet=meet)
            + (_NOTHING if case.metadata is None else written(case.metadata, meet=meet))
            + (written(case.expected_output, meet=meet) if case.has_expected_output else _ABSENT)
            + (b"" if case.expected_tool_calls is None else _calls(case, meet))
        )
    except NoFormError:
        return None


def code_key(code: dict[str, str]) -> bytes:
    """What stands for the code that values hold; empty if they hold none."""
    return identity_of(code).key.encode() if code else b""


def _calls(case: Case[Any, Any, Any], meet: Callable[[Any], None]) -> bytes:
    from calipers.matching.matcher_data import calls_data

    calls = case.expected_tool_calls or []
    try:
        return written(calls_data(calls))
    except InvalidOptionError:  # a function is part of a matcher
        return written([(call.name, call.arguments) for call in calls], meet=meet)


def _part(case: Case[Any, Any, Any], name: str, code: CodeInValues) -> bytes | NoFormError:
    try:
        if name == "expected_tool_calls":  # no bytes where nothing is stated, as in the key of such a case
            return b"" if case.expected_tool_calls is None else _calls(case, code.meet)
        absent = name == "expected_output" and not case.has_expected_output
        return _ABSENT if absent else written(getattr(case, name), meet=code.meet)
    except NoFormError as error:
        return error
