"""What makes two cases the same: their content.

Content is what a task and an evaluator are given: the inputs, the expectation (none at all differs from an expectation of
`None`) and the metadata. The name is not content, so that renaming a case computes nothing anew; neither are tags,
cluster and timeout, which say how to choose, count and watch a case. A case's own evaluators have identities of their own.

Two cases of one dataset may have the same content. They stay apart all the same: a stored attempt stands for one attempt
of a run and no more, so the second of them takes another stored one or is run.
"""

from typing import Any

from calipers.case import Case

from .fingerprint import AnyIdentity, Identity, Unknown, digest, raw_digest
from .values import NoFormError, written

_ABSENT = b"-"
_NOTHING = written(None)
_CONTENT = ("inputs", "metadata", "expected_output")


def case_identity(case: Case[Any, Any, Any]) -> AnyIdentity:
    """The identity of a case's content; `Unknown` if something in it has no form, such as an open file."""
    found = [_part(case, name) for name in _CONTENT]
    parts = {
        name: digest(part) for name, part in zip(_CONTENT, found, strict=True) if isinstance(part, bytes)
    }
    for name, part in zip(_CONTENT, found, strict=True):
        if isinstance(part, NoFormError):
            return Unknown(f"its {name}: {part}", parts)
    return Identity(digest(b"".join(part for part in found if isinstance(part, bytes))), parts)


def case_key(case: Case[Any, Any, Any]) -> bytes | None:
    """The key of a case's identity as bytes, without its parts; `None` if it cannot be known."""
    try:
        return raw_digest(
            written(case.inputs)
            + (_NOTHING if case.metadata is None else written(case.metadata))
            + (written(case.expected_output) if case.has_expected_output else _ABSENT)
        )
    except NoFormError:
        return None


def _part(case: Case[Any, Any, Any], name: str) -> bytes | NoFormError:
    try:
        absent = name == "expected_output" and not case.has_expected_output
        return _ABSENT if absent else written(getattr(case, name))
    except NoFormError as error:
        return error
