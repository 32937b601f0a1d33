"""The type that a task returns, so that a stored output can be made again as what it was.

It is what the dataset says (`Dataset[str, Answer]`), else what the task's return annotation says. An output is made again
only if the result is exactly what the task had returned: its plain data is what is stored, and its form, in which types
and the kinds of keys are told apart, has the hash that was noted when it was stored. Otherwise evaluators get the plain
data, and the run says so.
"""

import functools
import inspect
import typing
from typing import Any, TypeVar

import msgspec

from calipers.data.jsonable import plain
from calipers.identity.fingerprint import digest
from calipers.identity.values import written

"""Nesting beyond this is not looked at; a little further down, plain data of it is only its `repr`."""


class OutputType:
    """Makes outputs of their plain data."""

    def __init__(self, annotation: Any = None) -> None:
        """A maker of outputs.

        Args:
            annotation: their type; `None` if it is not known.
        """
        self.annotation = annotation

    def restored(self, data: Any, form: str | None) -> tuple[Any, bool]:
        """The output, and whether it is again what it was; if not, it is the plain data.

        Args:
            data: the output as plain data.
            form: what `form_of` gave for the output itself; `None` if it has none, so that it cannot be made again.
        """
        if self.annotation is None or form is None:
            return data, False
        try:
            made = self._made(data)
            return (made, True) if plain(made) == data and form_of(made) == form else (data, False)
        except Exception:  # of any library: a type that cannot be made again is one that is not known
            return data, False

    def _made(self, data: Any) -> Any:
        if isinstance(self.annotation, type) and issubclass(self.annotation, msgspec.Struct):
            return msgspec.convert(data, self.annotation)
        return self._adapter.validate_python(data)

    @functools.cached_property
    def _adapter(self) -> Any:
        from pydantic import TypeAdapter

        return TypeAdapter(self.annotation)


def form_of(output: Any) -> str | None:
    """A hash by which two outputs are told to be the same, types included; `None` if that cannot be known."""
    try:
        return digest(written(output))
    except Exception:  # it has no form, or attributes that raise
        return None


def output_type(task: Any, dataset_type: Any = None) -> OutputType:
    """The type of a task's outputs, as the dataset or else the task says."""
    for annotation in (dataset_type, _returned(task)):
        if annotation not in {None, Any, object, type(None)} and not isinstance(annotation, TypeVar):
            return OutputType(annotation)
    return OutputType()


def _returned(task: Any) -> Any:
    while isinstance(task, functools.partial):
        task = task.func
    if not inspect.isroutine(task):
        task = getattr(task, "invoke", None) or getattr(type(task), "__call__", None)  # noqa: B004 - the method itself
    try:
        return typing.get_type_hints(task).get("return")
    except Exception:  # annotations may name what is not there
        return None
