"""Imports inside functions: the modules that they bring in, and whether a loaded one is what its file says.

Such an import counts by the files, since nothing may be loaded yet: that module, and all of the project that it imports in
turn. If the module is loaded, the function gets what is in memory, which may have been edited or given other values since.
So its functions and methods are compared with the file, and so are values that are written out in it.
"""

import ast
import importlib.util
import sys
import types
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from typing import Any

from .members import functions_of
from .origin import is_library_file, is_library_module, is_ours
from .source import NoSourceError, definition_of_file, other_source, reads, runs, text_of_file
from .value_bytes import NoFormError, written


def imported_files(imports: Iterable[tuple[int, str, str]], package: str) -> Iterator[tuple[str, str | None]]:
    """Every module with its file; no file for a library's.

    An import is its dots (relative to the package), module and name. `NoSourceError` if a file cannot be read.
    """
    waiting = deque((one, package) for one in sorted(imports))
    seen: set[str] = set()
    while waiting:
        one, package = waiting.popleft()
        for module, file, inner in _found(*one, package):
            if module in seen:
                continue
            seen.add(module)
            yield module, file
            if file is not None:
                waiting.extend((other, inner) for other in sorted(reads(definition_of_file(file)).imports))


def _found(level: int, target: str, name: str, package: str) -> Iterator[tuple[str, str | None, str]]:
    """The modules that are loaded by an import: name, file, and the package they are in."""
    if level:
        base = package.rsplit(".", level - 1)[0] if level > 1 else package
        target = f"{base}.{target}" if target and base else target or base
    parts = target.split(".") if target else []
    candidates = [".".join(parts[: number + 1]) for number in range(len(parts))]
    if name and name != "*":
        candidates.append(f"{target}.{name}" if target else name)
    for candidate in candidates:
        try:
            spec = importlib.util.find_spec(candidate)
        except (ImportError, ValueError, AttributeError):
            continue
        if spec is None:
            continue
        inner = candidate if spec.submodule_search_locations is not None else candidate.rpartition(".")[0]
        if spec.origin is None or not spec.has_location:
            if is_library_module(candidate):
                yield candidate, None, inner
        elif not spec.origin.endswith(".py") or is_library_file(spec.origin) or is_ours(candidate):
            yield candidate, None, inner
        else:
            yield candidate, spec.origin, inner


def check_loaded(module: str, file: str) -> None:
    """Raise `NoSourceError` if a module is loaded and is not what its file says."""
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
