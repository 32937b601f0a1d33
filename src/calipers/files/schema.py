"""The JSON Schema of dataset documents, with which editors complete and check them.

It allows what a reader with the same types accepts: each evaluator by its bare name (if it needs no parameter), with its
first parameter, or with named ones; no other keys anywhere.
"""

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from calipers.data.evaluator import Evaluator
from calipers.plugins.evaluator_factory import name_of
from calipers.report.report_evaluator import ReportEvaluator
from calipers.run.dataset import Dataset

from .catalog import Kind, built_in_types, derives
from .named_objects import Parameter, parameters_of
from .value_type import case_types, type_arguments

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_IN_A_MODULE = "^[^:]+:[^:]+$"
_SCALARS = {"string", "number", "integer", "boolean", "null", "array"}


def dataset_schema(
    inputs: Any = Any, output: Any = Any, metadata: Any = Any, evaluator_types: Sequence[Kind] = ()
) -> dict[str, Any]:
    """The JSON Schema of YAML and JSON files that hold such datasets.

    Args:
        inputs: the type of the cases' inputs.
        output: the type of what the task returns, and so of expected outputs.
        metadata: the type of the cases' metadata.
        evaluator_types: classes and functions of your own that the files may name, besides the built-in evaluators.

    Raises:
        InvalidOptionError: pydantic cannot validate one of the types, or an evaluator type has no name.
    """
    everything: list[Kind] = [*built_in_types(), *evaluator_types]
    kinds = {name_of(kind): kind for kind in everything}
    of_attempts = {name: kind for name, kind in kinds.items() if not derives(kind, ReportEvaluator)}
    of_reports = {name: kind for name, kind in kinds.items() if not derives(kind, Evaluator)}
    definitions = Definitions()
    for key, each in zip(
        ("inputs", "output", "metadata"), case_types((inputs, output, metadata)), strict=True
    ):
        definitions.want(key, None if each.is_any else each.adapter)
    for of_report, some in ((False, of_attempts), (True, of_reports)):
        for name, kind in some.items():
            for parameter in parameters_of(kind, of_report=of_report):
                definitions.want((of_report, name, parameter.name), parameter.adapter)
    schemas, shared = definitions.made()
    return {
        "$schema": _DIALECT,
        "title": "Dataset",
        "type": "object",
        "properties": {
            "$schema": {"type": "string"},
            "name": {"type": ["string", "null"]},
            "cases": {
                "anyOf": [
                    {"type": "array", "items": {"$ref": "#/$defs/dataset.case"}},
                    {"type": "string", "pattern": r"\.(jsonl|csv|parquet)$"},
                ]
            },
            "evaluators": _list_of("evaluator"),
            "report_evaluators": _list_of("report_evaluator"),
        },
        "required": ["cases"],
        "additionalProperties": False,
        "$defs": {
            "dataset.case": _case(schemas),
            "dataset.evaluator": _evaluator(of_attempts, schemas, of_report=False),
            "dataset.report_evaluator": _evaluator(of_reports, schemas, of_report=True),
            **shared,
        },
    }


def schema_of(kind: Any, evaluator_types: Sequence[Kind]) -> dict[str, Any]:
    """The schema of files that hold datasets of this class or `Dataset[...]`."""
    inputs, output, metadata = (each.annotation for each in case_types(type_arguments(kind, Dataset)))
    return dataset_schema(inputs, output, metadata, evaluator_types)


class Definitions:
    """Gathers types, and makes their schemas together, so that shared parts are defined once."""

    def __init__(self) -> None:
        self._adapters: dict[Any, Any] = {}
        self._schemas: dict[Any, dict[str, Any]] = {}

    def want(self, key: Any, adapter: Any) -> None:
        """Ask for the schema of a type; `None` means any value. A type without a schema is left out."""
        from pydantic import PydanticInvalidForJsonSchema

        if adapter is None:
            self._schemas[key] = {}
            return
        try:
            adapter.json_schema()
        except PydanticInvalidForJsonSchema:
            return
        self._adapters[key] = adapter

    def made(self) -> tuple[dict[Any, dict[str, Any]], dict[str, Any]]:
        """Schemas by key, and the definitions they refer to."""
        from pydantic import TypeAdapter

        numbered = dict(enumerate(self._adapters.values()))
        found, shared = TypeAdapter.json_schemas(
            [(number, "validation", adapter) for number, adapter in numbered.items()]
        )
        for number, key in enumerate(self._adapters):
            self._schemas[key] = found[number, "validation"]
        return self._schemas, shared.get("$defs", {})


