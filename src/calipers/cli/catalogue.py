"""The built-in evaluators as data and as text: what each claims, and what it can be given."""

import ast
import inspect
import json
import re
import textwrap
from difflib import get_close_matches
from functools import cache
from typing import Any, is_typeddict

import click

from calipers import evaluators
from calipers.errors import InvalidOptionError
from calipers.evaluator import Evaluator
from calipers.report_evaluator import ReportEvaluator

from .exits import PASSED, USAGE
from .message import CommandError


def show_evaluators(*, name: str | None = None, json: bool = False) -> int:
    """Print all evaluators, or one; returns the exit code."""
    known = built_in()
    if name is not None and name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "`calipers evaluators` lists them"
        raise CommandError(f"no built-in evaluator is called {name!r}; {hint}", USAGE)
    if json:
        found: Any = (
            describe(known[name]) if name is not None else [describe(each) for each in known.values()]
        )
        click.echo(_as_json(found))
    elif name is not None:
        click.echo(_page(describe(known[name])))
    else:
        click.echo(_list([describe(each) for each in known.values()]))
    return PASSED


def built_in() -> dict[str, type]:
    """The evaluators that Calipers brings, by name."""
    kinds = ((name, getattr(evaluators, name)) for name in evaluators.__all__)
    return {
        name: kind
        for name, kind in kinds
        if inspect.isclass(kind)
        and issubclass(kind, Evaluator | ReportEvaluator)
        and kind not in {Evaluator, ReportEvaluator}
    }


def describe(kind: type) -> dict[str, Any]:
    """What there is to know about a type of evaluators."""
    doc = inspect.getdoc(kind) or ""
    return {
        "name": kind.__name__,
        "judges": "report" if issubclass(kind, ReportEvaluator) else "attempt",
        "summary": doc.partition("\n\n")[0].replace("\n", " "),
        "doc": doc,
        "parameters": [_parameter(kind, each) for each in inspect.signature(kind).parameters.values()],
        "in_a_file": _in_a_file(kind),
    }


def _parameter(kind: type, parameter: inspect.Parameter) -> dict[str, Any]:
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
    return re.sub(r"\b(?:\w+\.)+(?=[A-Za-z])", "", inspect.formatannotation(annotation))


def _default(value: Any) -> str:
    # A default that is made anew for each object has no repr worth reading.
    made_anew = type(value).__name__ == "_HAS_DEFAULT_FACTORY_CLASS"
    return "made for each" if made_anew else repr(value)


@cache
def _field_docs(kind: type) -> dict[str, str]:
    """The line below each field, of the class and those it derives from."""
    found: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        if not each.__module__.startswith("calipers"):
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(each))).body[0]
        assert isinstance(body, ast.ClassDef)
        for node, below in zip(body.body, body.body[1:], strict=False):
            match node, below:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str() as text)),
                ):
                    found[name] = " ".join(text.split())
    return found


def _in_a_file(kind: type) -> str:
    """The shortest way to name it in a dataset file."""
    parameters = list(inspect.signature(kind).parameters.values())
    required = [each.name for each in parameters if each.default is each.empty]
    first = parameters[0]
    if not required:
        try:
            kind()
        except InvalidOptionError:  # it needs one of several: the first is as good as any
            required = [first.name]
        else:
            return kind.__name__
    # A mapping in a file is always read as named parameters.
    is_mapping = is_typeddict(first.annotation) or "dict" in _type_name(first.annotation)
    if required == [first.name] and first.kind is not first.KEYWORD_ONLY and not is_mapping:
        return f"{kind.__name__}: {first.name.upper()}"
    return f"{kind.__name__}: {{{', '.join(f'{name}: {name.upper()}' for name in required)}}}"


# ---------------------------------------------------------------------- as text


def _list(described: list[dict[str, Any]]) -> str:
    formatter = _formatter()
    for judges, title in (("attempt", "Evaluators of attempts"), ("report", "Evaluators of whole reports")):
        with formatter.section(title):
            formatter.write_dl([(d["name"], d["summary"]) for d in described if d["judges"] == judges])
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
