"""What a piece of code is made of: its own source, the helpers it names, and the values these look at.

From the root, the walk follows every name that the code reads: functions and classes of the project and their base
classes, what closures and default arguments hold, global values, imports inside functions. Libraries are not looked into:
they are known by their version, and Python's own by nothing. A name that is reached only by a detour (`getattr` with a
computed name, a registry filled elsewhere) is not found: declare a version there.
"""

import ast
import builtins
import inspect
import os
import sys
import types
from collections import deque
from collections.abc import Collection, Iterable, Mapping
from functools import partial
from typing import Any, ForwardRef

from .fingerprint import digest, shown
from .imports import check_loaded, imported_files
from .libraries import Libraries
from .members import attributes_of, functions_of, is_generated, is_list_of_names
from .origin import (
    home_of,
    is_library,
    is_library_module,
    is_ours,
    module_of,
    stands_in_its_module,
    wrapped_by,
)
from .outside import FILES, done_by, done_in, is_file_url, is_opener, is_parser_of_settings
from .source import (
    ENVIRONMENT,
    Definition,
    NoSourceError,
    Variable,
    definition_of_class,
    definition_of_file,
    definition_of_function,
    is_handed_on,
    may_be_read,
    names_in,
    names_of_class,
    own_names,
    reads,
    shape,
)
from .value_bytes import NoFormError, fields_of, is_logger, is_named_type, is_type_variable, written

_OTHER_NAMES_OF_OS_ERROR = ("EnvironmentError", "IOError", "WindowsError")
_MOST_HELPERS = 1000
"""A walk that finds more than this is no longer about one task or evaluator."""

VARIABLE = "environment variable "
"""How the labels of environment variables begin."""


class UnknowableError(Exception):
    """The code looks at something that has no form."""


