"""The policy of a gate as a YAML or JSON file: read with all that is wrong, each problem at its place.

`$schema` is for editors and is not read. Paths are relative to the file.
"""

import errno
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from calipers.errors import InvalidOptionError
from calipers.gate.policy import (
    LIMITS,
    NOT_OF_A_PASS_RATE,
    Growth,
    HumanAgreement,
    PassportRules,
    Policy,
    Rules,
    wrong_with,
)

from .case_data import check_keys
from .dataset_document import format_of, raise_if_any, read_data
from .problem import ABSENT, Problems, Steps

_Part = TypeVar("_Part", bound=msgspec.Struct)

_PARTS: dict[str, type[msgspec.Struct]] = {
    "agreement": HumanAgreement,
    "passport": PassportRules,
    "pass_rate": Rules,
    "duration": Growth,
}
_SUFFIXES = (".yaml", ".yml", ".json")
_NAMED: dict[str, type[msgspec.Struct]] = {"evaluators": Rules, "tags": Rules, "metrics": Growth}
"""Keys whose mapping has names of the user's own."""


def load_policy(path: str | PathLike[str]) -> Policy:
    """The policy in a file.

    Raises:
        DatasetFileError: something is wrong with the file; the error lists all of it, with line and column.
        InvalidOptionError: the file is neither YAML nor JSON by its name.
        OSError: the file cannot be read.
    """
    where = Path(path)
    if where.suffix.lower() not in _SUFFIXES:
        raise InvalidOptionError(
            f"a policy is a YAML or JSON file: end its name with {', '.join(_SUFFIXES)}, got {str(path)!r}"
        )
    form = format_of(where)
    if where.is_dir():
        raise IsADirectoryError(errno.EISDIR, "this is a folder, not a policy file", str(path))
    problems = Problems(str(path))
    data = read_data(where, form, problems)
    policy = None
    if data is not ABSENT:
        if isinstance(data, dict):
            data.pop("$schema", None)
        policy = _read(Policy, data, (), problems)
    problems.found.sort(key=lambda problem: (problem.line or 0, problem.column or 0))
    raise_if_any(problems)
    assert policy is not None
    return msgspec.structs.replace(
        policy, evaluators={name: _beside(where, rules) for name, rules in policy.evaluators.items()}
    )


def policy_schema() -> dict[str, Any]:
    """The JSON Schema of policy files, with which editors complete and check them."""
    schema = msgspec.json.schema(Policy)
    parts = schema["$defs"]
    for part in parts.values():
        part["additionalProperties"] = False
        part["properties"] = {name: _not_null(field) for name, field in part["properties"].items()}
    parts["Growth"]["anyOf"] = [{"required": ["max_growth"]}, {"required": ["at_most"]}]
    parts["Rules"]["anyOf"] = [{"required": [name]} for name in LIMITS]
    corrects = {"required": ["corrects"], "properties": {"corrects": {"const": True}}}
    corrected = {"required": ["agreement"], "properties": {"agreement": corrects}}
    parts["Rules"] |= {
        "if": corrected,
        "then": {"anyOf": [{"required": ["at_least"]}, {"required": ["at_most"]}]},
    }
    parts["Policy"] |= {
        "if": {"required": ["population"], "properties": {"population": {"const": "these-cases"}}},
        "then": {"properties": {"evaluators": {"additionalProperties": {"not": corrected}}}},
    }
    parts["HumanAgreement"] |= {
        "not": {"anyOf": [{"required": ["labels", "run"]}, {"required": ["labels", "question"]}]},
        "anyOf": [{"required": ["kappa"]}, {"required": ["share"]}, corrects],
    }
    rules = parts["Policy"]["properties"]
    for name in _NAMED:
        rules[name]["propertyNames"] = {"minLength": 1}
    not_of_a_rate = {"not": {"anyOf": [{"required": [name]} for name in NOT_OF_A_PASS_RATE]}}
    rules["pass_rate"] |= not_of_a_rate
    rules["tags"]["additionalProperties"] |= not_of_a_rate
    is_zero = {"required": ["missing_is_zero"], "properties": {"missing_is_zero": {"const": True}}}
    parts["Growth"]["not"] = {"allOf": [{"required": ["max_missing"]}, is_zero]}
    rules["duration"]["not"] = {"anyOf": [{"required": ["max_missing"]}, is_zero]}
    rules["$schema"] = {"type": "string"}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _not_null(field: dict[str, Any]) -> dict[str, Any]:
    """The schema of a field without null, which would be a forgotten limit."""
    kinds = [kind for kind in field.get("anyOf", ()) if kind != {"type": "null"}]
    rest = {
        key: value for key, value in field.items() if key != "anyOf" and (key, value) != ("default", None)
    }
    if not kinds:
        return rest
    return {**(kinds[0] if len(kinds) == 1 else {"anyOf": kinds}), **rest}


def _beside(policy: Path, rules: Rules) -> Rules:
    """The rules, with paths relative to the policy."""
    wanted = rules.agreement
    if wanted is None:
        return rules
    found = {
        name: str(policy.parent / given)
        for name, given in (("labels", wanted.labels), ("run", wanted.run))
        if given is not None and (name == "labels" or given.endswith((".json", ".jsonl")))
    }
    return msgspec.structs.replace(rules, agreement=msgspec.structs.replace(wanted, **found))


def _read(kind: type[_Part], data: Any, steps: Steps, problems: Problems) -> _Part | None:
    """A part of the policy, or `None` if something is wrong, which is added to the problems."""
    fields = {field.name: field.type for field in msgspec.structs.fields(kind)}
    if not isinstance(data, dict):
        problems.add(steps, f"expected a mapping with {', '.join(fields)}", data)
        return None
    before = len(problems.found)
    check_keys(data, tuple(fields), steps, problems)
    found: dict[str, Any] = {}
    for name, value in data.items():
        if name not in fields:
            continue
        here = (*steps, name)
        if name in _NAMED:
            found[name] = _read_named(_NAMED[name], value, here, problems)
        elif value is None:
            problems.add(
                here,
                "no value is given, and without a limit everything would pass: set one, or remove the key",
                value,
            )
        elif name in _PARTS:
            found[name] = _read(_PARTS[name], value, here, problems)
        elif (wrong := wrong_with(value, fields[name])) is not None:
            problems.add(here, wrong, value)
        else:
            found[name] = msgspec.convert(value, fields[name])
    if len(problems.found) > before:
        return None
    try:
        return kind(**found)
    except InvalidOptionError as error:
        problems.add(steps, str(error))
        return None


def _read_named(kind: type[_Part], data: Any, steps: Steps, problems: Problems) -> dict[str, _Part | None]:
    if not isinstance(data, dict):
        problems.add(steps, "expected a mapping of names", data)
        return {}
    found: dict[str, _Part | None] = {}
    for name, value in data.items():
        if not isinstance(name, str) or not name:
            problems.add((*steps, name), "expected a name, as text", of_key=True)
            continue
        found[name] = _read(kind, {} if value is None else value, (*steps, name), problems)
    return found
