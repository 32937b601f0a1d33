"""What a piece of code is made of: its own source, the helpers it names, and the values these look at.

From the root, the walk follows every name that the code reads: functions and classes of the project and their base
classes, what closures and default arguments hold, global values, imports inside functions. Libraries are not looked into:
they are known by their version, and Python's own by nothing. A name that is reached only by a detour (`getattr` with a
computed name, a registry filled elsewhere) is not found; whoever uses such declares a version.
"""

import importlib.util
import logging
import sys
import types
from collections import deque
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from functools import partial
from typing import Any

from .fingerprint import digest, shown
from .origin import is_library, is_library_file, is_library_module, library_version, module_of
from .syntax import (
    Definition,
    NoSourceError,
    definition_of_class,
    definition_of_file,
    definition_of_function,
    outer_names,
    reads,
    shape,
)
from .values import NoFormError, fields_of, written

_MOST_HELPERS = 1000
"""A walk that finds more than this is not about one task or evaluator any more."""

_HARMLESS_MODULES = frozenset(
    {"typing", "typing_extensions", "_thread", "threading", "asyncio.locks", "weakref"}
)
"""Objects of these modules coordinate or annotate, and hold nothing that a result depends on."""


class UnknowableError(Exception):
    """The code looks at something that has no form."""


