"""The source of a function or class, as its syntax: what it says, not how it is laid out.

The syntax tree is compared, not the text and not the bytecode: comments, blank lines and quotes do not matter, and the
same source means the same on every Python, while bytecode changes with each. The tree is written in our own words, since
`ast.dump` changes from release to release. The docstring of a function or class, and those of a class's methods, are left
out: they count only where the function or class is handed on, since frameworks make prompts of them.

A file may have been edited since it was loaded. So the source is compiled once more, and its code compared with that in
memory. If they differ, there is no identity.
"""

import __future__

import ast
import functools
import inspect
import linecache
import operator
import types
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

from .fingerprint import digest
from .members import functions_of
from .outside import (
    Outside,
    calls_read,
    chain_of,
    imported_names,
    last_name,
    outside,
    parses_settings,
)

_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Definition: TypeAlias = _Function | ast.ClassDef

_SILENT = frozenset(
    {
        "ABC", "BaseEvaluator", "Enum", "Evaluator", "Generic", "NamedTuple", "Protocol", "ReportEvaluator", "StrEnum",
        "abstractmethod", "cache", "cached_property", "classmethod", "dataclass", "final", "lru_cache", "object",
        "override", "property", "staticmethod", "wraps",
    }
)  # fmt: skip
"""Decorators and base classes that do nothing with a docstring or a method."""

ENVIRONMENT = frozenset({"environ", "environb", "getenv", "getenvb"})

_HOME_FOLDER = frozenset({"HOME", "USERPROFILE"})
"""The variables that `expanduser` and `Path.home` read."""

_IMPORTERS = frozenset({"__import__", "import_module"})

_READERS = frozenset({"attrgetter", "getattr", "hasattr"})
"""Functions that are given the name of an attribute as a text."""


class NoSourceError(Exception):
    """The source of something cannot be read, or does not tell what it does."""


class Variable(NamedTuple):
    """What may be a reading of an environment variable."""

    source: tuple[str, ...]
    """What is asked, such as `("os", "environ")`."""
    name: str | None = None
    """The name of the variable; `None` if it is not written there."""
    named_by: str | None = None
    """The name of what holds the name of the variable."""


class Reads(NamedTuple):
    """What a piece of code names."""

    chains: frozenset[tuple[str, ...]]
    """Names with the attributes read from them: `text.clean(x)` gives `("text", "clean")` and `("x",)`."""
    imports: frozenset[tuple[int, str, str]]
    """Imports inside functions: dots, module, name; the name is empty for `import module`, both for a computed name."""
    attributes: frozenset[str]
    """Every attribute read from anything."""
    variables: frozenset["Variable"]
    """What may be environment variables."""
    outside: frozenset[Outside]
    """What it asks of the world around it."""
    handed: frozenset[tuple[str, ...]]
    """Those chains that are handed on as they are somewhere, and not only called or asked for an attribute."""
    parses: bool
    """Whether it names a `ConfigParser`."""
    calls_read: bool
    """Whether it asks something to `read` something."""


def definition_of_function(code: types.CodeType) -> Definition:
    """The syntax of a function; `NoSourceError` if there is no source, or it was edited since."""
    text = text_of_file(code.co_filename)
    found: list[Definition] = [*_functions(definition_of_file(code.co_filename)).get(code.co_firstlineno, ())]
    if code.co_name == "<lambda>":
        found = _narrowed([node for node in found if isinstance(node, ast.Lambda)], code)
    else:
        found = [node for node in found if getattr(node, "name", None) == code.co_name]
    if len(found) != 1 or not runs(text, code):
        raise NoSourceError(other_source(code))
    return found[0]


