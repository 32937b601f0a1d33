"""One case as plain data: read with all that is wrong, and written without defaults.

A case needs `inputs`, or the `turns` of a scripted user. An `expected_output` of null is an expectation; for all other keys null
is the same as leaving them out. An unknown key is a problem: it may be misspelt.
"""

from typing import Any

from calipers.data.argument_checks import did_you_mean
from calipers.data.case import Case, is_timeout
from calipers.data.trace import ToolCall
from calipers.data.user_turn import UserTurn
from calipers.errors import InvalidOptionError, InvalidTraceError

from .catalog import Catalog, write_evaluator
from .problem import Problems, Steps, shorten
from .value_type import CaseTypes, ValueType, check_plain, same

KEYS = (
    *("name", "inputs", "expected_output", "expected_tool_calls", "metadata", "evaluators"),
    *("cluster", "tags", "timeout", "turns"),
)
"""What a case may say."""
TURN_KEYS = ("user", "expected_output", "evaluators")
"""What a turn may say."""


class CaseReader:
    """Makes validated cases of plain data."""

    def __init__(self, types: CaseTypes, catalog: Catalog) -> None:
        self.types = types
        self.catalog = catalog

    def read(self, data: Any, steps: Steps, problems: Problems) -> Case[Any, Any, Any] | None:
        """The case, or `None` if something is wrong, which is added to the problems."""
        if not isinstance(data, dict):
            problems.add(steps, f"expected a case, with {', '.join(KEYS)}", data)
            return None
        before = len(problems.found)
        check_keys(data, KEYS, steps, problems)
        for key in ("name", "cluster"):
            value = data.get(key)
            if value is not None and not isinstance(value, str):
                problems.add((*steps, key), "expected text", value)
        if data.get("name") == "":
            problems.add((*steps, "name"), "a name cannot be empty: leave it out")
        fields: dict[str, Any] = {key: data.get(key) for key in ("name", "cluster", "timeout")}
        if fields["timeout"] is not None and not is_timeout(fields["timeout"]):
            problems.add((*steps, "timeout"), "expected a positive number of seconds", fields["timeout"])
        if "tags" in data:
            fields["tags"] = data["tags"]
            if not isinstance(data["tags"], list) or not all(isinstance(tag, str) for tag in data["tags"]):
                problems.add((*steps, "tags"), "expected a list of texts", data["tags"])
        if "turns" in data:
            fields["turns"] = self._read_turns(data, steps, problems)
        elif "inputs" in data:
            fields["inputs"] = self.types.inputs.read(data["inputs"], (*steps, "inputs"), problems)
        else:
            problems.add(steps, "the case has no inputs", data)
        for key, kind in (("expected_output", self.types.output), ("metadata", self.types.metadata)):
            if key in data:
                value = data[key]
                fields[key] = None if value is None else kind.read(value, (*steps, key), problems)
        if data.get("expected_tool_calls") is not None:
            fields["expected_tool_calls"] = read_calls(
                data["expected_tool_calls"], (*steps, "expected_tool_calls"), problems
            )
        if "evaluators" in data:
            fields["evaluators"] = self.read_evaluators(data["evaluators"], (*steps, "evaluators"), problems)
        return Case(**fields) if len(problems.found) == before else None

    def _read_turns(self, data: dict[str, Any], steps: Steps, problems: Problems) -> list[Any]:
        """The turns of a scripted user."""
        for key in ("inputs", "expected_output"):
            if key in data:
                message = "a case with turns has none: the turns say it"
                problems.add((*steps, key), message, data[key])
        turns = data["turns"]
        if not isinstance(turns, list) or not turns:
            problems.add((*steps, "turns"), "expected a list of turns, at least one", turns)
            return []
        return [self._read_turn(turn, (*steps, "turns", place), problems) for place, turn in enumerate(turns)]

    def _read_turn(self, turn: Any, steps: Steps, problems: Problems) -> Any:
        """One turn: what the user says, alone or with expectations of the answer."""
        before = len(problems.found)
        data = {"user": turn} if isinstance(turn, str) else turn
        if not isinstance(data, dict):
            problems.add(steps, f"expected what the user says, or {', '.join(TURN_KEYS)}", turn)
            return None
        check_keys(data, TURN_KEYS, steps, problems)
        user = data.get("user")
        if not isinstance(user, str) or not user.strip():
            problems.add((*steps, "user"), "expected what the user says", user)
            return None
        given: dict[str, Any] = {}
        if "expected_output" in data:
            value, place = data["expected_output"], (*steps, "expected_output")
            given["expected_output"] = (
                None if value is None else self.types.output.read(value, place, problems)
            )
        if "evaluators" in data:
            given["evaluators"] = self.read_evaluators(data["evaluators"], (*steps, "evaluators"), problems)
        return UserTurn(user, **given) if len(problems.found) == before else None

    def read_evaluators(
        self, specs: Any, steps: Steps, problems: Problems, *, of_report: bool = False
    ) -> list[Any]:
        """The evaluators that a list describes."""
        if not isinstance(specs, list):
            problems.add(steps, "expected a list of evaluators", specs)
            return []
        return [
            self.catalog.build(spec, (*steps, index), problems, of_report=of_report)
            for index, spec in enumerate(specs)
        ]