def _case(schemas: dict[Any, dict[str, Any]]) -> dict[str, Any]:
    return {
        "title": "Case",
        "type": "object",
        "properties": {
            "name": {"type": ["string", "null"], "minLength": 1},
            "inputs": schemas.get("inputs", {}),
            "expected_output": _or_null(schemas.get("output", {})),
            "expected_tool_calls": {
                "type": ["array", "null"],
                "items": {
                    "anyOf": [{"type": "string", "minLength": 1}, {"type": "object", "minProperties": 1}]
                },
            },
            "metadata": _or_null(schemas.get("metadata", {})),
            "evaluators": _list_of("evaluator"),
            "cluster": {"type": ["string", "null"]},
            "tags": {"type": "array", "items": {"type": "string"}},
            "timeout": {"type": ["number", "null"], "exclusiveMinimum": 0},
            "turns": {
                "description": "What a scripted user says, turn by turn",
                "type": "array",
                "minItems": 1,
                "items": {"anyOf": [{"type": "string", "pattern": r"\S"}, _turn(schemas)]},
            },
        },
        "oneOf": [
            {"required": ["inputs"]},
            {"required": ["turns"], "properties": {"expected_output": False}},
        ],
        "additionalProperties": False,
    }


def _turn(schemas: dict[Any, dict[str, Any]]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "user": {"type": "string", "pattern": r"\S"},
            "expected_output": _or_null(schemas.get("output", {})),
            "evaluators": _list_of("evaluator"),
        },
        "required": ["user"],
        "additionalProperties": False,
    }


def _evaluator(
    kinds: dict[str, Kind], schemas: dict[Any, dict[str, Any]], *, of_report: bool
) -> dict[str, Any]:
    """Every form of every evaluator."""
    return named_forms(
        {
            name: Named(
                parameters := parameters_of(kind, of_report=of_report),
                # A parameter that no file could give, such as a function, is not offered.
                {
                    p.name: schemas[of_report, name, p.name]
                    for p in parameters
                    if (of_report, name, p.name) in schemas
                },
                first_line(kind),
            )
            for name, kind in kinds.items()
        }
    )


class Named(NamedTuple):
    """Something that a file names, with arguments."""

    parameters: Sequence[Parameter]
    given: dict[str, Any]
    """The schemas of those parameters that a file can give, by name."""
    description: str


def named_forms(kinds: Mapping[str, Named]) -> dict[str, Any]:
    """Every form of every kind: its bare name, with a value, with named parameters; or a name in a module."""
    bare: list[str] = []
    properties: dict[str, Any] = {}
    for name, (parameters, given, text) in kinds.items():
        if not any(parameter.required for parameter in parameters):
            bare.append(name)
        forms = [
            *_short_form(parameters, given),
            _long_form(parameters, given),
            *_keys_form(parameters, given),
        ]
        described = {"description": text} if text else {}
        properties[name] = {**described, "anyOf": forms}
    return {
        "anyOf": [
            {"enum": sorted(bare)},
            {"type": "string", "pattern": _IN_A_MODULE},
            {
                "type": "object",
                "properties": dict(sorted(properties.items())),
                "patternProperties": {_IN_A_MODULE: {}},
                "additionalProperties": False,
                "minProperties": 1,
                "maxProperties": 1,
            },
        ]
    }


def _short_form(parameters: Iterable[Parameter], given: dict[str, Any]) -> list[dict[str, Any]]:
    """The first parameter alone, where it is enough. It is never a mapping, which is read as named parameters."""
    first, *others = [*parameters, None]
    if first is None or not first.by_position or first.name not in given:
        return []
    if any(other is not None and other.required for other in others):
        return []
    schema = given[first.name]
    if _is_scalar(schema):
        return [schema]
    never = ["object", "null"] if first.required else "object"
    return [{"allOf": [schema], "not": {"type": never}}]


def _long_form(parameters: Iterable[Parameter], given: dict[str, Any]) -> dict[str, Any]:
    required = [parameter.name for parameter in parameters if parameter.required]
    return {
        "type": "object",
        "properties": given,
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }


def _keys_form(parameters: Sequence[Parameter], given: dict[str, Any]) -> list[dict[str, Any]]:
    """The first parameter by those of its keys that do not need its name."""
    if not parameters or not parameters[0].keys:
        return []
    first, *others = parameters
    named = {each.name: given[each.name] for each in others if each.name in given}
    properties: dict[str, Any] = {key: {} for key in first.keys} | named
    return [
        {
            "type": "object",
            "properties": properties,
            "anyOf": [{"required": [key]} for key in first.keys],
            "additionalProperties": False,
        }
    ]


def _list_of(name: str) -> dict[str, Any]:
    return {"type": "array", "items": {"$ref": f"#/$defs/dataset.{name}"}}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]} if schema else {}


def _is_scalar(schema: dict[str, Any]) -> bool:
    if "anyOf" in schema:
        return all(map(_is_scalar, schema["anyOf"]))
    return schema.get("type") in _SCALARS


def first_line(kind: Kind) -> str:
    """The first line of the docstring."""
    return (inspect.getdoc(kind) or "").partition("\n")[0]
