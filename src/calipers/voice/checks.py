"""Whether what users hand in can work.

It is asked before anything is said: a run of a thousand prompts should not fail a thousand times for one mistake.
"""

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

from calipers.data.case import Case
from calipers.errors import InvalidOptionError
from calipers.run.dataset import Dataset


def check_part(part: object, protocol: type, noun: str, method: str) -> None:
    """Refuse what is no agent, synthesizer, evaluator, parser or perturbation, and name the way to one.

    Args:
        part: what was given.
        protocol: what it should be.
        noun: what to call that.
        method: the method that it needs, with its arguments.

    Raises:
        InvalidOptionError: it is something else, or a class where an object is needed.
    """
    if isinstance(part, type):
        raise InvalidOptionError(
            f"{part!r} is a class: give one of its objects as the {noun}, such as {part.__name__}()"
        )
    if not isinstance(part, protocol):
        raise InvalidOptionError(
            f"{part!r:.200} is no {noun}: it has no method {method}{_way_out(part, noun)}"
        )


def _way_out(part: object, noun: str) -> str:
    if noun == "agent" and inspect.isroutine(part):
        return "; a function becomes an agent with @calipers.voice.agent, or with agent(function)"
    if noun == "perturbation" and isinstance(part, str | Mapping | list | tuple):
        return "; calipers.voice.perturbations.from_spec(...) makes one of a name or plain data"
    if noun == "parser" and isinstance(part, str):
        return "; names are for files: give an object, such as calipers.voice.parsers.JsonResponseParser()"
    return ""


def check_options(part: object, noun: str) -> None:
    """Refuse a part that says of its own options that they can never work.

    Raises:
        InvalidOptionError: with all that is wrong.
    """
    if wrong := [why for _, why in getattr(part, "wrong_options", tuple)()]:
        raise InvalidOptionError(f"the {noun} {part!r:.200} cannot work: {'; '.join(wrong)}")


def check_cases(cases: Any) -> list[Case[str, Any, Any]]:
    """The cases, as a list.

    Raises:
        InvalidOptionError: they are none.
    """
    if isinstance(cases, Dataset):
        raise InvalidOptionError(
            "cases is a list of cases, got a Dataset: give dataset.cases; evaluator= says how they are judged"
        )
    if isinstance(cases, Case):
        raise InvalidOptionError(f"cases is a list of cases, got one: give [{cases!r:.200}]")
    if not isinstance(cases, Iterable) or isinstance(cases, str | Mapping):
        raise InvalidOptionError(f"cases is a list of cases, got {cases!r:.200}")
    return list(cases)


def refuse_name(options: Mapping[str, Any], name: str, *, instead: str) -> None:
    """Refuse an option by the name that it has elsewhere.

    Raises:
        InvalidOptionError: it was given.
    """
    if name in options:
        raise InvalidOptionError(f"{name}={options[name]!r:.200} is called {instead} here: pass {instead}=")
