"""Declarations of tools, from any provider's shape to the one that an adapter sends.

So that one list of tools serves every adapter, each of these is understood:

- `{"name": …, "description": …, "parameters": {…}}`, the plain declaration;
- `{"type": "function", "function": {…}}`, as in chat completions;
- `{"type": "function", "name": …}`, as in Realtime and the Responses API;
- `{"functionDeclarations": [{…}]}`, as in Gemini, in either casing;
- `{"name": …, "input_schema": {…}}`, as in Anthropic's.

Anything else, such as a provider's own `{"googleSearch": {}}`, is passed on as it is.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from calipers.errors import InvalidOptionError

Tools: TypeAlias = Sequence[Mapping[str, Any]]
"""Declarations of tools, in any provider's shape."""


def for_chat(tools: Tools) -> list[dict[str, Any]]:
    """As chat completions take them."""
    plain, others = _sorted_out(tools)
    return [*({"type": "function", "function": each} for each in plain), *others]


def for_realtime(tools: Tools) -> list[dict[str, Any]]:
    """As Realtime sessions take them, which know no `strict`."""
    plain, others = _sorted_out(tools)
    return [*({"type": "function", **_without_strict(each)} for each in plain), *others]


def for_gemini(tools: Tools) -> list[dict[str, Any]]:
    """As Gemini takes them: all declarations in one tool."""
    plain, others = _sorted_out(tools)
    declared = [_without_strict(each) for each in plain]
    return [*([{"functionDeclarations": declared}] if declared else []), *others]


def _without_strict(declaration: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in declaration.items() if key != "strict"}


def _sorted_out(tools: Tools) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Plain declarations, and what is none."""
    plain: list[dict[str, Any]] = []
    others: list[dict[str, Any]] = []
    for tool in tools:
        if not isinstance(tool, Mapping):
            raise InvalidOptionError(
                f"a tool is declared by a mapping with name, description and parameters, got {tool!r:.200}"
            )
        inner = tool.get("function")
        many = tool.get("functionDeclarations", tool.get("function_declarations"))
        if isinstance(inner, Mapping):
            plain.append(dict(inner))
        elif isinstance(many, Sequence):
            plain += [dict(each) for each in many]
        elif isinstance(tool.get("name"), str) and tool.get("type", "function") in ("function", "custom"):
            plain.append(_plain(tool))
        else:
            others.append(dict(tool))
    return plain, others


def _plain(tool: Mapping[str, Any]) -> dict[str, Any]:
    renamed = {"input_schema": "parameters"}
    return {renamed.get(key, key): value for key, value in tool.items() if key != "type"}