def definition_of_class(kind: type) -> tuple[ast.ClassDef, str]:
    """The syntax of a class, and its file; `NoSourceError` if there is no source, or several, or it was edited since."""
    # A module may have been loaded twice, and the methods know which of the two they are of.
    codes = [
        function.__code__
        for member in vars(kind).values()
        for function in functions_of(member)
        if function.__code__.co_qualname.startswith(f"{kind.__qualname__}.")
    ]
    codes = [code for code in codes if not code.co_filename.startswith("<") or _is_cell(code.co_filename)]
    try:
        file = codes[0].co_filename if codes else inspect.getfile(kind)
    except (TypeError, OSError):
        file = _cell_of(kind)
    wanted = tuple(part for part in kind.__qualname__.split(".") if part != "<locals>")
    found = _classes(definition_of_file(file)).get(wanted, [])
    if len(found) > 1:
        line = codes[0].co_firstlineno if codes else 0
        found = [node for node in found if node.lineno <= line <= (node.end_lineno or 0)]
    if len(found) != 1:
        raise NoSourceError(f"its source is not to be found in {file}")
    for code in codes:
        if code.co_filename == file and not runs(text_of_file(file), code):
            raise NoSourceError(other_source(code))
    return found[0], file


def names_of_class(node: ast.ClassDef, file: str) -> set[str]:
    """The global and enclosing names that a class reads anywhere: in its body, its methods, and the classes inside."""
    code = class_code(text_of_file(file), node.name, _first_line(node))
    return outer_names(node) | (set() if code is None else own_names(code))


