"""The JSON Schema of voice files, with which editors complete and check them.

It knows the kinds of agents, synthesizers, parsers and perturbations with their options, and the evaluators as the schema of
dataset files has them. What depends on values is left to the reader: ranges, names that stand twice, what an agent can do.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from calipers.voice.expectation import CIRCUMSTANCES
from calipers.voice.perturbations import KINDS

from .schema import Definitions, Named, dataset_schema, first_line, named_forms
from .voice_file import EVALUATORS
from .voice_parts import AGENTS, PARSERS, SYNTHESIZERS, part_parameters

_COUNT = {"type": ["integer", "null"], "minimum": 1}
_CALL = {
    "anyOf": [
        {"type": "string", "minLength": 1},
        {
            "type": "object",
            "properties": {
                **{name: {"type": "string", "minLength": 1} for name in ("name", "tool_name")},
                **{name: {"type": ["object", "null"]} for name in ("arguments", "tool_input", "matchers")},
                **{name: {} for name in sorted(CIRCUMSTANCES)},
            },
            "anyOf": [{"required": ["name"]}, {"required": ["tool_name"]}],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "additionalProperties": {"type": ["object", "null"]},
            "minProperties": 1,
            "maxProperties": 1,
        },
    ]
}
_EXPECT = {
    "anyOf": [{"$ref": "#/$defs/voice.call"}, {"type": "array", "items": {"$ref": "#/$defs/voice.call"}}]
}


def voice_schema(evaluator_types: Sequence[Callable[..., Any]] = ()) -> dict[str, Any]:
    """The JSON Schema of voice files.

    Args:
        evaluator_types: classes and functions of your own that the files may name.
    """
    schema = dataset_schema(evaluator_types=[*EVALUATORS, *evaluator_types])
    definitions = schema["$defs"]
    case = definitions.pop("dataset.case")["properties"]
    definitions.pop("dataset.report_evaluator")
    parts, shared = _parts()
    prompt = {key: case[key] for key in ("name", "tags", "cluster", "timeout", "metadata", "evaluators")}
    definitions |= shared | parts
    definitions["voice.call"] = _CALL
    definitions["voice.prompt"] = {
        "type": "object",
        "properties": {"prompt": {"type": "string", "minLength": 1}, "expect": _EXPECT, **prompt},
        "required": ["prompt"],
        "additionalProperties": False,
    }
    return {
        **schema,
        "title": "Voice test",
        "properties": {
            "$schema": {"type": "string"},
            "name": {"type": ["string", "null"]},
            "agent": {"$ref": "#/$defs/voice.agent"},
            "synthesizer": {"anyOf": [{"enum": ["none", None]}, {"$ref": "#/$defs/voice.synthesizer"}]},
            "evaluators": schema["properties"]["evaluators"],
            "perturbation": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/voice.perturbation"}]},
            "sweep": _sweep(),
            "compare": {"enum": ["text", None]},
            "runs": _COUNT,
            "max_concurrency": _COUNT,
            "expect": _EXPECT,
            "prompts": {
                "type": "array",
                "minItems": 1,
                "items": {"anyOf": [{"type": "string", "minLength": 1}, {"$ref": "#/$defs/voice.prompt"}]},
            },
        },
        "required": ["agent", "prompts"],
        "$defs": definitions,
    }


def _parts() -> tuple[dict[str, Any], dict[str, Any]]:
    """The schema of each sort of part, and the definitions they share."""
    sorts: dict[str, Mapping[str, Any]] = {
        "agent": _imported(AGENTS),
        "synthesizer": _imported(SYNTHESIZERS),
        "parser": _imported(PARSERS),
        "perturbation": KINDS,
    }
    definitions = Definitions()
    for sort, kinds in sorts.items():
        for name, kind in kinds.items():
            for parameter in part_parameters(kind):
                definitions.want((sort, name, parameter.name), parameter.adapter)
    schemas, shared = definitions.made()
    found: dict[str, Any] = {}
    for sort, kinds in sorts.items():
        forms = named_forms(
            {
                name: Named(part_parameters(kind), _given(sort, name, kind, schemas), first_line(kind))
                for name, kind in kinds.items()
            }
        )
        found[f"voice.{sort}"] = forms
    several = {"type": "array", "items": {"$ref": "#/$defs/voice.perturbation"}}
    found["voice.perturbation"]["anyOf"].append(several)
    return found, shared


def _given(sort: str, name: str, kind: Any, schemas: Mapping[Any, Any]) -> dict[str, Any]:
    """The schemas of the options that a file can give."""
    found: dict[str, Any] = {}
    for option in (parameter.name for parameter in part_parameters(kind)):
        if option == "parser":
            found[option] = {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/voice.parser"}]}
        elif (sort, name, option) in schemas:
            found[option] = schemas[sort, name, option]
    return found


def _imported(addresses: Mapping[str, str]) -> dict[str, Any]:
    split = {name: address.partition(":") for name, address in addresses.items()}
    return {name: getattr(import_module(module), attribute) for name, (module, _, attribute) in split.items()}


def _sweep() -> dict[str, Any]:
    levels = {"type": "array", "minItems": 1}
    kinds = {}
    for name, kind in sorted(KINDS.items()):
        first = part_parameters(kind)[0].name
        options = {"type": "object", "properties": {first: levels}, "required": [first]}
        kinds[name] = {"anyOf": [levels, options]}
    return {
        "type": ["object", "null"],
        "properties": kinds,
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 1,
    }
