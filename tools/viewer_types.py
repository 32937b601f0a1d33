"""Write the TypeScript types of the viewer's page, from the structs of `calipers.viewer.wire`.

`--check` writes nothing and fails if the file is not what it would write.
"""

import sys
from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect

from calipers.viewer.wire import ANSWERS

TYPES = Path(__file__).parent.parent / "web" / "src" / "wire.ts"
HEAD = (
    "// Made of src/calipers/viewer/wire.py by tools/viewer_types.py: change that one, and run `make web`.\n"
)


def main() -> None:
    """Write or check the file."""
    wanted = typescript()
    if "--check" in sys.argv[1:]:
        if not TYPES.exists() or TYPES.read_text(encoding="utf-8") != wanted:
            sys.exit(f"{TYPES} is not up to date: run `make web`")
        return
    TYPES.write_text(wanted, encoding="utf-8")


def typescript() -> str:
    """All types, in the order in which they are first used."""
    found: dict[str, str] = {}
    for answer in ANSWERS:
        _named(inspect.type_info(answer), found)
    return HEAD + "\n" + "\n".join(found.values())


def _named(info: inspect.Type, found: dict[str, str]) -> str:
    """How a type is written, with the definitions it takes."""
    match info:
        case inspect.StructType():
            name = info.cls.__name__
            if name not in found:
                found[name] = ""
                fields = [_field(info, field, found) for field in info.fields]
                if info.tag_field is not None:
                    fields.insert(0, f"  {info.tag_field}: {_literal(info.tag)};\n")
                del found[name]
                found[name] = f"export interface {name} {{\n{''.join(fields)}}}\n"
            return name
        case inspect.UnionType():
            return " | ".join(dict.fromkeys(_named(each, found) for each in info.types))
        case inspect.LiteralType():
            return " | ".join(_literal(value) for value in sorted(info.values))
        case inspect.ListType() | inspect.VarTupleType() | inspect.SetType() | inspect.FrozenSetType():
            inner = _named(info.item_type, found)
            return f"({inner})[]" if "|" in inner else f"{inner}[]"
        case inspect.TupleType():
            return f"[{', '.join(_named(each, found) for each in info.item_types)}]"
        case inspect.DictType():
            key = "number" if isinstance(info.key_type, inspect.IntType) else "string"
            return f"Record<{key}, {_named(info.value_type, found)}>"
        case inspect.EnumType():
            return " | ".join(_literal(member.value) for member in info.cls)
    return _PLAIN.get(type(info), "unknown")


_PLAIN: dict[type, str] = {
    inspect.StrType: "string",
    inspect.IntType: "number",
    inspect.FloatType: "number",
    inspect.BoolType: "boolean",
    inspect.NoneType: "null",
    inspect.DateTimeType: "string",
}


def _field(of: inspect.StructType, field: inspect.Field, found: dict[str, str]) -> str:
    optional = "?" if of.cls.__struct_config__.omit_defaults and not field.required else ""
    return f"  {field.encode_name}{optional}: {_named(field.type, found)};\n"


def _literal(value: Any) -> str:
    return msgspec.json.encode(value).decode()


if __name__ == "__main__":
    main()
