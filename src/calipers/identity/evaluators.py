"""What makes two evaluators the same: source, helpers, parameters, and the version they declare.

Parameters are the fields of a dataclass (those that are compared), the attributes of any other object, and what a partial
has bound. An evaluator that Calipers ships is its type, its parameters and the release of Calipers: a release is what we
change meanings in, and none of them costs much to run again.

A declared version (`get_evaluator_version`) is one part among the others, since source and parameters still tell. Where
they cannot be known, it stands for them.
"""

from typing import Any

from calipers.data.evaluator_styles import as_evaluator

from .code import UnknowableError, Walk
from .fingerprint import AnyIdentity, Unknown, identity_of
from .libraries import Libraries
from .tasks import named_parts, walk_callable
from .values import NoFormError

_WAY_OUT = "declare a version: give the evaluator a method get_evaluator_version()"


def evaluator_identity(evaluator: Any, *, libraries: Libraries | None = None) -> AnyIdentity:
    """The identity of an evaluator of any style.

    Args:
        evaluator: what would be passed to `Dataset`.
        libraries: their settings, where several identities share them; default: they are looked at now.
    """
    one = as_evaluator(evaluator)
    origin = getattr(one, "origin", one)
    version = one.get_evaluator_version()
    declared = {} if version is None else {"version": str(version)}
    walk = Walk(libraries)
    try:
        walk_callable(walk, origin, label="parameter", texts=True)
        walk.finish()
    except (UnknowableError, NoFormError) as error:
        if declared:
            known = named_parts(origin, label="parameter", texts=True)
            return identity_of({**known, **declared}, reads_name=True)
        return Unknown(f"{error}; {_WAY_OUT}", walk.parts)
    reads_name = bool(walk.attributes & {"name", "case"}) or _asks_for_name(one)
    return identity_of({**walk.parts, **declared}, reads_name=reads_name)


def _asks_for_name(evaluator: Any) -> bool:
    """Whether a function takes the name of the case, or the case itself, as a parameter."""
    asked = {parameter.name for parameter in getattr(evaluator, "parameters", ())}
    return bool(asked & {"name", "case", "test_case"})
