"""Evidence that tool calls would have been recorded, so that an empty list of calls means "none was made".

An agent without a recorded call either called nothing, or called what nothing records. Evidence for the first is code
within the agent's reach that records calls:

- functions marked with `@tool`: calls of these tools are recorded, and nothing is known of other tools;
- code that calls `record_tool_call` or `tool_call` of a recording: it may record calls of any tool.

A name alone is no evidence: another library's object may have a `tool_call`, too. A tool is a function that `@tool` made,
and a recording is a variable that the source shows to come from `TraceRecorder` or `current_recording`, or that holds one.

The search covers what a function uses (the names in its code, its closure, its object) and what these hold, the nearest
first, up to a fixed number of objects. So it finds the tools that were given to a framework's agent.
"""

import ast
import functools
import inspect
import sys
import textwrap
import types
import weakref
from collections import ChainMap, deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

MARK: Final = "__calipers_tool__"
"""The attribute of a function that `@tool` made; it holds the tool's name."""

_RECORDING: Final = frozenset({"record_tool_call", "tool_call"})
_RECORDERS: Final = frozenset({"Recording", "TraceRecorder", "current_recording"})
_MOST_OBJECTS = 5_000
"""How many objects are looked at. A framework's agent keeps its tools close to itself."""
_MOST_ITEMS = 200
"""How many items of a container are looked at."""
_EMPTY: Final = (str, bytes, int, float, complex, type(None), types.CodeType, types.FrameType)


class Found(NamedTuple):
    """The evidence that was found."""

    tools: frozenset[str] = frozenset()
    """The tools marked with `@tool`, by their names in traces."""
    by_hand: bool = False
    """Whether there is code that records calls by hand, which may be those of any tool."""

    def with_other(self, other: "Found") -> "Found":
        """This evidence and further one."""
        return Found(self.tools | other.tools, self.by_hand or other.by_hand)


_KNOWN: dict[int, tuple[weakref.ref[Any], Found]] = {}
_BY_CALLER: weakref.WeakKeyDictionary[types.CodeType, Found] = weakref.WeakKeyDictionary()


def tools_reached(root: Any) -> Found:
    """The evidence within reach of an object, such as an agent's function. The search runs once per object."""
    known = _KNOWN.get(id(root))
    if known is not None and known[0]() is root:
        return known[1]
    found = _look(root)
    try:
        ref = weakref.ref(root, functools.partial(_forget, id(root)))
    except TypeError:  # an object that cannot be noticed to go away
        return found
    _KNOWN[id(root)] = ref, found
    return found


