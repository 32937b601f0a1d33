"""Whether a module in memory is what its file says: it may have been edited, or given other values, since it was loaded.

An import inside a function counts by the file, since nothing may be loaded yet. Where the module is loaded already, the
function gets what is in memory. Its functions and the methods of its classes are compared with the file, and so are
values that are written out in it; what is computed there cannot be compared.
"""

import ast
import sys
import types
from collections import Counter
from collections.abc import Iterator
from typing import Any

from .members import functions_of
from .running import runs
from .syntax import NoSourceError, definition_of_file, other_source, text_of_file
from .values import NoFormError, written


def check_loaded(module: str, file: str) -> None:
    """See that a module, if it is loaded, is what its file says.

    Raises:
        NoSourceError: it is not.
    """
    loaded = sys.modules.get(module)
    if loaded is None or getattr(loaded, "__file__", None) != file:
        return
    text = text_of_file(file)
    for function in _functions(loaded, file):
        if not runs(text, function.__code__):
            raise NoSourceError(other_source(function.__code__))
    for name, value in _written_out(definition_of_file(file)):
        if not _equals(vars(loaded).get(name), value):
            raise NoSourceError(
                f"{name} is not what {file} says: was the file edited since, or {name} changed?"
            )


def _equals(found: Any, value: Any) -> bool:
    try:
        return written(found) == written(value)
    except NoFormError:  # something else has taken its place
        return False


def _functions(loaded: types.ModuleType, file: str) -> Iterator[types.FunctionType]:
    for thing in list(vars(loaded).values()):
        members = list(vars(thing).values()) if isinstance(thing, type) else [thing]
        for member in members:
            yield from (one for one in functions_of(member) if one.__code__.co_filename == file)


def _written_out(tree: ast.Module) -> Iterator[tuple[str, Any]]:
    """The values that a file writes out for names which it mentions nowhere else but in the bodies of functions.

    What is empty or `None` is there to be filled later.
    """
    mentioned = Counter(_names_outside_functions(tree))
    set_later = {name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names}
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None or len(targets) != 1:
            continue
        target = targets[0]
        if not isinstance(target, ast.Name) or mentioned[target.id] > 1 or target.id in set_later:
            continue
        try:
            value = ast.literal_eval(node.value)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            continue
        if value is not None and (value or isinstance(value, str | int | float)):
            yield target.id, value


def _names_outside_functions(tree: ast.Module) -> Iterator[str]:
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name):
            yield node.id
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))