class Walk:
    """One look through the code that a task or evaluator is made of; `parts` is what it found."""

    def __init__(self, libraries: Libraries | None = None) -> None:
        """A walk that has not begun; several may share the settings of libraries."""
        self.parts: dict[str, str] = {}
        self._libraries = libraries or Libraries()
        self.attributes: set[str] = set()
        self._waiting: deque[tuple[str, Any]] = deque()
        self._labels: dict[int, str] = {}
        self._kept: list[Any] = []
        """Keeps alive what is known by id."""
        self._handed: set[int] = set()
        """Functions and classes that are handed on, so that what gets them may read their docstrings."""
        self._owners: dict[str, list[int]] = {}
        """Functions of the same name, which are told apart by a number."""
        self._namespace: Mapping[str, Any] = {}
        """Where the code stands that is looked at."""
        self._types: dict[str, tuple[Any, Mapping[str, Any]]] = {}
        """Types that others name, and where these stand, by their labels; they may contain themselves."""
        self._parses = False
        """Whether it holds or names a `ConfigParser`, whose `read` reads files under whatever name it is asked."""
        self._calls_read = False

    def finish(self) -> None:
        """Look at everything that was referred to.

        Raises:
            UnknowableError: something has no source or no form; the message says what.
        """
        while self._waiting or self._look_at_what_is_read():
            while self._waiting:
                label, thing = self._waiting.popleft()
                if len(self._labels) > _MOST_HELPERS:
                    raise UnknowableError(f"it reaches more than {_MOST_HELPERS} functions and classes")
                try:
                    self._look_at(label, thing)
                except (NoSourceError, NoFormError) as error:
                    raise UnknowableError(f"{_described(label, thing)}: {error}") from None
        if self._parses and self._calls_read:
            raise UnknowableError(f"it asks a ConfigParser to read: {FILES}")

    def _look_at(self, label: str, thing: Any) -> None:
        if isinstance(thing, type):
            self._class(label, thing)
        elif not isinstance(thing, types.FunctionType):
            self._decorator(label, thing)
        elif is_library(thing):
            self._library_function(label, thing)
        else:
            self._function(label, thing)

    def root(self, thing: Any) -> None:
        """Begin with a function or class of the project."""
        self._enqueue("source", thing)

    def add(self, label: str, text: str) -> None:
        """Add a part; `UnknowableError` if the label stands for something else already."""
        if self.parts.setdefault(label, text) != text:
            raise UnknowableError(f"{label} stands for two different things")

    def refer(self, thing: Any, *, handed: bool = True) -> str:
        """The name under which a function or class takes part; it will be looked at.

        With `handed`, more may be done with it than calling it. Raises `NoFormError` if it is bound to something without a form.
        """
        if is_named_type(thing):
            return self._named_type(thing)
        self._parses |= is_parser_of_settings(thing)
        for _ in range(_MOST_HELPERS):
            if reason := done_by(thing):
                raise NoFormError(reason)
            if isinstance(thing, types.FunctionType | type):
                break
            if isinstance(thing, partial):
                return self._composed("partial", [thing.func, thing.args, dict(thing.keywords)])
            if isinstance(thing, types.MethodType):
                return self._composed("method", [thing.__func__, thing.__self__])
            if isinstance(thing, types.BuiltinMethodType | types.MethodWrapperType):
                held = thing.__self__
                if held is not None and not isinstance(held, types.ModuleType):
                    return self._composed("method", [thing.__name__, held])
            inner = wrapped_by(thing)
            if inner is not None and not is_library(type(thing)):
                break  # a decorator of the project, which does more than what it wraps
            if inner is None:
                return self._library(thing)
            thing = inner
        else:
            raise NoFormError("it wraps itself")
        if handed:
            self._handed.add(id(thing))
        known = self._labels.get(id(thing))
        if known is not None:
            return known
        is_code = isinstance(thing, types.FunctionType | type)
        if is_code and is_library(thing) and (isinstance(thing, type) or stands_in_its_module(thing)):
            return self._library(thing)
        return self._enqueue(_unique(_helper(thing), self._labels.values()), thing)

    def value(self, label: str, value: Any, *, texts: bool = True) -> None:
        """Add a value that the code looks at; `UnknowableError` if it has no form."""
        if is_logger(value) or is_type_variable(value):
            return
        try:
            text = shown(value, written(value, self.refer), name=_last_word(label), texts=texts)
            self.add(label, text)
        except NoFormError as error:
            raise UnknowableError(f"{label}: {error}") from None

    def fields(self, label: str, thing: Any, *, texts: bool = True, known_only: bool = False) -> None:
        """Add what an object holds, one part per field, after a label; `texts` may be shown.

        With `known_only`, what has no form is left out; else it is an `UnknowableError`.
        """
        fields = fields_of(thing)
        if fields is None:
            if known_only:
                return
            raise UnknowableError(f"what a {type(thing).__name__} holds cannot be read")
        for name in sorted(fields):
            try:
                self.value(f"{label} {name}", fields[name], texts=texts)
            except UnknowableError:
                if not known_only:
                    raise

    def _named_type(self, thing: Any) -> str:
        """The name of a type; what the name stands for will be looked at."""
        if not isinstance(thing, ForwardRef):  # a `type` statement
            label = f"type {module_of(thing)}.{thing.__name__}"
            self._types.setdefault(label, (thing.__value__, self._namespace))
            return label
        text = thing.__forward_arg__
        for name in sorted(names_in(text)):
            if name in self._namespace:
                label = f"global {self._namespace.get('__name__', '')}.{name}"
                self._types.setdefault(label, (self._namespace[name], self._namespace))
            elif not hasattr(builtins, name):
                raise NoFormError(f"the type {text!r} is not defined")
        return text

    def _composed(self, what: str, parts: list[Any]) -> str:
        return f"{what} {digest(written(parts, self.refer))}"

    def _enqueue(self, label: str, thing: Any) -> str:
        self._labels[id(thing)] = label
        self._kept.append(thing)
        self._waiting.append((label, thing))
        return label

    def _library(self, thing: Any) -> str:
        function = isinstance(thing, types.FunctionType)
        module = home_of(thing) if function else module_of(thing)
        self._note_library(module)
        return f"{module}.{getattr(thing, '__qualname__', type(thing).__name__)}"

    def _note_library(self, module: str) -> None:
        top = module.partition(".")[0]
        version = self._libraries.version(top)
        if version is None or self.parts.get(f"library {top}") == version:
            return
        self.add(f"library {top}", version)
        if is_ours(top):
            return
        settings, code = self._libraries.settings(top)
        for name, text in settings.items():
            self.add(f"setting {name}", text)
        for thing in code:
            self.refer(thing)

    # ------------------------------------------------------------------ one function, one class

    def _function(self, label: str, function: types.FunctionType) -> None:
        node = definition_of_function(function.__code__)
        self.add(label, shape(node))
        if not isinstance(node, ast.Lambda) and may_be_read(node):
            self._handed.add(id(function))
        self._names(
            node,
            function.__globals__,
            closure_of(function),
            own_names(function.__code__),
            self._owner(function),
        )
        self._defaults(function)

    def _library_function(self, label: str, function: types.FunctionType) -> None:
        """What a library has made of the project's code, such as a decorated function: what it holds is all there is."""
        self.add(label, f"{home_of(function)}.{function.__code__.co_qualname}")
        self._note_library(home_of(function))
        registry = getattr(function, "registry", None)
        held = closure_of(function)
        if isinstance(registry, Mapping) and home_of(function) == "functools":  # singledispatch
            held = {"registry": dict(registry)}
        for name, value in sorted(held.items()):
            self._name(f"closure {self._owner(function)}.{name}", value, ())
        if (inner := wrapped_by(function)) is not None:
            self.refer(inner)
        self._defaults(function)

    def _decorator(self, label: str, thing: Any) -> None:
        """An object that wraps a function: its class, and all that it holds, what it wraps among it."""
        self.add(label, self.refer(type(thing)))
        self.fields(label, thing, texts=False)

    def _class(self, label: str, kind: type) -> None:
        if is_list_of_names(kind):
            fields = [getattr(kind, name, None) for name in ("_fields", "_field_defaults")]
            self.add(label, digest(written(fields, self.refer)))
            return
        node, file = definition_of_class(kind)
        self.add(label, shape(node))
        if label != "source" or is_handed_on(node):
            self._handed.add(id(kind))
        for base in kind.__bases__:
            if base is not object:
                self.refer(base)
        owner = self._owner(kind)
        loaded = sys.modules.get(kind.__module__)
        namespace: Mapping[str, Any] = {} if loaded is None else vars(loaded)
        lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
        for name, member in vars(kind).items():
            for function in functions_of(member):
                code = function.__code__
                if code.co_filename == file and code.co_firstlineno in lines:
                    namespace = function.__globals__
                    self._closure(node, function)
                    self._defaults(function)
                elif not is_generated(name, function):
                    self.refer(function)
        names = names_of_class(node, file)
        self._names(node, namespace, {}, names, owner)
        for name, value, in_body in attributes_of(kind, names):
            try:
                self.value(f"attribute {owner}.{name}", value, texts=False)
            except UnknowableError:
                if not in_body:  # what stands in the body is known by its source
                    raise

    def _closure(self, node: Definition, function: types.FunctionType) -> None:
        cells = {name: value for name, value in closure_of(function).items() if name != "__class__"}
        self._names(node, {}, cells, set(cells), self._owner(function))

    def _defaults(self, function: types.FunctionType) -> None:
        if values := defaults_of(function):
            self.value(f"defaults of {self._owner(function)}()", values)

    def _owner(self, thing: Any) -> str:
        """What a function or class is called in the labels of what it holds."""
        name = _full_name(thing)
        known = self._owners.setdefault(name, [])
        if id(thing) not in known:
            known.append(id(thing))
            self._kept.append(thing)
        number = known.index(id(thing)) + 1
        return name if number == 1 else f"{name} {number}"

    def _look_at_what_is_read(self) -> bool:
        """Attributes and docstrings of functions and classes count where some code reads such; whether any was new."""
        before = len(self.parts)
        for label, (value, namespace) in list(self._types.items()):
            self._namespace = namespace
            self._name(label, value, ())
        for thing in list(self._kept):
            if "__doc__" in self.attributes or id(thing) in self._handed:
                self._docstrings(thing)
            if isinstance(thing, types.FunctionType):
                for name in sorted(self.attributes & vars(thing).keys()):
                    self.value(f"attribute {self._owner(thing)}.{name}", vars(thing)[name], texts=False)
        return len(self.parts) > before or bool(self._waiting)

    def _docstrings(self, thing: Any) -> None:
        inside = list(vars(thing).values()) if isinstance(thing, type) else []
        some = [thing, *(function for member in inside for function in functions_of(member))]
        found = [each.__doc__ for each in some if isinstance(each.__doc__, str)]
        if found:
            self.value(f"docstring of {self._owner(thing)}", found, texts=False)

    def _names(
        self,
        node: Definition,
        namespace: Mapping[str, Any],
        cells: Mapping[str, Any],
        names: set[str],
        owner: str,
    ) -> None:
        """Look at what the names stand for that a definition reads."""
        module = str(namespace.get("__name__", ""))
        self._namespace = namespace or self._namespace
        found = reads(node)
        self.attributes |= found.attributes
        self._parses |= found.parses
        self._calls_read |= found.calls_read
        for chain in sorted(found.chains):
            if chain[0] not in names:
                continue
            handed = chain in found.handed
            if chain[0] in cells:
                self._name(f"closure {owner}.{chain[0]}", cells[chain[0]], chain[1:], handed=handed)
            elif chain[0] in namespace:
                self._name(f"global {module}.{chain[0]}", namespace[chain[0]], chain[1:], handed=handed)
            elif _was_put_into_builtins(chain[0]):
                added = getattr(builtins, chain[0])
                self._name(f"global builtins.{chain[0]}", added, chain[1:], handed=handed)
        self._variables(found.variables, namespace)
        for chain, reason in sorted(found.outside):
            if not self._is_harmless({**namespace, **cells}, chain):
                raise NoSourceError(reason)
        if namespace:
            self._imports(found.imports, str(namespace.get("__package__") or module.rpartition(".")[0]))

    @staticmethod
    def _is_harmless(namespace: Mapping[str, Any], chain: tuple[str, ...]) -> bool:
        """Whether a name stands for something of the project, which is looked at itself, or for plain data."""
        found = namespace.get(chain[0]) if chain else None
        for name in chain[1:]:
            if name == "__dict__":  # of an object, it counts with the object
                return not isinstance(found, types.ModuleType)
            found = inspect.getattr_static(found, name, None)
        if isinstance(found, str | int | float):
            return True
        return isinstance(found, type | types.FunctionType) and not is_library(found)

    def _name(self, label: str, value: Any, attributes: tuple[str, ...], *, handed: bool = True) -> None:
        moved = False
        while isinstance(value, types.ModuleType):
            if is_library_module(value.__name__):
                self._stands_for(label, value.__name__)
                self._note_library(value.__name__)
                self._replaced(value, attributes, renamed=_last_word(label) != value.__name__)
                return
            if not attributes or not hasattr(value, attributes[0]):
                return  # the module by itself says nothing; the longer chain is looked at, too
            label = f"global {value.__name__}.{attributes[0]}"
            value, attributes, moved = getattr(value, attributes[0]), attributes[1:], True
        if any(value is each for each in _environment()):
            if not label.startswith("global ") or label.rpartition(".")[2] not in ENVIRONMENT or moved:
                raise UnknowableError(f"{label}: it is the environment by another name")
            return  # those variables count that are read
        called = inspect.getattr_static(type(value), attributes[0], None) if attributes else value
        if reason := done_by(called, _last_word(label)):
            raise NoSourceError(reason)
        if is_file_url(value):
            raise NoSourceError(FILES)
        if is_opener(value):  # it is told by the mode it is given
            self._stands_for(label, self._library(value))
        elif isinstance(value, type | types.FunctionType):
            self._stands_for(label, self.refer(value, handed=handed))
        else:
            self.value(label, value, texts=False)

    def _stands_for(self, label: str, thing: str) -> None:
        """Add which function, class or module a name stands for, unless it is the name that the thing has itself."""
        name = label.removeprefix("global ")
        if thing not in {f"helper {name}", f"helper {name}()", name.rpartition(".")[2]}:
            self.add(label, thing)

    def _replaced(self, module: types.ModuleType, attributes: tuple[str, ...], *, renamed: bool) -> None:
        """Look at a function of the project in the place of a library's; `NoSourceError` if it is the library's and reads files or the like."""
        found: Any = module
        for name in attributes:
            reason = done_in(found, name) if isinstance(found, types.ModuleType) else None
            found = inspect.getattr_static(found, name, None)
            if reason := reason or done_by(found, "" if renamed else name):
                raise NoSourceError(reason)
            if isinstance(found, types.FunctionType) and not is_library(found):
                self.refer(found)

    def _variables(self, variables: Iterable[Variable], namespace: Mapping[str, Any]) -> None:
        """Look at environment variables that are read by their names."""
        for variable in variables:
            first = namespace.get(variable.source[0])
            is_environment = first is os or any(first is each for each in _environment())
            if not is_environment and (first is not None or variable.source[0] != "os"):
                continue
            name = namespace.get(variable.named_by) if variable.named_by else variable.name
            if not isinstance(name, str):
                raise UnknowableError(
                    "it reads environment variables whose names are not written in its source"
                )
            self.value(f"{VARIABLE}{name}", os.environ.get(name), texts=False)

    def _imports(self, imports: Collection[tuple[int, str, str]], package: str) -> None:
        """Imports inside a function: of the project's modules whole files count, for nothing may be loaded yet."""
        if (0, "", "") in imports:
            raise NoSourceError("it imports a module whose name is not written in its source")
        for module, file in imported_files(imports, package):
            if file is None:
                self._note_library(module)
            else:
                check_loaded(module, file)
                tree = definition_of_file(file)
                self.add(f"module {module}", shape(tree))
                found = reads(tree)
                self._parses |= found.parses
                self._calls_read |= found.calls_read
                for chain, reason in sorted(found.outside):
                    if chain[-1:] != ("__dict__",):  # the whole file counts
                        raise NoSourceError(f"it imports {module}: {reason}")
                self._variables(found.variables, {})
            if len(self.parts) > _MOST_HELPERS:
                raise UnknowableError(f"it imports more than {_MOST_HELPERS} modules")


