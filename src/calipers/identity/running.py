"""Whether source is what runs: a file may have been edited since it was loaded.

The source is compiled once more, and its code compared with that in memory. Where they differ, the results come from code
that nobody has the source of any more, and there is no identity.
"""

import functools
import types
from collections.abc import Iterator
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


def runs(text: str, code: types.CodeType) -> bool:
    """Whether the code was compiled from a definition in this source."""
    return any(_same(code, other) for other in _compiled(text).get((code.co_name, code.co_firstlineno), ()))


def class_code(text: str, name: str, line: int) -> types.CodeType | None:
    """The code of a class's body, which is not kept in memory; `None` if the source has no such class."""
    found = _compiled(text).get((name, line), ())
    return found[0] if len(found) == 1 else None


@functools.lru_cache(maxsize=256)
def _compiled(text: str) -> dict[tuple[str, int], list[types.CodeType]]:
    """All code in a source, by name and first line."""
    found: dict[tuple[str, int], list[types.CodeType]] = {}
    try:
        module = compile(text, "<source>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return found
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
