"""What makes two tasks or two evaluators the same: their source and everything it names, or the version they declare.

The version of a task wins over its source: results stay comparable until it is raised. It is the way out for tasks whose
source says little, such as a client of an agent that runs elsewhere. It stands for the source and for nothing else: two tasks
of different names are two, and so are two partials that bind different values. What an object holds counts beside a version
that its class declares; an object that sets its own version has said what it is.

The version of an evaluator (`get_evaluator_version`) is one part beside its source and its parameters, and stands for those
that cannot be known. Parameters are the fields of a dataclass (those that are compared), the attributes of any other object,
and what a partial has bound. An evaluator that Calipers ships is its type, its parameters and the release of Calipers.
"""

import contextlib
import functools
import inspect
import types
from collections.abc import Iterable
from typing import Any

from calipers.data.argument_checks import is_number
from calipers.data.evaluator_styles import as_evaluator

from .code import UnknowableError, Walk, closure_of, defaults_of
from .fingerprint import AnyIdentity, Unknown, identity_of
from .libraries import Libraries
from .members import functions_of
from .origin import home_of, is_library, is_ours, module_of, wrapped_by
from .value_bytes import NoFormError, fields_of

LIFECYCLE = "lifecycle "
"""How the label of a part begins that is about the lifecycle."""
PARAMETER = "parameter"
"""How the label of a part begins that is a value of a parameter."""
_TASK_VERSION = "declare a version: give the {0} an attribute `version`, such as {0}.version = '1'"

_MOST_DECORATORS = 100
_HOOKS = ("on_suite_start", "on_test_start", "on_test_end", "dispatch")


def task_identity(
    task: Any, *, version: str | None = None, libraries: Libraries | None = None, role: str = "task"
) -> AnyIdentity:
    """The identity of a task: of a function, or of an object that is called or has `invoke`.

    Args:
        task: what would be passed to `Dataset.evaluate`.
        version: declares what it is; default: its attribute `version`, if it has one that is a text or a number.
        libraries: their settings, where several identities share them; default: they are looked at now.
        role: what to call it in a reason.
    """
    declared = declared_version(task) if version is None else version
    if declared is not None:
        known = named_parts(task, label="field", texts=False, fields=not _speaks_for_itself(task))
        return identity_of({**known, "version": declared})
    walk = Walk(libraries)
    try:
        walk_callable(walk, task, label="field", texts=False)
        walk.finish()
    except (UnknowableError, NoFormError) as error:
        return Unknown(f"{error}; {_TASK_VERSION.format(role)}", walk.parts)
    return identity_of(walk.parts)


def with_hooks(task: AnyIdentity, lifecycle: Any, plugins: Any, libraries: Libraries) -> AnyIdentity:
    """The identity of a task among the hooks that stand around its attempts, and may change them.

    Args:
        task: its own.
        lifecycle: what makes the hooks of an attempt; `None` if there are none.
        plugins: who is told when attempts begin and end: plugins, or one object; `None` if no one is. What a plugin
            holds counts as far as it has a form.
        libraries: their settings.
    """
    if isinstance(task, Unknown) or (lifecycle is None and plugins is None):
        return task
    parts = dict(task.parts)
    if lifecycle is not None:
        hooks = task_identity(lifecycle, libraries=libraries, role="lifecycle")
        if isinstance(hooks, Unknown):
            return Unknown(f"lifecycle: {hooks.reason}", parts)
        parts |= {f"{LIFECYCLE}{label}": text for label, text in hooks.parts.items()}
    some = plugins if isinstance(plugins, Iterable) else [plugins]
    for number, plugin in enumerate(each for each in some if _may_change_attempts(each)):
        walk = Walk(libraries)
        try:
            walk.parts["type"] = walk.refer(type(plugin))
            walk.fields("field", plugin, texts=False, known_only=True)
            walk.finish()
        except (UnknowableError, NoFormError) as error:
            return Unknown(f"plugin {type(plugin).__qualname__}: {error}", parts)
        parts |= {f"plugin {number + 1} {label}": text for label, text in walk.parts.items()}
    return identity_of(parts)


def _may_change_attempts(plugin: Any) -> bool:
    """Whether a plugin has a hook of its own that is called before or between attempts."""
    found = (inspect.getattr_static(type(plugin), hook, None) for hook in _HOOKS)
    return any(isinstance(one, types.FunctionType) and not is_ours(home_of(one)) for one in found)


def _speaks_for_itself(task: Any) -> bool:
    """Whether an object declares a version of its own, and not the one that all objects of its class share."""
    while isinstance(task, functools.partial):
        task = task.func
    task = getattr(task, "__self__", task)
    return getattr(type(task), "version", None) != getattr(task, "version", None)