class Walk:
    """One look through the code that a task or evaluator is made of; `parts` is what it found."""

    def __init__(self) -> None:
        self.parts: dict[str, str] = {}
        self.attributes: set[str] = set()
        self._waiting: deque[tuple[str, Any]] = deque()
        self._labels: dict[int, str] = {}
        self._kept: list[Any] = []
        """Keeps alive what `_labels` knows by id."""

    def finish(self) -> None:
        """Look at everything that was referred to.

        Raises:
            UnknowableError: something has no source or no form; the message says what.
        """
        while self._waiting:
            label, thing = self._waiting.popleft()
            if len(self._labels) > _MOST_HELPERS:
                raise UnknowableError(f"it reaches more than {_MOST_HELPERS} functions and classes")
            try:
                if isinstance(thing, type):
                    self._class(label, thing)
                else:
                    self._function(label, thing)
            except NoSourceError as error:
                raise UnknowableError(f"{_described(label, thing)}: {error}") from None

    def root(self, thing: Any) -> None:
        """Begin with a function or class of the project."""
        self._enqueue("source", thing)

    def refer(self, thing: Any) -> str:
        """The name under which a function or class takes part; it will be looked at.

        Raises:
            NoFormError: it is bound to something that has no form.
        """
        while isinstance(thing, types.MethodType | partial) or not isinstance(
            thing, types.FunctionType | type
        ):
            if isinstance(thing, partial):
                return self._composed("partial", [thing.func, thing.args, dict(thing.keywords)])
            if isinstance(thing, types.MethodType):
                return self._composed("method", [thing.__func__, thing.__self__])
            inner = getattr(thing, "__wrapped__", None)
            if inner is None:
                return self._library(thing)
            thing = inner
        if is_library(thing):
            return self._library(thing)
        known = self._labels.get(id(thing))
        return known or self._enqueue(_unique(_helper(thing), self._labels.values()), thing)

    def value(self, label: str, value: Any, *, texts: bool = True) -> None:
        """Add a value that the code looks at.

        Raises:
            UnknowableError: it has no form.
        """
        if isinstance(value, logging.Logger | ContextVar) or type(value).__module__ in _HARMLESS_MODULES:
            return
        try:
            self.parts[label] = shown(value, written(value, self.refer), texts=texts)
        except NoFormError as error:
            raise UnknowableError(f"{label}: {error}") from None

    def fields(self, label: str, thing: Any, *, texts: bool = True) -> None:
        """Add what an object holds, one part per field.

        Raises:
            UnknowableError: it does not tell, or a field has no form.
        """
        fields = fields_of(thing, computed=False)
        if fields is None:
            raise UnknowableError(f"nobody can tell what a {type(thing).__name__} holds")
        for name in sorted(fields):
            self.value(f"{label} {name}", fields[name], texts=texts)

    def _composed(self, what: str, parts: list[Any]) -> str:
        return f"{what} {digest(written(parts, self.refer))}"

    def _enqueue(self, label: str, thing: Any) -> str:
        self._labels[id(thing)] = label
        self._kept.append(thing)
        self._waiting.append((label, thing))
        return label

    def _library(self, thing: Any) -> str:
        name = f"{module_of(thing)}.{getattr(thing, '__qualname__', type(thing).__name__)}"
        self._note_library(module_of(thing))
        return name

    def _note_library(self, module: str) -> None:
        top = module.partition(".")[0]
        version = library_version(top) if top else None
        if version is not None:
            self.parts[f"library {top}"] = version

    # ------------------------------------------------------------------ one function, one class

    def _function(self, label: str, function: types.FunctionType) -> None:
        node = definition_of_function(function.__code__)
        self.parts[label] = shape(node)
        self._scope(node, function, _own_names(function.__code__))
        self._defaults(function)

    def _class(self, label: str, kind: type) -> None:
        node = definition_of_class(kind)
        self.parts[label] = shape(node)
        for base in kind.__bases__:
            if base is not object:
                self.refer(base)
        methods = [function for member in vars(kind).values() for function in _functions_of(member)]
        # A decorator such as dataclass makes methods that have no source.
        methods = [
            m for m in methods if m.__module__ == kind.__module__ and m.__code__.co_filename[:1] != "<"
        ]
        names = outer_names(node).union(*(_own_names(method.__code__) for method in methods))
        loaded = sys.modules.get(kind.__module__)
        namespace = methods[0].__globals__ if methods else {} if loaded is None else vars(loaded)
        self._names(node, namespace, {}, names - vars(kind).keys(), kind)
        for method in methods:
            self._closure(node, method)
            self._defaults(method)

    def _scope(self, node: Definition, function: types.FunctionType, names: set[str]) -> None:
        self._names(node, function.__globals__, _cells(function), names, function)

    def _closure(self, node: Definition, function: types.FunctionType) -> None:
        cells = {name: value for name, value in _cells(function).items() if name != "__class__"}
        self._names(node, {}, cells, set(cells), function)

    def _defaults(self, function: types.FunctionType) -> None:
        values = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        if values:
            self.value(f"defaults of {function.__module__}.{function.__qualname__}()", values)

    def _names(
        self,
        node: Definition,
        namespace: Mapping[str, Any],
        cells: Mapping[str, Any],
        names: set[str],
        owner: Any,
    ) -> None:
        """Look at what the names stand for that a definition reads."""
        module = owner.__module__ or ""
        found = reads(node)
        self.attributes |= found.attributes
        for chain in sorted(found.chains):
            if chain[0] not in names:
                continue
            if chain[0] in cells:
                self._name(f"closure {owner.__qualname__}.{chain[0]}", cells[chain[0]], chain[1:])
            elif chain[0] in namespace:
                self._name(f"global {module}.{chain[0]}", namespace[chain[0]], chain[1:])
        for level, target, name in sorted(found.imports):
            self._import(level, target, name, module)

    def _name(self, label: str, value: Any, attributes: tuple[str, ...]) -> None:
        while isinstance(value, types.ModuleType):
            if is_library_module(value.__name__):
                self._note_library(value.__name__)
                return
            if not attributes or not hasattr(value, attributes[0]):
                return  # the module by itself says nothing; the longer chain is looked at, too
            label = f"global {value.__name__}.{attributes[0]}"
            value, attributes = getattr(value, attributes[0]), attributes[1:]
        if isinstance(value, type | types.FunctionType):
            self.refer(value)
        else:
            self.value(label, value, texts=False)

    def _import(self, level: int, target: str, name: str, module: str) -> None:
        """An import inside a function: of the project's modules, the whole file counts, for nothing is loaded yet."""
        if level:
            package = getattr(sys.modules.get(module), "__package__", None) or module.rpartition(".")[0]
            base = package.rsplit(".", level - 1)[0] if level > 1 else package
            target = f"{base}.{target}" if target else base
        for candidate in (f"{target}.{name}", target) if name else (target,):
            try:
                spec = importlib.util.find_spec(candidate)
            except (ImportError, ValueError, AttributeError):
                continue
            if spec is None:
                continue
            if is_library_module(candidate) or spec.origin is None or not spec.has_location:
                self._note_library(candidate)
            elif spec.origin.endswith(".py"):
                if is_library_file(spec.origin):
                    self._note_library(candidate)
                else:
                    self.parts[f"module {candidate}"] = definition_of_file(spec.origin)
            return


def _own_names(code: types.CodeType) -> set[str]:
    """The global and enclosing names that a function and those inside it read."""
    found = {*code.co_names, *code.co_freevars}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _own_names(constant)
    return found


def _cells(function: types.FunctionType) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not filled yet
            continue
    return found


def _functions_of(member: Any) -> Iterable[types.FunctionType]:
    candidates: list[Any] = [member, getattr(member, "__func__", None), getattr(member, "__wrapped__", None)]
    candidates += [getattr(member, part, None) for part in ("fget", "fset", "func")]
    return [candidate for candidate in candidates if isinstance(candidate, types.FunctionType)]


def _helper(thing: Any) -> str:
    call = "" if isinstance(thing, type) else "()"
    module = thing.__module__ or ""
    return f"helper {module}.{thing.__qualname__}{call}".replace("<locals>.", "")


def _unique(label: str, taken: Iterable[str]) -> str:
    used = set(taken)
    number = 2
    found = label
    while found in used:
        found = f"{label} {number}"
        number += 1
    return found


def _described(label: str, thing: Any) -> str:
    name = getattr(thing, "__qualname__", repr(thing))
    return f"{name}" if label == "source" else label