def tools_reached_by_caller() -> Found:
    """The same for the function that called into this package."""
    frame: types.FrameType | None = sys._getframe(1)  # noqa: SLF001
    while frame is not None and _is_passed_over(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
    if frame is None:
        return Found()
    code, local = frame.f_code, frame.f_locals
    if code not in _BY_CALLER:
        names = ChainMap(local, frame.f_globals)
        by_hand = bool(_RECORDING & _names_in(code)) and _records_by_hand(code, names)
        reached = _look(*_used_by(code, frame.f_globals))
        _BY_CALLER[code] = reached.with_other(Found(by_hand=by_hand))
    found = _BY_CALLER[code]
    # The same code may be given another agent the next time.
    count = code.co_argcount + code.co_kwonlyargcount
    for name in (*code.co_varnames[:count], *code.co_freevars):
        if not isinstance(value := local.get(name), _EMPTY):
            found = found.with_other(tools_reached(value))
    return found


def _forget(identity: int, ref: weakref.ref[Any]) -> None:
    if _KNOWN.get(identity, (None,))[0] is ref:
        del _KNOWN[identity]


def _look(*roots: Any) -> Found:
    waiting: deque[Any] = deque(roots)
    seen: set[int] = set()
    kept: list[Any] = []  # what is looked at must not go away, or its id would be another's
    tools: set[str] = set()
    by_hand = False
    while waiting and len(seen) < _MOST_OBJECTS:
        value = waiting.popleft()
        if isinstance(value, _EMPTY) or id(value) in seen:
            continue
        seen.add(id(value))
        kept.append(value)
        try:
            if isinstance(value, types.FunctionType | types.MethodType):
                tools.update(_marked(value))
                by_hand = by_hand or _is_by_hand(value)
            waiting.extend(_inside(value))
        except Exception:  # noqa: S112 - an object that refuses to be looked at, or changes meanwhile
            continue
    return Found(frozenset(tools), by_hand)


def _is_passed_over(module: str) -> bool:
    return module == "contextlib" or module.partition(".")[0] == "calipers"


def _marked(function: types.FunctionType | types.MethodType) -> tuple[str, ...]:
    """The name of the tool that a function is. Other decorators copy the mark and are no tools."""
    if not isinstance(function, types.FunctionType) or MARK not in function.__dict__:
        return ()
    is_tool = function.__globals__.get("__name__") == f"{__package__}.tools"
    return (function.__dict__[MARK],) if is_tool else ()


# ---------------------------------------------------------------------- what an object holds


def _inside(value: Any) -> Iterable[Any]:
    """What an object holds or uses."""
    if isinstance(value, types.FunctionType):
        return _inside_function(value)
    if isinstance(value, types.MethodType):
        return (value.__func__, value.__self__)
    if isinstance(value, functools.partial):
        return (value.func, *value.args, *value.keywords.values())
    if isinstance(value, staticmethod | classmethod):
        return (value.__func__,)
    if isinstance(value, property):
        return (value.fget,)
    if isinstance(value, Mapping):
        return list(value.values())[:_MOST_ITEMS]
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)[:_MOST_ITEMS]
    if isinstance(value, type):
        return list(vars(value).values())[:_MOST_ITEMS]
    if isinstance(value, types.ModuleType) or _is_recorder(value):
        return ()  # what is used of a module is found by name; a recording holds what was done, not what can be
    return _inside_object(value)


def _inside_function(function: types.FunctionType) -> Iterator[Any]:
    if not _is_passed_over(function.__module__ or ""):  # what Calipers uses says nothing about the agent
        yield from _used_by(function.__code__, function.__globals__)
    yield from function.__dict__.values()
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    yield from _closure(function).values()


def _inside_object(value: Any) -> Iterator[Any]:
    yield from list(getattr(value, "__dict__", {}).values())
    for kind in type(value).__mro__:
        for name in getattr(kind, "__slots__", ()):
            yield getattr(value, name, None)
        if kind.__module__ not in {"builtins", "abc", "typing"}:
            for each in vars(kind).values():
                if isinstance(each, types.FunctionType):
                    yield types.MethodType(each, value) if _RECORDING & _names_in(each.__code__) else each


def _closure(function: types.FunctionType) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not yet filled
            continue
    return found


def _names_in(code: types.CodeType) -> frozenset[str]:
    """The names that code uses, functions inside included."""
    inner = [_names_in(each) for each in code.co_consts if type(each) is types.CodeType]
    return frozenset(code.co_names).union(*inner)


def _used_by(code: types.CodeType, names: Mapping[str, Any]) -> Iterator[Any]:
    """The objects that code uses by name; of modules, those of their members whose names it has."""
    used = _names_in(code)
    for name in used & names.keys():
        value = names[name]
        if isinstance(value, types.ModuleType):
            yield from (vars(value)[member] for member in used & vars(value).keys())
        else:
            yield value


# ---------------------------------------------------------------------- calls that are recorded by hand