def read_calls(data: Any, steps: Steps, problems: Problems) -> list[ToolCall]:
    """The expected tool calls of a list."""
    if not isinstance(data, list):
        problems.add(steps, "expected a list of tool calls; an empty list expects none", data)
        return []
    from calipers.matching.matcher_data import read_call

    found: list[ToolCall] = []
    for index, call in enumerate(data):
        try:
            found.append(call if isinstance(call, ToolCall) else read_call(call))
        except (InvalidTraceError, InvalidOptionError) as error:
            problems.add((*steps, index), str(error))
    return found


def written_calls(case: Any, steps: Steps, problems: Problems) -> list[Any]:
    """The expected tool calls of a case as plain data; what has no plain form is added to the problems."""
    from calipers.matching.matcher_data import calls_data

    try:
        return calls_data(case.expected_tool_calls)
    except InvalidOptionError as error:
        problems.add((*steps, "expected_tool_calls"), str(error))
        return []


def name_in(data: Any) -> str | None:
    """The name in the data of a case, whatever else is wrong with it."""
    name = data.get("name") if isinstance(data, dict) else None
    return name if isinstance(name, str) and name else None


def check_keys(data: dict[Any, Any], known: tuple[str, ...], steps: Steps, problems: Problems) -> None:
    """Add unknown keys to the problems."""
    for key in data:
        if key not in known:
            hint = did_you_mean(str(key), known) or f"; known are {', '.join(known)}"
            problems.add((*steps, key), f"unknown key {shorten(key)}{hint}", of_key=True)


def write_case(
    case: Any, types: CaseTypes, steps: Steps, problems: Problems, *, as_yaml: bool = False
) -> dict[str, Any]:
    """The case as data that is read back as the same case; what is not is added to the problems."""
    if not isinstance(case, Case):
        problems.add(steps, str(case) if isinstance(case, Exception) else f"{shorten(case)} is not a Case")
        return {}
    data: dict[str, Any] = {} if case.name is None else {"name": case.name}

    def write(key: str, value: Any, kind: ValueType) -> None:
        data[key] = None if value is None and key != "inputs" else kind.dump(value)
        write_value(data[key], value, kind, (*steps, key), problems, as_yaml=as_yaml)

    if case.turns:
        data["turns"] = [
            _write_turn(turn, types, (*steps, "turns", place), problems, as_yaml=as_yaml)
            for place, turn in enumerate(case.turns)
        ]
    else:
        write("inputs", case.inputs, types.inputs)
    if case.has_expected_output:
        write("expected_output", case.expected_output, types.output)
    if case.expected_tool_calls is not None:
        data["expected_tool_calls"] = written_calls(case, steps, problems)
        check_plain(data["expected_tool_calls"], (*steps, "expected_tool_calls"), problems, as_yaml=as_yaml)
    if case.metadata is not None:
        write("metadata", case.metadata, types.metadata)
    if case.evaluators:
        data["evaluators"] = [
            write_evaluator(evaluator, (*steps, "evaluators", index), problems, as_yaml=as_yaml)
            for index, evaluator in enumerate(case.evaluators)
        ]
    if case.cluster is not None:
        data["cluster"] = case.cluster
    if case.tags:
        data["tags"] = list(case.tags)
    if case.timeout is not None:
        data["timeout"] = case.timeout
    for key in ("name", "cluster", "tags", "timeout"):
        check_plain(data.get(key), (*steps, key), problems)
    return data


def _write_turn(
    turn: UserTurn, types: CaseTypes, steps: Steps, problems: Problems, *, as_yaml: bool
) -> str | dict[str, Any]:
    """A turn as data that is read back as the same turn."""
    check_plain(turn.user, (*steps, "user"), problems, as_yaml=as_yaml)
    data: dict[str, Any] = {"user": turn.user}
    if turn.has_expected_output:
        expected, place = turn.expected_output, (*steps, "expected_output")
        data["expected_output"] = None if expected is None else types.output.dump(expected)
        write_value(data["expected_output"], expected, types.output, place, problems, as_yaml=as_yaml)
    if turn.evaluators:
        data["evaluators"] = [
            write_evaluator(each, (*steps, "evaluators", index), problems, as_yaml=as_yaml)
            for index, each in enumerate(turn.evaluators)
        ]
    return data if len(data) > 1 else turn.user


def write_value(
    written: Any, value: Any, kind: ValueType, steps: Steps, problems: Problems, *, as_yaml: bool
) -> None:
    """Add to the problems what keeps written data from being read back as the value."""
    before = len(problems.found)
    check_plain(written, steps, problems, as_yaml=as_yaml)
    if kind.is_any or written is None or len(problems.found) > before:
        return
    again = kind.read(written, steps, problems)
    if len(problems.found) == before and not same(again, value, widen=True):
        problems.add(steps, f"written as {shorten(written)} it would come back as {shorten(again)}", value)
