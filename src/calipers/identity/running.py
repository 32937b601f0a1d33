"""Whether source is what runs: a file may have been edited since it was loaded.

The source is compiled once more, and its code compared with that in memory. Where they differ, the results come from code
that nobody has the source of any more, and there is no identity.
"""

import __future__

import ast
import functools
import operator
import types
from collections.abc import Iterator, Sequence
from typing import Any

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
