"""Parameters that a framework fills in: the context of a run, its state, its settings. The agent did not choose them.

They hold dependencies with their keys, or the whole conversation. They are known by their annotation, or by the class of
the value, without importing any framework. `Annotated`, `Optional`, unions and generics are looked through; an annotation
written as text is read where its names can be found, and otherwise by the names in it.
"""

import ast
import inspect
import types
import typing
from collections.abc import Iterator
from typing import Any, Final

_CLASSES: Final[dict[str, frozenset[str]]] = {
    "agent_framework": frozenset({"FunctionInvocationContext"}),
    "agents": frozenset({"AgentHookContext", "RunContextWrapper", "ToolContext"}),
    "agno": frozenset({"Agent", "RunContext", "Team"}),
    "autogen_core": frozenset({"CancellationToken", "MessageContext"}),
    "fastmcp": frozenset({"Context"}),
    "google": frozenset({"CallbackContext", "InvocationContext", "ReadonlyContext", "ToolContext"}),
    "haystack": frozenset({"State"}),
    "langchain": frozenset({"ToolRuntime"}),
    "langchain_core": frozenset(
        {"AsyncCallbackManagerForToolRun", "CallbackManagerForToolRun", "InjectedToolArg", "RunnableConfig"}
    ),
    "langgraph": frozenset({"InjectedState", "InjectedStore", "Runtime", "ToolRuntime"}),
    "llama_index": frozenset({"Context"}),
    "mcp": frozenset({"Context"}),
    "pydantic_ai": frozenset({"RunContext"}),
    "semantic_kernel": frozenset({"Kernel", "KernelArguments"}),
    "strands": frozenset({"Agent", "ToolContext"}),
    "workflows": frozenset({"Context"}),
}
"""By package of a framework, the classes whose values it makes itself. Subclasses count."""

_TELLING: Final = frozenset.union(*_CLASSES.values()) - {
    "Agent",
    "Context",
    "Kernel",
    "Runtime",
    "State",
    "Team",
}
"""Classes that are known by their name alone, for annotations that cannot be read."""
_MARKS: Final = frozenset({"Depends", "Dependency", "InjectedToolCallId"})
"""Marks of an injected parameter, as its default or in `Annotated`."""
_UNREADABLE: Final[Any] = object()


def is_injected_value(value: Any) -> bool:
    """Whether a framework made a value for a tool."""
    kind = type(value)
    return kind.__module__ != "builtins" and _is_injected_class(kind)


def injected_parameters(function: Any, signature: inspect.Signature) -> frozenset[str]:
    """The names of the parameters that a framework fills in."""
    names = _Names(function)
    return frozenset(
        parameter.name
        for parameter in signature.parameters.values()
        if names.tells_injected(parameter.annotation) or _is_mark(parameter.default)
    )


def _is_injected_class(kind: Any) -> bool:
    return isinstance(kind, type) and any(
        base.__name__ in _CLASSES.get(base.__module__.partition(".")[0], ()) for base in kind.__mro__
    )


def _is_mark(value: Any) -> bool:
    """Whether a default, or what stands in `Annotated`, says that the value is injected: a class or an object of it."""
    kind = value if isinstance(value, type) else type(value)
    return _is_injected_class(kind) or any(base.__name__ in _MARKS for base in kind.__mro__)


class _Names:
    """Annotations of a function, read with the names that it knows."""

    def __init__(self, function: Any) -> None:
        plain = inspect.unwrap(function)
        plain = getattr(plain, "__func__", plain)
        code, cells = getattr(plain, "__code__", None), getattr(plain, "__closure__", None)
        self.known: dict[str, Any] = {**vars(typing), **getattr(plain, "__globals__", {})}
        for name, cell in zip(getattr(code, "co_freevars", ()), cells or (), strict=False):
            try:
                self.known[name] = cell.cell_contents
            except ValueError:  # not yet filled
                continue

    def tells_injected(self, annotation: Any) -> bool:
        """Whether an annotation is that of an injected parameter."""
        if isinstance(annotation, typing.ForwardRef):
            annotation = annotation.__forward_arg__
        if isinstance(annotation, str):
            try:
                return self._text_tells(ast.parse(annotation.strip(), mode="eval").body)
            except (SyntaxError, ValueError, RecursionError):
                return False
        if isinstance(annotation, typing.TypeVar):
            return annotation.__bound__ is not None and self.tells_injected(annotation.__bound__)
        if type(annotation).__name__ == "TypeAliasType":
            return self.tells_injected(annotation.__value__)
        origin = typing.get_origin(annotation)
        if origin is typing.Annotated:
            inside, *marks = typing.get_args(annotation)
            return self.tells_injected(inside) or any(_is_mark(mark) for mark in marks)
        if origin is typing.Union or origin is types.UnionType:
            return any(self.tells_injected(each) for each in typing.get_args(annotation))
        return _is_injected_class(annotation if origin is None else origin)

    def _text_tells(self, node: ast.expr) -> bool:
        """The same for an annotation that is written as text."""
        if isinstance(node, ast.Constant):
            return isinstance(node.value, str) and self.tells_injected(node.value)
        if isinstance(node, ast.BinOp):
            return self._text_tells(node.left) or self._text_tells(node.right)
        if isinstance(node, ast.Call):  # a mark such as InjectedState("messages")
            return self._text_tells(node.func)
        if isinstance(node, ast.Subscript):
            if _last_name(node.value) in {"Annotated", "Optional", "Union"}:
                inside = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
                return any(map(self._text_tells, inside))
            return self._text_tells(node.value)
        found = self._find(list(_path(node)))
        if found is _UNREADABLE:
            return _last_name(node) in _TELLING | _MARKS
        return self.tells_injected(found) or (isinstance(found, type) and _is_mark(found))

    def _find(self, path: list[str]) -> Any:
        found = self.known.get(path[0], _UNREADABLE) if path else _UNREADABLE
        for name in path[1:]:
            found = getattr(found, name, _UNREADABLE)
        return found


def _path(node: ast.expr) -> Iterator[str]:
    """`a.b.c` as its names."""
    if isinstance(node, ast.Attribute):
        yield from _path(node.value)
        yield node.attr
    elif isinstance(node, ast.Name):
        yield node.id


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
