"""What makes two tasks the same: the version they declare, else their source and everything it names.

A declared version wins over the source: whoever declares one says that results stay comparable until it is raised. It is
the way out for tasks whose source says little, such as a client of an agent that runs elsewhere.
"""

import functools
import inspect
import types
from typing import Any

from .code import UnknowableError, Walk
from .fingerprint import AnyIdentity, Unknown, identity_of
from .origin import is_library
from .values import NoFormError

_WAY_OUT = "declare a version: give the task an attribute `version`, such as task.version = '1'"


def task_identity(task: Any, *, version: str | None = None) -> AnyIdentity:
    """The identity of a task: of a function, or of an object that is called or has `invoke`.

    Args:
        task: what would be passed to `Dataset.evaluate`.
        version: declares what it is; default: its attribute `version`, if it has one that is a text or a number.
    """
    declared = declared_version(task) if version is None else version
    if declared is not None:
        return identity_of({"version": declared})
    walk = Walk()
    try:
        walk_callable(walk, task, label="field", texts=False)
        walk.finish()
    except (UnknowableError, NoFormError) as error:
        return Unknown(f"{error}; {_WAY_OUT}", walk.parts)
    return identity_of(walk.parts)


def declared_version(task: Any) -> str | None:
    """The version that a task, or what a partial of it wraps, declares."""
    while isinstance(task, functools.partial):
        task = task.func
    found = getattr(task, "version", None)
    return str(found) if isinstance(found, str | int | float) and not isinstance(found, bool) else None


def walk_callable(walk: Walk, thing: Any, *, label: str, texts: bool) -> None:
    """Begin a walk with a function, a method, a partial, or an object of a class.

    Raises:
        UnknowableError: it does not tell what it is.
        NoFormError: something that it is bound to has no form.
    """
    while isinstance(thing, functools.partial):
        for number, value in enumerate(thing.args):
            walk.value(f"{label} {number}", value, texts=texts)
        for name, value in thing.keywords.items():
            walk.value(f"{label} {name}", value, texts=texts)
        thing = thing.func
    if isinstance(thing, types.MethodType):
        walk.parts["method"] = thing.__func__.__qualname__
        thing = thing.__self__
    if isinstance(thing, types.FunctionType | type) and not is_library(thing):
        walk.root(thing)
    elif isinstance(thing, types.FunctionType | types.BuiltinFunctionType | type):
        walk.parts["source"] = walk.refer(thing)
        if isinstance(thing, types.BuiltinFunctionType) and not is_library(thing):
            raise UnknowableError(f"{thing!r} is not written in Python")
    elif hasattr(thing, "__wrapped__") and callable(thing):
        walk_callable(walk, inspect.unwrap(thing), label=label, texts=texts)
    else:
        kind = type(thing)
        if is_library(kind):
            walk.parts["source"] = walk.refer(kind)
        else:
            walk.root(kind)
        walk.fields(label, thing, texts=texts)
