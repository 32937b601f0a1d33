"""The evaluators there are, as data and as text: what each claims, and what it can be given."""

import ast
import inspect
import json
import re
import textwrap
from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from itertools import pairwise
from typing import Any, is_typeddict

import click

from calipers import agents, evaluators, judges, rollouts
from calipers.cli.actions.plugins import installed_plugins
from calipers.cli.exits import PASSED, USAGE
from calipers.cli.message import CommandError, shown
from calipers.data.evaluator import EvaluatorLike
from calipers.files.catalog import Kind, built_in_types
from calipers.files.named_objects import parameters_of
from calipers.plugins.evaluator_factory import name_of
from calipers.report.report_evaluator import ReportEvaluator

_SECTIONS = (
    ("Evaluators of attempts", "calipers.evaluators", "attempt"),
    ("Judges, which ask a model", "calipers.judges", "attempt"),
    ("Evaluators that give agents a verdict", "calipers.agents", "attempt"),
    ("Evaluators of rollouts", "calipers.rollouts", "attempt"),
    ("Evaluators of whole reports", "calipers.evaluators", "report"),
    ("Evaluators of whole reports of rollouts", "calipers.rollouts", "report"),
)
"""How the list is divided: title, module, what is judged."""


def show_evaluators(*, name: str | None = None, json: bool = False) -> int:
    """Print all evaluators, or one; returns the exit code."""
    found = describe_all(name)
    if name is not None and name not in found:
        near = get_close_matches(name, found, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "`calipers evaluators` lists them"
        raise CommandError(f"no evaluator is called {name!r}; {hint}", USAGE)
    if json:
        click.echo(_as_json(list(found.values()) if name is None else found[name]))
    else:
        click.echo(shown(_list(list(found.values())) if name is None else _page(found[name])))
    return PASSED


def describe_all(name: str | None = None) -> dict[str, dict[str, Any]]:
    """The evaluators that Calipers brings, and those of plugins; of these none are loaded if the name is not theirs."""
    known = built_in()
    if name in known:
        return {name: describe(known[name])}
    found = {each: describe(kind) for each, kind in known.items()}
    with installed_plugins() as manager:
        for plugin in manager.plugins:
            found |= {each: describe(kind, plugin=plugin.name) for each, kind in plugin.evaluators.items()}
    return found


def built_in() -> dict[str, type]:
    """The evaluators that Calipers brings, by name."""
    return {name_of(kind): kind for kind in built_in_types()}


def describe(kind: Kind, *, plugin: str | None = None) -> dict[str, Any]:
    """What there is to know about a type of evaluators; `plugin` names the one that provides it."""
    doc = inspect.getdoc(kind) or ""
    of_report = inspect.isclass(kind) and issubclass(kind, ReportEvaluator)
    given = {each.name for each in parameters_of(kind, of_report=of_report)}
    parameters = [each for each in inspect.signature(kind).parameters.values() if each.name in given]
    return {
        "name": name_of(kind),
        "module": _module(kind),
        "plugin": plugin,
        "judges": "report" if of_report else "attempt",
        "summary": doc.partition("\n\n")[0].replace("\n", " "),
        "doc": doc,
        "parameters": [_parameter(kind, each) for each in parameters],
        "in_a_file": _in_a_file(kind, parameters),
    }


def _module(kind: Kind) -> str | None:
    """Where it can be imported from; `None` for what only its plugin can make."""
    for package in (evaluators, judges, agents, rollouts):
        if getattr(package, name_of(kind), None) is kind:
            return package.__name__
    return getattr(kind, "__module__", None) if inspect.isclass(kind) or inspect.isroutine(kind) else None


def _parameter(kind: Kind, parameter: inspect.Parameter) -> dict[str, Any]:
    required = parameter.default is parameter.empty
    return {
        "name": parameter.name,
        "type": _type_name(parameter.annotation),
        "required": required,
        "default": None if required else _default(parameter.default),
        "doc": _field_docs(kind).get(parameter.name, ""),
    }


def _type_name(annotation: Any) -> str:
    if annotation is inspect.Parameter.empty:
        return "Any"
    # The five styles of evaluators, spelt out, tell a reader less than the word.
    like: Any = EvaluatorLike
    any_style = _spelt_out(like[Any, Any, Any]).removeprefix("Union[").removesuffix("]")
    return _spelt_out(annotation).replace(any_style, "Evaluator").replace("Union[Evaluator]", "Evaluator")


def _spelt_out(annotation: Any) -> str:
    return re.sub(r"\b(?:\w+\.)+(?=[A-Za-z])", "", inspect.formatannotation(annotation))


def _default(value: Any) -> str:
    # A default that is made anew for each object has no repr worth reading.
    made_anew = type(value).__name__ == "_HAS_DEFAULT_FACTORY_CLASS"
    return "made for each" if made_anew else repr(value)


def _field_docs(kind: Kind) -> dict[str, str]:
    """The line below each field, of the class and those it derives from."""
    classes = reversed(kind.__mro__) if isinstance(kind, type) else ()
    return {name: line for each in classes for name, line in _own_field_docs(each).items()}


@cache
def _own_field_docs(kind: type) -> dict[str, str]:
    """The same, of one class alone: most derive from the same few."""
    try:
        body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    except (OSError, TypeError, SyntaxError):  # it has no source
        return {}
    found: dict[str, str] = {}
    lines = body.body if isinstance(body, ast.ClassDef) else []
    for node, below in pairwise(lines):
        match node, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str() as text)),
            ):
                found[name] = " ".join(text.split())
    return found