def _is_by_hand(function: types.FunctionType | types.MethodType) -> bool:
    """Whether a function records calls of tools by hand."""
    plain: Any = getattr(function, "__func__", function)
    if not isinstance(plain, types.FunctionType) or _is_passed_over(plain.__module__ or ""):
        return False
    code = plain.__code__
    if not _RECORDING & _names_in(code):
        return False
    receiver = code.co_varnames[:1] if isinstance(function, types.MethodType) else ()
    bound = dict.fromkeys(receiver, getattr(function, "__self__", None))
    return _records_by_hand(code, ChainMap(bound, _closure(plain), plain.__globals__))


def _records_by_hand(code: types.CodeType, names: Mapping[str, Any]) -> bool:
    """Whether the source of some code calls a method of a recording that records a call."""
    try:
        body = ast.parse(textwrap.dedent(inspect.getsource(code))).body
    except (OSError, TypeError, SyntaxError):  # no source, or a part of an expression
        return False
    if code.co_name == "<module>":
        body = [
            each
            for each in body
            if not isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        ]
    nodes = [node for each in body for node in ast.walk(each)]
    reader = _Reader(names)
    while any(reader.binds(node) for node in nodes):  # until no further variable is found
        pass
    return any(
        isinstance(node, ast.Attribute) and node.attr in _RECORDING and reader.gives(node.value)
        for node in nodes
    )


class _Reader:
    """Which expressions of some source give a recorder or a recording."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self.names = names
        """What is known of the variables by their values."""
        self.held: set[str] = set()
        """The variables that the source binds to a recorder or recording."""

    def binds(self, node: ast.AST) -> bool:
        """Whether a statement binds a further variable to a recorder or recording."""
        found: set[str] = set()
        if isinstance(node, ast.ImportFrom):
            module = sys.modules.get(node.module or "")
            found = {
                each.asname or each.name
                for each in node.names
                if module is not None and _is_recorder(vars(module).get(each.name))
            }
        elif isinstance(node, ast.arg) and node.annotation is not None and self.gives(node.annotation):
            found = {node.arg}
        elif isinstance(node, ast.withitem) and self.gives(node.context_expr):
            found = _named(node.optional_vars)
        elif isinstance(node, ast.Assign) and self.gives(node.value):
            found = {name for target in node.targets for name in _named(target)}
        elif isinstance(node, ast.NamedExpr | ast.AnnAssign) and node.value and self.gives(node.value):
            found = _named(node.target)
        new = found - self.held
        self.held |= new
        return bool(new)

    def gives(self, node: ast.expr) -> bool:
        """Whether an expression gives a recorder or a recording: one by name, a call of one, or a method's result."""
        if isinstance(node, ast.Call):
            made = node.func.value if isinstance(node.func, ast.Attribute) else node.func
            return self.gives(node.func) or self.gives(made)
        if isinstance(node, ast.BoolOp):
            return any(map(self.gives, node.values))
        if isinstance(node, ast.BinOp):  # `Recording | None`
            return self.gives(node.left) or self.gives(node.right)
        if isinstance(node, ast.NamedExpr):
            return self.gives(node.value)
        if isinstance(node, ast.Name) and node.id in self.held:
            return True
        return _is_recorder(self._value(node))

    def _value(self, node: ast.expr) -> Any:
        """What stands behind a name with dots; `None` where it is not known."""
        if isinstance(node, ast.Name):
            return self.names.get(node.id)
        if isinstance(node, ast.Attribute):
            owner = self._value(node.value)
            # No property is asked: it may do anything.
            return getattr(owner, "__dict__", {}).get(node.attr)
        return None


def _named(target: ast.expr | None) -> set[str]:
    return {target.id} if isinstance(target, ast.Name) else set()


def _is_recorder(value: Any) -> bool:
    """Whether it is a recorder, a recording, or what gives one."""
    kind: Any = value if isinstance(value, type | types.FunctionType) else type(value)
    kinds = kind.__mro__ if isinstance(kind, type) else (kind,)
    return any(
        each.__name__ in _RECORDERS and str(each.__module__).startswith(f"{__package__}.record")
        for each in kinds
    )
