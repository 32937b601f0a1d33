"""Taking secrets out of the text of an error: what a tool was given may come back in what it says went wrong.

A secret is found as it stands, as `repr` and as JSON would write it, and wherever it is nested: the texts, bytes and
numbers inside of lists and mappings. What a tool makes of a secret otherwise, such as a half of it, is not found.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

REDACTED = "[redacted]"
"""What is recorded in place of a secret."""

_DEEPEST = 20


def without(text: str, secrets: Iterable[Any]) -> str:
    """The text with what it repeats of some secrets hidden."""
    found = {spelling for secret in secrets for part in _parts(secret) for spelling in _spellings(part)}
    if not found:
        return text
    # The longest first: one secret may begin with another.
    return re.sub("|".join(sorted(found, key=len, reverse=True)), REDACTED, text)


def _parts(secret: Any, depth: int = 0) -> Iterator[Any]:
    """The single values that a secret is made of."""
    if isinstance(secret, Mapping):
        inside: Any = secret.values()
    elif isinstance(secret, list | tuple | AbstractSet):
        inside = secret
    else:
        yield secret
        return
    if depth < _DEEPEST:
        for each in inside:
            yield from _parts(each, depth + 1)


def _spellings(part: Any) -> Iterator[str]:
    """Patterns for the ways in which a value may be written."""
    if isinstance(part, bool):
        return
    if isinstance(part, int | float):
        yield rf"(?<!\d){re.escape(str(part))}(?!\d)"  # a 4 is no part of a 42
    elif isinstance(part, bytes) and part:
        yield re.escape(repr(part)[2:-1])
        yield re.escape(part.decode("utf-8", "backslashreplace"))
    elif isinstance(part, str) and part:
        text = str.__str__(part)
        yield from map(re.escape, (text, repr(text)[1:-1], json.dumps(text)[1:-1]))
