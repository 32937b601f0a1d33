"""What the adapters of providers share: keys, settings laid over settings, and clients of an SDK."""

import asyncio
import inspect
import os
from collections.abc import Callable, Mapping
from typing import Any

from calipers.errors import (
    AgentConnectionError,
    AgentReplyError,
    AgentTimeoutError,
    InvalidOptionError,
)
from calipers.models.concealment import shown_text
from calipers.voice.response import AgentResponse


def key_for(api_key: str | None, variables: tuple[str, ...], *, needed: bool) -> str | None:
    """The key that was given, or that the environment has.

    Raises:
        InvalidOptionError: there is none, and it is needed.
    """
    for found in (api_key, *(os.environ.get(name) for name in variables)):
        if found and found.strip():
            return found.strip()
    if needed:
        raise InvalidOptionError(f"there is no API key: set {' or '.join(variables)}, or give api_key")
    return None


def laid_over(settings: Mapping[str, Any], changes: Mapping[str, Any] | None) -> dict[str, Any]:
    """Settings with changes: a mapping changes a mapping key by key, anything else replaces."""
    found = dict(settings)
    for key, value in (changes or {}).items():
        before = found.get(key)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            found[key] = laid_over(before, value)
        else:
            found[key] = value
    return found


async def ask_sdk(ask: Callable[[], Any], *, seconds: float | None, secrets: list[str]) -> Any:
    """What a client of an SDK answers, its errors as ours where they say that the agent gave no answer.

    Raises:
        AgentError: it gave none.
    """
    try:
        async with asyncio.timeout(seconds):
            found = ask()
            return await found if inspect.isawaitable(found) else found
    except Exception as error:
        kind, said = type(error).__name__, shown_text(str(error), secrets)
        status = getattr(error, "status_code", getattr(error, "code", None))
        if isinstance(error, TimeoutError) or "Timeout" in kind:
            message = f"the client did not answer in time: {said or kind}"
            raise AgentTimeoutError(message, response=AgentResponse(timed_out=True)) from error
        if isinstance(status, int):
            raise AgentReplyError(
                f"the client reported {kind} with status {status}: {said}", status=status
            ) from error
        if "Connect" in kind:
            raise AgentConnectionError(f"the client could not connect: {said}") from error
        raise