def _in_a_file(kind: Kind, parameters: Sequence[inspect.Parameter]) -> str:
    """The shortest way to name it in a dataset file."""
    name = name_of(kind)
    required = [each.name for each in parameters if each.default is each.empty]
    if not required and (not parameters or not inspect.isclass(kind) or _can_be_made(kind)):
        return name
    first = parameters[0]
    required = required or [first.name]  # it needs one of several: the first is as good as any
    # A mapping in a file is always read as named parameters.
    is_mapping = is_typeddict(first.annotation) or "dict" in _type_name(first.annotation)
    by_position = first.kind is not first.KEYWORD_ONLY or inspect.isroutine(kind)
    if required == [first.name] and by_position and not is_mapping:
        return f"{name}: {first.name.upper()}"
    return f"{name}: {{{', '.join(f'{each}: {each.upper()}' for each in required)}}}"


def _can_be_made(kind: Kind) -> bool:
    try:
        kind()
    except Exception:  # a constructor may want more than its signature says
        return False
    return True


# ---------------------------------------------------------------------- as text


def _list(described: list[dict[str, Any]]) -> str:
    formatter = _formatter()
    brought = [each for each in described if each["plugin"] is None]
    for title, module, judged in _SECTIONS:
        chosen = [d for d in brought if (d["module"], d["judges"]) == (module, judged)]
        with formatter.section(title):
            formatter.write_dl([(d["name"], d["summary"]) for d in chosen])
    offered = [each for each in described if each["plugin"] is not None]
    if offered:
        with formatter.section("Evaluators of plugins"):
            formatter.write_dl([(d["name"], f"{d['summary']} Plugin: {d['plugin']}.") for d in offered])
    formatter.write_paragraph()
    formatter.write_text("`calipers evaluators NAME` tells what one of them can be given.")
    return formatter.getvalue().rstrip("\n")


def _page(described: dict[str, Any]) -> str:
    formatter = _formatter()
    formatter.write(f"{described['name']}\n")
    with formatter.indentation():
        for paragraph in described["doc"].split("\n\n"):
            formatter.write_paragraph()
            if paragraph.startswith(("- ", "|")):
                formatter.write(textwrap.indent(paragraph, "  ") + "\n")
            else:
                formatter.write_text(paragraph.replace("\n", " "))
    if described["parameters"]:
        with formatter.section("Parameters"):
            formatter.write_dl([(p["name"], _parameter_text(p)) for p in described["parameters"]])
    where = "evaluators" if described["judges"] == "attempt" else "report_evaluators"
    with formatter.section("In a dataset file"):
        formatter.write(f"  {where}:\n    - {described['in_a_file']}\n")
    return formatter.getvalue().rstrip("\n")


def _parameter_text(parameter: dict[str, Any]) -> str:
    given = "required" if parameter["required"] else f"default {parameter['default']}"
    return f"{parameter['type']}, {given}. {parameter['doc']}".rstrip()


def _formatter() -> click.HelpFormatter:
    return click.get_current_context().make_formatter()


def _as_json(found: Any) -> str:
    return json.dumps(found, indent=2, ensure_ascii=False)
