"""The modules that an import inside a function brings in: that one, and all of the project that it imports in turn."""

import importlib.util
from collections import deque
from collections.abc import Iterable, Iterator

from .origin import is_library_file, is_library_module, is_ours
from .syntax import definition_of_file, reads


def imported_files(imports: Iterable[tuple[int, str, str]], package: str) -> Iterator[tuple[str, str | None]]:
    """Every module with its file; no file for a library's.

    Args:
        imports: dots, module and name of each import.
        package: what the dots are relative to.

    Raises:
        NoSourceError: a file cannot be read.
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
