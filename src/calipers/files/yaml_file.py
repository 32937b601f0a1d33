"""YAML text as data, with the place of everything in it.

Scalars mean what YAML 1.2 says, with one exception that keeps data safe:

- `true` and `false` are booleans; `yes`, `no`, `on` and `off` are text;
- dates and times are text, and so are `1_000` and `1:30`;
- `null`, `~` and nothing at all are null; `.nan` and `.inf` are floats;
- a number that begins with a zero, such as the postal code `01234`, is text: YAML 1.1 and 1.2 disagree on its value.

A key that stands twice in one mapping is a problem, and so is every tag but those of plain data. Anchors, aliases and
merge keys (`<<`) work; each use of an alias is a copy, and there is a limit to what copies may add.

What is written here comes back as it was, and means the same in YAML 1.1 and 1.2.
"""

import json
import math
import re
from typing import Any

import yaml
from yaml.composer import ComposerError
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from .problem import ABSENT, Problems, Steps

DEEPEST = 200
"""The deepest nesting; more would exhaust the stack."""
MOST_COPIED = 100_000
"""The most values that aliases may add to a document."""

_TAG = "tag:yaml.org,2002:"
_BASE: Any = getattr(
    yaml, "CSafeLoader", yaml.SafeLoader
)  # ten times as fast, where PyYAML was built with it
_WORDS = {"null": None, "~": None, "": None, "true": True, "false": False}
_INTEGER_BASES = {"0o": 8, "0x": 16}


