"""What libraries change by themselves while they are used: whether a client is open, counters, what is kept for later.

None of it is a setting, so a client that was used is the same client. It is told by the code that sets it:

- an attribute that `close` or `aclose` sets says whether the object is open;
- an attribute or a global that grows by a number (`self.sent += 1`) is a counter;
- an attribute that is computed where it is missing, out of nothing that the caller gave, is kept for later;
- an event loop, a lock, a thread or the like, and `None` in its place, is what the object runs on;
- a field of a dataclass that the constructor does not take, and a method sets, is a note;
- a global that a function without parameters computes, or a flag that a function asks for and sets, is the library's own.
  A global that a function is given, as by `lib.configure(model=...)`, or just sets, as by `lib.enable()`, is a setting.

Of Calipers' own objects, private attributes are no settings where all arguments of the constructor are public ones.
"""

import ast
import dis
import functools
import inspect
import linecache
import textwrap
import types
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias

from .members import functions_of
from .origin import is_installed, is_ours

_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_MAKING = frozenset({"__init__", "__new__", "__post_init__", "__setattr__", "__setstate__"})
_CLOSING = frozenset({"close", "aclose"})
_MOST_KNOWN = 4096
_NOTED = {"pydantic_ai.agent.Agent": frozenset({"_name"})}
"""Attributes that classes set by themselves, of which their code does not tell: an agent takes its variable's name."""
_COORDINATING = frozenset(
    {"_asyncio", "_contextvars", "_socket", "_ssl", "_thread", "_weakref", "_weakrefset", "asyncio", "concurrent",
     "contextvars", "http", "itertools", "logging", "pydantic_core", "queue", "selectors", "socket", "ssl", "threading", "weakref"}
)  # fmt: skip
"""Whose objects are, inside a library's object, no settings of it. Validators are made of types that count themselves."""


class _Assignment(NamedTuple):
    """A statement that sets an attribute of the object, or a global."""

    name: str
    value: ast.expr
    grows: bool
    """Whether it adds a number to what there is."""
    where_missing: bool
    """Whether it stands behind a question for the same name."""


class SetGlobals(NamedTuple):
    """Globals that the functions of a module set."""

    own: frozenset[str]
    """By themselves."""
    told: frozenset[str]
    """To what they are given, or to a constant."""


def settings_in(fields: dict[str, Any], kind: type) -> dict[str, Any]:
    """Those of the fields of an object that no library has set by itself."""
    if not _has_library_code(kind):  # as most objects in cases
        return fields
    own, private = _changed_by_class(kind), _noted_by_us(kind)
    if not _parameters(kind) <= fields.keys():
        private = frozenset()
    found = {name: value for name, value in fields.items() if name not in own and name not in private}
    if not is_installed(kind):
        return found
    return {name: value for name, value in found.items() if not _is_equipment(name, value)}


@functools.lru_cache(maxsize=_MOST_KNOWN)
def _has_library_code(kind: type) -> bool:
    return any(is_installed(base) or is_ours(base.__module__) for base in kind.__mro__)


def _is_equipment(name: str, value: Any) -> bool:
    if value is None or is_coordinating(type(value)):
        return True
    return "cache" in name.lower() and not isinstance(value, str | int | float)


def is_coordinating(kind: type) -> bool:
    """Whether objects of a class only say who waits for whom, or what is connected."""
    return kind.__module__.partition(".")[0] in _COORDINATING


@functools.lru_cache(maxsize=_MOST_KNOWN)
def _changed_by_class(kind: type) -> frozenset[str]:
    """The attributes that a class of a library sets by itself."""
    found: set[str] = set()
    for base in kind.__mro__:
        if not is_installed(base):
            continue
        fields: Mapping[str, Any] = getattr(base, "__dataclass_fields__", {})
        notes = {name for name, field in fields.items() if not field.init}
        found |= _NOTED.get(f"{base.__module__}.{base.__qualname__}", frozenset())
        for name, function in _methods(base):
            if name not in _MAKING:
                found |= set(_changed_by_method(function, notes))
    return frozenset(found)


def _methods(kind: type) -> Iterator[tuple[str, types.FunctionType]]:
    # Members of other kinds are not asked: some answer by building what they stand for.
    for name, member in vars(kind).items():
        if type(member) in {types.FunctionType, property, classmethod, staticmethod}:
            for function in functions_of(member):
                yield name, function


def _changed_by_method(function: types.FunctionType, notes: set[str]) -> Iterator[str]:
    node = _definition(function, "STORE_ATTR")
    if node is None or not node.args.args:
        return
    given = _locals(node)
    for each in _assignments(node, node.args.args[0].arg):
        computed = not isinstance(each.value, ast.Constant) and given.isdisjoint(_names(each.value))
        kept = each.where_missing and computed
        if each.grows or kept or each.name in notes or node.name in _CLOSING:
            yield each.name


