"""What an adapter shows of itself."""

import dataclasses
from typing import Any

from calipers.models.concealment import shown_address


def shown_agent(agent: Any) -> str:
    """The repr of an adapter: its settings where they differ from the usual, and no secrets."""
    settings = []
    for field in dataclasses.fields(agent):
        value = getattr(agent, field.name)
        if not field.repr or (field.default is not dataclasses.MISSING and value == field.default):
            continue
        if field.name in {"url", "base_url"} and isinstance(value, str):
            value = shown_address(value)
        settings.append(f"{field.name}={value!r}")
    return f"{type(agent).__name__}({', '.join(settings)})"