def named_parts(thing: Any, *, label: str, texts: bool, fields: bool = True) -> dict[str, str]:
    """What is known of a callable without looking at source: what it is called, what it is bound to, what it holds.

    What has no form is left out: a declared version stands for it.
    """
    walk = Walk()
    while isinstance(thing, functools.partial):
        bound = {**{str(number): value for number, value in enumerate(thing.args)}, **thing.keywords}
        for name, value in bound.items():
            with contextlib.suppress(UnknowableError):
                walk.value(_free(walk, f"{label} {name}"), value, texts=texts)
        thing = thing.func
    if isinstance(thing, types.MethodType):
        walk.parts["method"] = thing.__func__.__qualname__
        thing = thing.__self__
    thing = _undecorated(walk, thing, label=label, texts=texts)
    if isinstance(thing, types.FunctionType):
        defaults = {f"default {number}": value for number, value in enumerate(defaults_of(thing))}
        for name, value in (closure_of(thing) | defaults).items():
            with contextlib.suppress(UnknowableError):
                walk.value(_free(walk, f"{label} {name}"), value, texts=texts)
    code = isinstance(thing, types.FunctionType | types.BuiltinFunctionType | type)
    kind = thing if code or wrapped_by(thing) is not None else type(thing)
    if kind is not thing and fields:
        walk.fields(label, thing, texts=texts, known_only=True)
    walk.parts["type"] = f"{module_of(kind)}.{getattr(kind, '__qualname__', type(kind).__qualname__)}"
    # Functions in what it holds are known by their names only, and libraries not at all.
    return {name: text for name, text in walk.parts.items() if not name.startswith("library ")}


def _undecorated(walk: Walk, thing: Any, *, label: str, texts: bool) -> Any:
    """What decorators of the project wrap, if it is one; they are known by their classes and by what they hold.

    A decorator has the attributes of what it wraps. Only one that sets another version has said what it is.
    """
    for number in range(_MOST_DECORATORS):
        inner = wrapped_by(thing)
        if inner is None or isinstance(thing, types.FunctionType | type) or is_library(type(thing)):
            break
        walk.parts[f"decorator {number + 1}"] = f"{type(thing).__module__}.{type(thing).__qualname__}"
        if getattr(thing, "version", None) == getattr(inner, "version", None):
            for name, value in sorted((fields_of(thing) or {}).items()):
                if value is not inner:
                    with contextlib.suppress(UnknowableError):
                        walk.value(_free(walk, f"{label} {name}"), value, texts=texts)
        thing = inner
    return thing


def declared_version(task: Any) -> str | None:
    """The version that a task, or what a partial of it wraps, declares."""
    while isinstance(task, functools.partial):
        task = task.func
    found = getattr(task, "version", None)
    return str(found) if isinstance(found, str) or is_number(found) else None


def walk_callable(walk: Walk, thing: Any, *, label: str, texts: bool) -> None:
    """Begin a walk with a function, a method, a partial, or an object of a class.

    Raises `UnknowableError` or `NoFormError` if it, or something that it is bound to, has no form.
    """
    while isinstance(thing, functools.partial):
        for number, value in enumerate(thing.args):
            walk.value(_free(walk, f"{label} {number}"), value, texts=texts)
        for name, value in thing.keywords.items():
            walk.value(_free(walk, f"{label} {name}"), value, texts=texts)
        thing = thing.func
    if isinstance(thing, types.MethodType):
        walk.parts["method"] = thing.__func__.__qualname__
        function, thing = thing.__func__, thing.__self__
        owner = thing if isinstance(thing, type) else type(thing)
        if function not in functions_of(inspect.getattr_static(owner, function.__name__, None)):
            walk.refer(function)  # bound by hand to an object whose class does not have it
    if isinstance(thing, types.FunctionType | type) and not is_library(thing):
        walk.root(thing)
    elif isinstance(thing, types.FunctionType | types.BuiltinFunctionType | type):
        walk.parts["source"] = walk.refer(thing)
        if isinstance(thing, types.BuiltinFunctionType) and not is_library(thing):
            raise UnknowableError(f"{thing!r} is not written in Python")
    elif isinstance(thing, types.MethodWrapperType) or (wrapped_by(thing) is not None and callable(thing)):
        walk.parts["source"] = walk.refer(thing)
    else:
        kind = type(thing)
        if is_library(kind):
            walk.parts["source"] = walk.refer(kind)
        else:
            walk.root(kind)
        walk.fields(label, thing, texts=texts)


def _free(walk: Walk, label: str) -> str:
    """A label that no other binding has: a partial of a library's kind may hide another one."""
    found, number = label, 1
    while found in walk.parts:
        number += 1
        found = f"{label} {number}"
    return found


_EVALUATOR_VERSION = "declare a version: give the evaluator a method get_evaluator_version()"


def evaluator_identity(evaluator: Any, *, libraries: Libraries | None = None) -> AnyIdentity:
    """The identity of an evaluator of any style.

    Args:
        evaluator: what would be passed to `Dataset`.
        libraries: their settings, where several identities share them; default: they are looked at now.
    """
    one = as_evaluator(evaluator)
    origin = getattr(one, "origin", one)
    version = one.get_evaluator_version()
    declared = {} if version is None else {"version": str(version)}
    walk = Walk(libraries)
    try:
        walk_callable(walk, origin, label=PARAMETER, texts=True)
        walk.finish()
    except (UnknowableError, NoFormError) as error:
        if declared:
            known = named_parts(origin, label=PARAMETER, texts=True)
            return identity_of({**known, **declared}, reads_name=True)
        return Unknown(f"{error}; {_EVALUATOR_VERSION}", walk.parts)
    reads_name = bool(walk.attributes & {"name", "case"}) or _asks_for_name(one)
    return identity_of({**walk.parts, **declared}, reads_name=reads_name)


def _asks_for_name(evaluator: Any) -> bool:
    """Whether a function takes the name of the case, or the case itself, as a parameter."""
    asked = {parameter.name for parameter in getattr(evaluator, "parameters", ())}
    return bool(asked & {"name", "case", "test_case"})