@functools.lru_cache(maxsize=_MOST_KNOWN)
def globals_set_in(module: types.ModuleType) -> SetGlobals:
    """The globals that the functions of a module set."""
    own: set[str] = set()
    told: set[str] = set()
    for function, is_method in _functions(module):
        node = _definition(function, "STORE_GLOBAL")
        if node is None:
            continue
        takes = node.args
        given = [*takes.posonlyargs, *takes.args][is_method:] + takes.kwonlyargs
        alone = not given and takes.vararg is None and takes.kwarg is None
        asked = {name for each in ast.walk(node) if isinstance(each, ast.If) for name in _names(each.test)}
        for each in _assignments(node, None):
            constant = isinstance(each.value, ast.Constant)
            by_itself = each.name in asked if constant else alone
            (own if each.grows or by_itself else told).add(each.name)
    return SetGlobals(frozenset(own - told), frozenset(told))


def _functions(module: types.ModuleType) -> Iterator[tuple[types.FunctionType, bool]]:
    """The functions of a module, and whether each is a method."""
    things: list[Any] = [*vars(module).values()]
    for thing in things:
        # Kinds are asked for by `type`: to `isinstance`, an object may answer by loading what it stands for.
        if type(thing) is types.FunctionType and thing.__globals__ is vars(module):
            yield thing, False
        elif issubclass(type(thing), type) and thing.__module__ == module.__name__:
            kind: Any = thing
            for _, function in _methods(kind):
                if function.__globals__ is vars(module):
                    yield function, True


def _definition(function: types.FunctionType, stores: str) -> _Function | None:
    """The syntax of a function that stores something; `None` if it does not, or has no source."""
    code = function.__code__
    if dis.opmap[stores] not in code.co_code[::2]:
        return None
    end = max((last for _, last, _, _ in code.co_positions() if last), default=0)
    lines = linecache.getlines(code.co_filename)[code.co_firstlineno - 1 : end]
    with suppress(SyntaxError, ValueError, RecursionError):
        for node in ast.parse(textwrap.dedent("".join(lines))).body:
            if isinstance(node, _Function):
                return node
    return None


def _assignments(node: _Function, owner: str | None) -> Iterator[_Assignment]:
    """What a function sets: attributes of its first parameter, or if there is no owner, globals."""
    declared = {name for each in ast.walk(node) if isinstance(each, ast.Global) for name in each.names}

    def name_of(target: ast.AST) -> str | None:
        if owner is None:
            return target.id if isinstance(target, ast.Name) and target.id in declared else None
        match target:
            case ast.Attribute(value=ast.Name(id=holder), attr=name) if holder == owner:
                return name
            case _:
                return None

    waiting: list[tuple[ast.AST, frozenset[str]]] = [(node, frozenset())]
    for each, asked in waiting:  # it grows meanwhile
        if isinstance(each, ast.If):
            tested = {name for part in ast.walk(each.test) if (name := name_of(part)) is not None}
            inside = asked | tested
            waiting += [(part, inside) for part in each.body] + [(part, asked) for part in each.orelse]
            continue
        if isinstance(each, ast.Assign | ast.AnnAssign | ast.AugAssign) and each.value is not None:
            for target in each.targets if isinstance(each, ast.Assign) else [each.target]:
                for part in ast.walk(target):
                    name = name_of(part)
                    if name is not None and isinstance(getattr(part, "ctx", None), ast.Store):
                        yield _Assignment(name, each.value, _grows(each), name in asked)
        waiting += [(part, asked) for part in ast.iter_child_nodes(each)]


def _grows(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.AugAssign)
        and isinstance(node.op, ast.Add | ast.Sub)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, int | float)
    )


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _locals(node: _Function) -> set[str]:
    """The parameters of a method and the names that it sets, without the object itself."""
    given = {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
    made = {
        each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }
    return (given | made) - {node.args.args[0].arg}


# ---------------------------------------------------------------------- Calipers' own


@functools.lru_cache(maxsize=_MOST_KNOWN)
def _noted_by_us(kind: type) -> frozenset[str]:
    """The private attributes that classes of Calipers set."""
    return frozenset(
        each.argval
        for base in kind.__mro__
        if is_ours(base.__module__)
        for _, function in _methods(base)
        for each in dis.get_instructions(function.__code__)
        if each.opname == "STORE_ATTR" and str(each.argval).startswith("_")
    )


@functools.lru_cache(maxsize=_MOST_KNOWN)
def _parameters(kind: type) -> frozenset[str]:
    """The arguments that the constructors of Calipers' classes take."""
    makers = (
        maker
        for base in kind.__mro__
        if is_ours(base.__module__) and isinstance(maker := vars(base).get("__init__"), types.FunctionType)
    )
    return frozenset(name for maker in makers for name in [*inspect.signature(maker).parameters][1:])