def _environment() -> list[Any]:
    """The environment, and the functions that read it."""
    return [vars(os)[name] for name in sorted(ENVIRONMENT) if name in vars(os)]


def closure_of(function: types.FunctionType) -> dict[str, Any]:
    """What a function holds of the functions around it, by name."""
    found: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not filled yet
            continue
    return found


def defaults_of(function: types.FunctionType) -> list[Any]:
    """The default arguments of a function."""
    named = function.__kwdefaults__ or {}
    return [*(function.__defaults__ or ()), *(named[name] for name in sorted(named))]


def _full_name(thing: Any) -> str:
    return f"{thing.__module__ or ''}.{getattr(thing, '__qualname__', type(thing).__qualname__)}"


def _was_put_into_builtins(name: str) -> bool:
    """Whether a name is a builtin that Python does not bring along, or one that stands for something else now."""
    if name not in vars(builtins) or name.startswith("__") or name in {"NotImplemented", "Ellipsis"}:
        return False
    value = vars(builtins)[name]
    if isinstance(value, type):
        names = {value.__name__, *(_OTHER_NAMES_OF_OS_ERROR if value is OSError else ())}
        return value.__module__ != "builtins" or name not in names
    if isinstance(value, types.BuiltinFunctionType):
        return value.__name__ != name
    return type(value).__module__ != "_sitebuiltins"


def _last_word(label: str) -> str:
    """The name that a label ends with, without a number that tells it from others."""
    return label.rstrip(" 0123456789").replace(".", " ").rpartition(" ")[2]


def _helper(thing: Any) -> str:
    call = "" if isinstance(thing, type) else "()"
    return f"helper {_full_name(thing)}{call}".replace("<locals>.", "")


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
