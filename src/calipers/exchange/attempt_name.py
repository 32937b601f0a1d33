"""What attempts of recorded conversations are called: by the first words of the request, and the end of their id.

`what-flies-to-oslo-3f9a01c2` can be read, typed and told from others. The id itself is in the trace. Hooks that take out what must not be
kept see the request before words of it become a name.

Where the request is not known, the id is the name.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final

from calipers.stores.packing import Record
from calipers.stores.redaction import redacted_data
from calipers.stores.store import Redact

_WORD: Final = re.compile(r"\w+")
_LONGEST: Final = 48
"""Characters of the words in a name."""
_HEAD: Final = 400
"""Characters of a request that are looked at."""
_ID_END: Final = 8
_SHORT_ID: Final = 12
"""An id up to this long stands in a name as it is; of a longer one the end."""


def first_words(text: str) -> str:
    """The first words of a text in small letters, with hyphens between them; empty if it has none."""
    found: list[str] = []
    size = 0
    for word in _WORD.finditer(unicodedata.normalize("NFKC", text[:_HEAD]).casefold()):
        size += len(word[0]) + 1
        if found and size > _LONGEST + 1:
            break
        found.append(word[0][:_LONGEST])
    return "-".join(found)


class AttemptNames:
    """Gives the attempts of a run of recorded conversations their names, each only once.

    Args:
        hooks: what the store of the run takes out (`Store.redact`).
        taken: names that the run has already.
    """

    def __init__(self, hooks: Sequence[Redact] = (), taken: Iterable[str] = ()) -> None:
        self._hooks = hooks
        self._taken: dict[str, int] = dict.fromkeys(taken, 1)

    def name_of(self, record: Record) -> str:
        """A name for an attempt that has none yet."""
        known_by = id_of(record)
        asked = redacted_data(record.trace.input_text, self._hooks) if record.trace is not None else ""
        words = first_words(asked) if isinstance(asked, str) else ""
        name = f"{words}-{_end(known_by)}".rstrip("-") if words else known_by or "trace"
        number = self._taken.get(name, 0) + 1
        made = name
        while number > 1 and (made := f"{name}-{number}") in self._taken:
            number += 1
        self._taken[name] = number
        self._taken.setdefault(made, 1)
        return made


def id_of(record: Record) -> str:
    """The id of the conversation that an attempt is, else that of its trace; empty if it has none."""
    trace = record.trace
    if trace is None:
        return record.trace_id or ""
    return str(trace.metadata.get("conversation_id") or trace.trace_id or "")


def name_without_words(record: Record) -> str:
    """The name of an attempt or, where that was made of what was asked, its id: a request may hold what a name must not."""
    known_by = id_of(record)
    end = _end(known_by)
    made = end and re.fullmatch(rf".*-{re.escape(end)}(-\d+)?", record.name, re.DOTALL)
    return known_by if made else record.name


def _end(known_by: str) -> str:
    return known_by if len(known_by) <= _SHORT_ID else known_by[-_ID_END:].lstrip("-")
