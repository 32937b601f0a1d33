"""Evaluators that are made of others: a parameter that holds evaluators is written in their forms, at any depth.

`CompositeEvaluator: [[EqualsExpected, 2], MaxDuration: 1]` gives the composite a list of an evaluator with its weight, and an
evaluator. Which parameters hold evaluators is told by their annotations.
"""

import inspect
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Union, get_args, get_origin

from calipers.agents import BaseEvaluator
from calipers.data.evaluator import Evaluator

from .parameters import Parameter
from .problem import Problems, Steps

Build = Callable[[Any, Steps, Problems], Any]
"""Makes an evaluator of what a file says of it."""


def holds_evaluators(annotation: Any) -> bool:
    """Whether what is annotated so is an evaluator, or has evaluators in it."""
    return _is_evaluator(annotation) or any(holds_evaluators(each) for each in get_args(annotation))


def read_nested(annotation: Any, value: Any, steps: Steps, problems: Problems, build: Build) -> Any:
    """The argument that a file gives, with evaluators in the place of what describes them."""
    members = get_args(annotation) if get_origin(annotation) in {Union, types.UnionType} else (annotation,)
    if isinstance(value, list):
        for member in members:
            kinds = _item_types(member, len(value))
            if kinds is not None:
                items = [
                    read_nested(kind, item, (*steps, index), problems, build)
                    for index, (kind, item) in enumerate(zip(kinds, value, strict=True))
                ]
                return tuple(items) if get_origin(member) is tuple else items
    if value is None and type(None) in members:
        return None
    if any(map(_is_evaluator, members)):
        return build(value, steps, problems)
    if holds_evaluators(annotation):
        problems.add(steps, "expected a list", value)
        return None
    return Parameter("", annotation, required=True, by_position=True).read(value, steps, problems)


def nested_in(value: Any) -> Iterator[Any]:
    """The evaluators in an argument that holds some: whatever is neither a list nor plain data."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from nested_in(item)
    elif not isinstance(value, str | int | float | None):
        yield value


def _item_types(annotation: Any, count: int) -> list[Any] | None:
    """The types of the items of a list, if that many could be annotated so."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if not arguments or not inspect.isclass(origin):
        return None
    if origin is tuple and arguments[-1] is not Ellipsis:
        return list(arguments) if len(arguments) == count else None
    return [arguments[0]] * count if issubclass(origin, Sequence) else None


def _is_evaluator(annotation: Any) -> bool:
    kind = get_origin(annotation) or annotation
    return inspect.isclass(kind) and issubclass(kind, Evaluator | BaseEvaluator)
