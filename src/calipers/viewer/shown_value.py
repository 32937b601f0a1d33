"""Values of cases and attempts as the page shows them: text as it is, anything else as JSON, and no more than a screen can take."""

import json
from typing import Any, Final

from calipers.data.jsonable import plain

from .wire import ShownValue

LONGEST: Final = 65_536
"""Characters of a value that travel with an answer."""
MISSING: Final = ShownValue(kind="missing")
"""What is not there."""


def shown_value(value: Any, *, is_there: bool = True, href: str | None = None) -> ShownValue:
    """A value to be shown.

    Args:
        value: an input, an output, an expectation.
        is_there: False: there is none, which is another thing than `None`.
        href: where the whole can be downloaded; it is used where the value is cut.
    """
    if not is_there:
        return MISSING
    text = value if type(value) is str else json.dumps(plain(value), ensure_ascii=False)
    return ShownValue(
        kind="text" if type(value) is str else "json",
        text=text[:LONGEST],
        length=len(text),
        href=href if len(text) > LONGEST else None,
    )