def names_in(expression: str) -> set[str]:
    """The names that an expression reads; none if it is no Python."""
    tree = _parsed(expression)
    return set() if tree is None else {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def own_names(code: types.CodeType) -> set[str]:
    """The global and enclosing names that code and the code inside it read."""
    found = {*code.co_names, *code.co_freevars}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= own_names(constant)
    return found


def definition_of_file(file: str) -> ast.Module:
    """The syntax of a whole file; `NoSourceError` if it cannot be read."""
    tree = _parsed(text_of_file(file))
    if tree is None:
        raise NoSourceError(f"{file} is not Python")
    return tree


@functools.lru_cache(maxsize=1024)
def shape(node: ast.AST) -> str:
    """A digest of what the code says, without the docstring of a function or class, and those of a class's methods."""
    out: list[str] = []
    silent: set[int] = set()
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        inside = node.body if isinstance(node, ast.ClassDef) else ()
        methods = (each for each in inside if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
        silent = {
            id(each.body[0]) for each in (node, *methods) if ast.get_docstring(each, clean=False) is not None
        }
    _write(node, out, silent)
    return digest("\0".join(out).encode("utf-8", "surrogatepass"))


@functools.lru_cache(maxsize=1024)
def reads(node: ast.AST) -> Reads:
    """What the code names."""
    chains: set[tuple[str, ...]] = set()
    imports: set[tuple[int, str, str]] = set()
    attributes: set[str] = set()
    handed: set[tuple[str, ...]] = set()
    passing = _not_handed(node)
    for child in ast.walk(node):
        if (
            isinstance(child, ast.Name | ast.Attribute)
            and id(child) not in passing
            and (chain := chain_of(child))
        ):
            handed.add(chain)
        match child:
            case ast.Attribute():
                attributes.add(child.attr)
                if chain := chain_of(child):
                    chains.add(chain)
            case ast.Name():
                chains.add((child.id,))
            case ast.MatchClass():
                attributes.update(child.kwd_attrs)
            case ast.Call() if last_name(child.func) in _READERS:
                texts = (part.value for part in child.args if isinstance(part, ast.Constant))
                attributes.update(name for text in texts if isinstance(text, str) for name in text.split("."))
                if (chain := _got(child)) is not None:
                    chains.add(chain)
            case ast.Call(args=[ast.Constant(value=str() as name), *_]) if (
                last_name(child.func) in _IMPORTERS
            ):
                imports.add((0, name, ""))
            case ast.Call() if last_name(child.func) in _IMPORTERS:
                imports.add((0, "", ""))
            case ast.Import():
                imports |= {(0, alias.name, "") for alias in child.names}
            case ast.ImportFrom():
                imports |= {(child.level, child.module or "", alias.name) for alias in child.names}
    variables = frozenset(_variables(node))
    return Reads(
        frozenset(chains),
        frozenset(imports),
        frozenset(attributes),
        variables,
        frozenset(outside(node)),
        frozenset(handed),
        parses_settings(node),
        calls_read(node),
    )


def _got(call: ast.Call) -> tuple[str, ...] | None:
    """The chain that `getattr(a.b, "c")` stands for."""
    match call:
        case ast.Call(func=ast.Name(id="getattr"), args=[thing, ast.Constant(value=str() as name), *_]):
            chain = chain_of(thing)
            return None if chain is None else (*chain, name)
        case _:
            return None


def _variables(node: ast.AST) -> Iterator[Variable]:
    explained: set[int] = set()
    known = imported_names(node)

    def asked(source: ast.AST) -> tuple[str, ...]:
        chain = chain_of(source) or ("",)
        return (*known.get(chain[0], chain[:1]), *chain[1:])

    for child in ast.walk(node):  # what holds an expression comes before it
        found: tuple[ast.expr, ast.expr] | None = None
        if isinstance(child, ast.Call):
            yield from _variables_of_paths(child)
        match child:
            case ast.Subscript(value=source, slice=key):
                explained.update({id(source)} if not isinstance(child.ctx, ast.Load) else ())
                found = (source, key)
            case ast.Call(
                func=ast.Attribute(attr="get" | "pop" | "setdefault", value=source), args=[key, *_]
            ):
                found = (source, key)
            case ast.Call(func=source, args=[key, *_]) if asked(source)[-1] in {"getenv", "getenvb"}:
                found = (source, key)
            case ast.Compare(left=key, ops=[ast.In() | ast.NotIn()], comparators=[source]):
                found = (source, key)
            case ast.Name() | ast.Attribute() if (
                asked(child)[-1] in ENVIRONMENT and id(child) not in explained
            ):
                if isinstance(child.ctx, ast.Load):
                    yield Variable(asked(child))
            case _:
                pass
        if found is None or id(found[0]) in explained:
            continue
        chain = asked(found[0])
        if chain[-1] in ENVIRONMENT:
            explained.add(id(found[0]))
            key = found[1]
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield Variable(chain, key.value)
            else:
                yield Variable(chain, named_by=key.id if isinstance(key, ast.Name) else None)


def _variables_of_paths(call: ast.Call) -> Iterator[Variable]:
    """The variables that are read to complete a path."""
    name = last_name(call.func)
    if name == "expandvars":
        yield Variable(("os", "environ"))
    elif name == "expanduser" or (chain_of(call.func) or ())[-2:] == ("Path", "home"):
        yield from (Variable(("os", "environ"), variable) for variable in sorted(_HOME_FOLDER))


def is_handed_on(node: ast.ClassDef) -> bool:
    """Whether a class hands its own objects or methods on, or a decorator or base class may look at its methods."""
    if may_be_read(node):
        return True
    methods = {each.name for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}
    return any(chain in {("self",), ("cls",)} or chain[-1] in methods for chain in reads(node).handed)


def _not_handed(node: ast.AST) -> set[int]:
    """The names and attributes that are called, set, asked for an attribute, or decorate something."""
    found: set[int] = set()
    for child in ast.walk(node):
        match child:
            case ast.Call():
                found.add(id(child.func))
            case ast.Attribute():
                found.add(id(child.value))
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found.update(id(each) for each in child.decorator_list)
            case _:
                pass
        if isinstance(getattr(child, "ctx", None), ast.Store | ast.Del):
            found.add(id(child))
    return found


def outer_names(node: ast.ClassDef) -> set[str]:
    """The names that a class reads outside the bodies of its methods."""
    found: set[str] = set()
    waiting: list[ast.AST] = [node]
    while waiting:
        child = waiting.pop()
        if isinstance(child, ast.Name):
            found.add(child.id)
        inside = ast.iter_child_nodes(child)
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            body = child.body if isinstance(child.body, list) else [child.body]
            inside = (part for part in inside if part not in body)
        waiting.extend(inside)
    return found


# ---------------------------------------------------------------------- finding it


def text_of_file(file: str) -> str:
    """The text of a file as it is now; `NoSourceError` if it cannot be read."""
    linecache.checkcache(file)
    text = "".join(linecache.getlines(file))
    if not text:
        raise NoSourceError(f"its source cannot be read ({file})")
    return text


def _is_cell(file: str) -> bool:
    """Whether a file is a cell of a notebook or the input of an interactive session, whose text is kept in memory only."""
    entry = linecache.cache.get(file)
    return entry is not None and len(entry) > 1 and entry[1] is None


def _cell_of(kind: type) -> str:
    """The cell that defines a class without methods, which does not say where it is from; `NoSourceError` if that is unclear."""
    found: dict[str, str] = {}
    cells = (
        [file for file in list(linecache.cache) if _is_cell(file)] if kind.__module__ == "__main__" else []
    )
    for file in cells:
        tree = _parsed(text_of_file(file))
        for node in [] if tree is None else _classes(tree).get((kind.__qualname__,), []):
            if _holds_names_of(kind, node):
                found.setdefault(shape(node), file)
    if len(found) > 1:
        raise NoSourceError(
            f"several cells define {kind.__qualname__}, and it does not tell which it is from"
        )
    if not found:
        raise NoSourceError("it was not read from a file")
    return next(iter(found.values()))


def _holds_names_of(kind: type, node: ast.ClassDef) -> bool:
    """Whether a class has the annotations that a definition gives, in their order, and the values that it writes out."""
    annotated: list[str] = []
    for each in node.body:
        match each:
            case ast.AnnAssign(target=ast.Name(id=name)):
                annotated.append(name)
            case ast.Assign(targets=[ast.Name(id=name)]):
                pass
            case _:
                continue
        now = vars(kind).get(name)
        now = now.value if isinstance(now, Enum) else now
        plain = isinstance(now, str | bytes | int | float)
        if plain and isinstance(each.value, ast.Constant) and repr(now) != repr(each.value.value):
            return False
    try:
        return annotated == list(inspect.get_annotations(kind))
    except Exception:  # in some Pythons, asking for them evaluates them
        return False


@functools.lru_cache(maxsize=256)
def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None


# Several evaluators of a run are often in one file, which is walked through once.


@functools.lru_cache(maxsize=256)
def _functions(tree: ast.Module) -> dict[int, list[_Function]]:
    """The functions of a file by their first lines."""
    found: dict[int, list[_Function]] = {}
    for node in ast.walk(tree):
        if isinstance(node, _Function):
            found.setdefault(_first_line(node), []).append(node)
    return found


@functools.lru_cache(maxsize=256)
def _classes(tree: ast.Module) -> dict[tuple[str, ...], list[ast.ClassDef]]:
    """The classes of a file by their names, each after the names of what it is defined in."""
    found: dict[tuple[str, ...], list[ast.ClassDef]] = {}
    waiting: list[tuple[ast.AST, tuple[str, ...]]] = [(tree, ())]
    for node, path in waiting:
        for child in ast.iter_child_nodes(node):
            inside = path
            if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                inside = (*path, child.name)
                if isinstance(child, ast.ClassDef):
                    found.setdefault(inside, []).append(child)
            waiting.append((child, inside))
    return found


def _first_line(node: Definition) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _narrowed(lambdas: list[ast.Lambda], code: types.CodeType) -> list[Definition]:
    """Of several lambdas in one line, the one that the code was made of: the innermost that holds all of it."""
    spots = [(line, column) for line, _, column, _ in code.co_positions() if line and column]
    ends = [(end, column) for _, end, _, column in code.co_positions() if end and column]
    holding = [
        node
        for node in lambdas
        if spots
        and (node.body.lineno, node.body.col_offset) <= min(spots)
        and (node.body.end_lineno or 0, node.body.end_col_offset or 0) >= max(ends)
    ]
    holding.sort(key=lambda node: (node.body.lineno, node.body.col_offset))
    return list(holding[-1:])


def other_source(code: types.CodeType) -> str:
    """Why the source of some code is not what runs, as far as one can tell."""
    if any(name.startswith("@py") for name in own_names(code)):
        return "pytest has rewritten its assertions, so that its source is not what runs"
    return f"its source in {code.co_filename} is not what runs: was the file edited since?"


# ---------------------------------------------------------------------- writing it down


def _write(node: ast.AST, out: list[str], silent: set[int]) -> None:
    out.append(type(node).__name__)
    if isinstance(node, ast.Constant):
        out.append(f"{type(node.value).__name__} {node.value!r}")
        return
    for name, value in ast.iter_fields(node):
        # Empty fields come and go with the releases of Python; `kind` and `type_comment` say nothing.
        if value is None or value == [] or name in {"ctx", "kind", "type_comment"}:
            continue
        out.append(f".{name}")
        items = value if isinstance(value, list) else [value]
        if isinstance(node, ast.JoinedStr):
            items = _merged(items)
        for item in items:
            if not isinstance(item, ast.AST):
                out.append(repr(item))
            elif id(item) not in silent:
                _write(item, out, silent)
        out.append("/")


def _merged(items: list[Any]) -> list[Any]:
    """The parts of an f-string without empty texts, and with neighbouring ones made one: some Pythons do, some do not."""
    merged: list[Any] = []
    for item in items:
        if isinstance(item, ast.Constant) and item.value == "":
            continue
        last = merged[-1] if merged else None
        if (
            isinstance(item, ast.Constant)
            and isinstance(last, ast.Constant)
            and isinstance(item.value, str)
            and isinstance(last.value, str)
        ):
            merged[-1] = ast.Constant(last.value + item.value)
        else:
            merged.append(item)
    return merged


def may_be_read(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """Whether a decorator or a base class may make something of the docstring."""
    given: list[Any] = [*node.decorator_list, *getattr(node, "bases", ())]
    return any(last_name(part) not in _SILENT for part in given)


_SAME = (
    "co_name",
    "co_code",
    "co_exceptiontable",
    "co_names",
    "co_varnames",
    "co_freevars",
    "co_cellvars",
    "co_argcount",
    "co_posonlyargcount",
    "co_kwonlyargcount",
)

_FUTURES = functools.reduce(
    operator.or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
)
"""The flags of code that was compiled under a `from __future__ import`, which in a notebook may stand in an earlier cell."""


# ---------------------------------------------------------------------- whether it is what runs


def runs(text: str, code: types.CodeType) -> bool:
    """Whether the code was compiled from a definition in this source.

    A notebook compiles its cells statement by statement: there, a function is compiled without regard to what the cell imports, and
    a statement may await. What a definition means does not depend on that.
    """
    place, futures = (code.co_name, code.co_firstlineno), code.co_flags & _FUTURES
    return any(
        _same(code, other)
        for compiled in (_compiled, _compiled_by_statements)
        for other in compiled(text, futures).get(place, ())
    )


def class_code(text: str, name: str, line: int) -> types.CodeType | None:
    """The code of a class's body, which is not kept in memory; `None` if the source has no such class."""
    place = (name, line)
    found = _compiled(text, 0).get(place, []) or _compiled_by_statements(text, 0).get(place, [])
    return found[0] if len(found) == 1 else None


@functools.lru_cache(maxsize=256)
def _compiled(text: str, futures: int) -> dict[tuple[str, int], list[types.CodeType]]:
    """All code in a source, by name and first line."""
    return _by_place([text], futures)


@functools.lru_cache(maxsize=256)
def _compiled_by_statements(text: str, futures: int) -> dict[tuple[str, int], list[types.CodeType]]:
    """All code in a source, compiled as that of a cell is."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return {}
    statements = [ast.Module([statement], type_ignores=[]) for statement in tree.body]
    return _by_place(statements, futures | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def _by_place(sources: Sequence[str | ast.Module], flags: int) -> dict[tuple[str, int], list[types.CodeType]]:
    found: dict[tuple[str, int], list[types.CodeType]] = {}
    for source in sources:
        try:
            module = compile(source, "<source>", "exec", flags, dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError):
            continue
        for code in _inside(module):
            found.setdefault((code.co_name, code.co_firstlineno), []).append(code)
    return found


def _inside(code: types.CodeType) -> Iterator[types.CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from _inside(constant)


def _same(one: types.CodeType, other: types.CodeType) -> bool:
    if any(getattr(one, name) != getattr(other, name) for name in _SAME):
        return False
    # Only their places tell two lambdas of one line apart.
    if one.co_name == "<lambda>" and one.co_linetable != other.co_linetable:
        return False
    return _same_constants(one.co_consts, other.co_consts)


def _same_constants(ones: tuple[Any, ...], others: tuple[Any, ...]) -> bool:
    return len(ones) == len(others) and all(
        _same_constant(one, other) for one, other in zip(ones, others, strict=True)
    )


def _same_constant(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, types.CodeType):
        return _same(one, other)
    if isinstance(one, tuple):
        return _same_constants(one, other)
    if isinstance(one, float | complex):  # 0.0 equals -0.0
        return repr(one) == repr(other)
    return bool(one == other)