class _Loader(_BASE):  # type: ignore[misc]
    """Composes nodes whose tags follow the rules above."""

    yaml_implicit_resolvers: dict[str | None, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - PyYAML's design
    depth = 0

    def descend_resolver(self, node: Any, index: Any) -> None:  # noqa: ARG002
        """Called on the way into each node."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise ComposerError(None, None, f"nested more than {DEEPEST} levels deep", node.start_mark)

    def ascend_resolver(self) -> None:
        """Called on the way out."""
        self.depth -= 1


_FLOAT = (
    r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
for _kind, _pattern, _first in [
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?(?:0|[1-9][0-9]*)|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    ("float", _FLOAT, list("-+.0123456789")),
]:
    _Loader.add_implicit_resolver(_TAG + _kind, re.compile(rf"(?:{_pattern})\Z"), _first)


def parse_yaml(text: str, problems: Problems) -> Any:
    """The data, or `ABSENT` if the text is not YAML or not plain data; what is wrong is added to the problems.

    Of a repeated key, the last value is taken, so that other problems can be found too.
    """
    control = yaml.reader.Reader.NON_PRINTABLE.search(text)
    if control is not None:
        at = control.start()
        message = f"YAML does not allow the character {control[0]!r}: write it as an escape, in double quotes"
        problems.add_at(text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at), message)
        return ABSENT
    try:
        root = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        assert mark is not None
        is_tab = text[mark.index : mark.index + 1] == "\t"
        problems.add_at(mark.line + 1, mark.column + 1, _about_syntax(error, is_tab=is_tab))
        return ABSENT
    if root is None:
        problems.add_at(1, 1, "the file is empty")
        return ABSENT
    problems.locate = YAMLPlaces(root).locate
    construction = _Construction(problems)
    data = construction.read(root, ())
    return data if construction.is_complete else ABSENT


def _about_syntax(error: yaml.MarkedYAMLError, *, is_tab: bool) -> str:
    context = f" {error.context}" if error.context and error.context.startswith("while") else ""
    if error.problem == "but found another document":
        return "a second document begins here: a file holds one"
    hint = ": indent with spaces, not tabs" if is_tab else ""
    return f"not YAML: {error.problem}{context}{hint}"


class YAMLPlaces:
    """Finds where a value stands."""

    def __init__(self, root: Node) -> None:
        self._root = root
        self._members: dict[int, dict[Any, tuple[Node, Node]]] = {}

    def locate(self, steps: Steps, of_key: bool) -> tuple[int, int]:
        """Line and column of what stands at the end of the steps, or of the last step that is there."""
        node = key = self._root
        for step in steps:
            found = self._inside(node).get(step)
            if found is None:
                break
            key, node = found
        mark = (key if of_key else node).start_mark
        return mark.line + 1, mark.column + 1

    def _inside(self, node: Node) -> dict[Any, tuple[Node, Node]]:
        members = self._members.get(id(node))
        if members is None:
            self._members[id(node)] = {}  # for a mapping that merges itself
            members = self._members[id(node)] = self._read(node)
        return members

    def _read(self, node: Node) -> dict[Any, tuple[Node, Node]]:
        if isinstance(node, SequenceNode):
            return {index: (item, item) for index, item in enumerate(node.value)}
        found: dict[Any, tuple[Node, Node]] = {}
        if isinstance(node, MappingNode):
            for key, value in node.value:
                if _is_merge(key):
                    for other in _merged(value):
                        found = {**self._inside(other), **found}
            for key, value in node.value:
                try:
                    found[_scalar(key)] = (key, value)
                except ValueError:
                    continue  # no key that anyone could name
        return found


class _Construction:
    """Makes data of nodes, and notes what cannot be made."""

    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self._seen = set[int]()
        self._open = set[int]()
        self._copied = 0
        self.is_complete = True
        """Whether the data holds all that the nodes say, apart from repeated keys."""

    def read(self, node: Node, steps: Steps) -> Any:
        """The data of a node."""
        if id(node) in self._open:
            self._note(node, steps, "the value contains itself")
            return None
        if id(node) in self._seen:
            self._copied += 1
            if self._copied == MOST_COPIED + 1:
                self._note(node, steps, f"the aliases of the document add more than {MOST_COPIED} values")
            if self._copied > MOST_COPIED:
                return None
        self._seen.add(id(node))
        if isinstance(node, ScalarNode):
            return self._read_scalar(node, steps)
        if node.tag != _TAG + ("seq" if isinstance(node, SequenceNode) else "map"):
            self._note(node, steps, _about_tag(node))
            return None
        self._open.add(id(node))
        try:
            if isinstance(node, SequenceNode):
                return [self.read(item, (*steps, index)) for index, item in enumerate(node.value)]
            return self._read_mapping(node, steps)
        finally:
            self._open.discard(id(node))

    def _note(self, node: Node, steps: Steps, message: str) -> None:
        self.is_complete = False
        self._place(node, steps, message)

    def _place(self, node: Node, steps: Steps, message: str) -> None:
        self._problems.add_at(node.start_mark.line + 1, node.start_mark.column + 1, message, steps)

    def _read_scalar(self, node: Node, steps: Steps) -> Any:
        try:
            return _scalar(node)
        except ValueError as error:
            self._note(node, steps, str(error))
            return None

    def _read_mapping(self, node: Node, steps: Steps) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        merged: list[Node] = []
        for key_node, value_node in node.value:
            if _is_merge(key_node):
                merged += _merged(value_node)
                continue
            try:
                key = _scalar(key_node)
            except ValueError as error:
                self._note(key_node, steps, str(error))
                continue
            if key in found:
                self._place(key_node, (*steps, key), "the key is there twice")
            found[key] = self.read(value_node, (*steps, key))
        for other in merged:
            if not isinstance(other, MappingNode):
                self._note(other, steps, "a merge key needs a mapping, or a list of mappings")
                continue
            for key, value in (self.read(other, steps) or {}).items():
                found.setdefault(key, value)
        return found


def _is_merge(key: Node) -> bool:
    return isinstance(key, ScalarNode) and key.value == "<<" and not key.style


def _merged(value: Node) -> list[Node]:
    return value.value if isinstance(value, SequenceNode) else [value]


def _scalar(node: Node) -> Any:
    """The value of a scalar node.

    Raises:
        ValueError: it is not a scalar, its tag is not one of plain data, or its text does not fit the tag.
    """
    if not isinstance(node, ScalarNode):
        raise ValueError("a key must be text or a number, not a collection")  # noqa: TRY004
    text: str = node.value
    kind = node.tag.removeprefix(_TAG)
    if kind == "str":
        return text
    if kind in {"null", "bool"} and text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if kind == "int":
        return int(text, _INTEGER_BASES.get(text[:2], 10))
    if kind == "float":
        plain = text.lower().lstrip("+-")
        number = float(
            text.lower().replace(plain, plain.removeprefix(".")) if plain in {".inf", ".nan"} else text
        )
        if math.isinf(number) and plain != ".inf":
            raise ValueError(f"{text} is too large for a float: write .inf for infinity")
        return number
    if kind in {"null", "bool"}:
        raise ValueError(f"the text {text!r} does not fit its tag !!{kind}")
    raise ValueError(_about_tag(node))


def _about_tag(node: Node) -> str:
    shown = node.tag.replace(_TAG, "!!")
    return f"the tag {shown} is not for plain data: use !!str, !!int, !!float, !!bool, !!null, !!map or !!seq"


# ---------------------------------------------------------------------- writing


_NEVER_PLAIN = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}
"""Words that are not text in some version of YAML."""
_SPECIAL = re.compile(
    "[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
"""What must be escaped: control characters, and those that YAML takes for line breaks or marks of byte order."""
_LONGEST_KEY = 500
"""YAML looks for the colon of a key only within 1,024 bytes."""


def dump_yaml(data: Any) -> str:
    """Plain data as a YAML document, made for reading: block style, text of several lines as it is, quotes only where needed."""
    lines: list[str] = []
    _write(data, "", "", lines)
    return "\n".join(lines) + "\n"


def _write(value: Any, lead: str, indent: str, lines: list[str]) -> None:
    """Add the lines of a value. The first begins with `lead`, such as a key; the others are indented."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            shown = _scalar_text(key)
            if len(shown) > _LONGEST_KEY:
                lines.append(f"{lead or indent}? {shown}")
                shown = ""
                lead = ""
            _write_member(item, f"{lead or indent}{shown}:", indent, lines)
            lead = ""
    elif isinstance(value, list) and value:
        for item in value:
            _write(item, f"{lead or indent}- ", indent + "  ", lines)
            lead = ""
    else:
        lines.append(lead + _inline(value, indent))


def _write_member(value: Any, lead: str, indent: str, lines: list[str]) -> None:
    """Add the lines of a value that follows a key."""
    deeper = indent + "  "
    if isinstance(value, dict | list) and value:
        lines.append(lead)
        _write(value, "", deeper, lines)
    else:
        lines.append(f"{lead} {_inline(value, deeper)}")


def _inline(value: Any, indent: str) -> str:
    """A value that begins on the same line: a scalar, an empty collection, or a block of text."""
    if isinstance(value, dict):
        return "{}"
    if isinstance(value, list):
        return "[]"
    if isinstance(value, str) and "\n" in value and not value[0].isspace() and not _SPECIAL.search(value):
        body = value.rstrip("\n")
        trailing = len(value) - len(body)
        keep = "-" if trailing == 0 else "" if trailing == 1 else "+"
        rows = [indent + row if row else "" for row in body.split("\n")] + [""] * (trailing - 1)
        return "\n".join([f"|{keep}", *rows])
    return _scalar_text(value)


def _scalar_text(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value if _is_plain(value) else _quote(value)
    if isinstance(value, float):
        if math.isnan(value):
            return ".nan"
        if math.isinf(value):
            return ".inf" if value > 0 else "-.inf"
        text = repr(value)
        return text if "." in text or "e" not in text else text.replace("e", ".0e")
    return str(value)


def _is_plain(text: str) -> bool:
    """Whether text can stand without quotes. What begins with a letter is not a number or a date."""
    return (
        text[:1].isalpha()
        and text[0].isascii()
        and text[-1] not in ": "
        and ": " not in text
        and " #" not in text
        and text.lower() not in _NEVER_PLAIN
        and "\n" not in text
        and "\t" not in text
        and not _SPECIAL.search(text)
    )


def _quote(text: str) -> str:
    return _SPECIAL.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))
