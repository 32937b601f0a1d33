"""A trajectory written as plain data, the way dataset files hold it.

```yaml
steps:
  - search                                  # any arguments
  - book: {to: LA}                          # with these arguments
  - either: [waitlist, [refund, apologise]] # a list is in order
  - any_order: [log, notify]
  - optional: thank
  - repeated: {step: poll, at_least: 1, at_most: 5}
  - name: pay                               # in full, with matchers
    arguments: {currency: EUR}
    matchers: {amount: {approx: {value: 9.99, abs_tol: 0.01}}}
never: [delete_account]
before: [[search, book]]
at_most: {search: 3}                        # also at_least, exactly
flows: [{from: search, into: book, argument: flight_id}]
extra: allowed                              # or forbidden
arguments: subset                           # how arguments are compared; also exact, superset, ignore
```

A tool whose name is one of these words is written in full. Matchers are those of `matcher_data`.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from calipers.data.argument_checks import check_list, did_you_mean
from calipers.data.trace import ToolCall
from calipers.errors import InvalidOptionError

from .call import CallRules
from .constraints import AtLeast, AtMost, Before, Constraint, Exactly, Flow, Never
from .matcher_data import read_call
from .trajectory import AnyOrder, Either, InOrder, Optionally, Repeated, Trajectory

KEYS: Final = (
    "steps",
    "never",
    "before",
    "at_most",
    "at_least",
    "exactly",
    "flows",
    "extra",
    "arguments",
    "ignore",
    "defaults",
    "names",
    "failed",
    "retried",
)
"""What a mapping that describes a trajectory may hold."""
_GROUPS: dict[str, Callable[..., Any]] = {"in_order": InOrder, "any_order": AnyOrder, "either": Either}
_WORDS = (*_GROUPS, "optional", "repeated")
_COUNTS: dict[str, Callable[[Any, int], Constraint]] = {
    "at_most": AtMost,
    "at_least": AtLeast,
    "exactly": Exactly,
}


def read_trajectory(data: Any) -> Trajectory:
    """The trajectory that plain data describes.

    Raises:
        InvalidOptionError: the data describes none; the message says what is wrong with it.
    """
    if isinstance(data, list | tuple):
        data = {"steps": data}
    if not isinstance(data, Mapping):
        raise InvalidOptionError(
            f"a trajectory is a mapping with {', '.join(KEYS)}, or a list of steps, got {data!r:.200}"
        )
    for key in data:
        if key not in KEYS:
            hint = did_you_mean(key, KEYS) or f"; it has {', '.join(KEYS)}"
            raise InvalidOptionError(f"a trajectory has no {key!r}{hint}")
    rules = {"arguments": data.get("arguments", "subset")}
    rules |= {key: data[key] for key in ("ignore", "defaults", "names") if key in data}
    options = {key: data[key] for key in ("extra", "failed", "retried") if key in data}
    return Trajectory(
        [_part(each) for each in check_list("steps", data.get("steps", ()))],
        constraints=list(_constraints(data)),
        rules=CallRules(**rules),
        **options,
    )


def _part(data: Any) -> Any:
    """One step or group."""
    if isinstance(data, str):
        return data
    if isinstance(data, list | tuple):
        return InOrder(*map(_part, data))
    if isinstance(data, Mapping) and "name" in data:
        return read_call(data)
    if not isinstance(data, Mapping) or len(data) != 1:
        raise InvalidOptionError(
            f"a step is the name of a tool, {{tool: {{argument: value}}}}, a mapping with name, arguments and matchers, "
            f"a list of steps in order, or one of {', '.join(_WORDS)} with what belongs to it, got {data!r:.200}"
        )
    ((word, inside),) = data.items()
    if word in _GROUPS:
        return _GROUPS[word](*map(_part, check_list(word, inside)))
    if word == "optional":
        return Optionally(_part(inside))
    if word == "repeated":
        options = dict(_mapping(inside, "repeated"))
        if "step" not in options or options.keys() - {"step", "at_least", "at_most"}:
            raise InvalidOptionError(
                f"repeated has a step, and may have at_least and at_most, got {inside!r:.200}"
            )
        return Repeated(_part(options.pop("step")), **options)
    if not isinstance(inside, Mapping):
        raise InvalidOptionError(
            f"{word!r}{did_you_mean(word, _WORDS)} is followed by {inside!r:.200}: a tool is followed by its arguments, a mapping"
        )
    return ToolCall(word, inside)


def _constraints(data: Mapping[str, Any]) -> list[Constraint]:
    found: list[Constraint] = [Never(_call(each)) for each in check_list("never", data.get("never", ()))]
    for pair in check_list("before", data.get("before", ())):
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise InvalidOptionError(f"before is a list of pairs [first, then], got {pair!r:.200}")
        found.append(Before(_call(pair[0]), _call(pair[1])))
    for word, make in _COUNTS.items():
        found += [make(tool, times) for tool, times in _mapping(data.get(word, {}), word).items()]
    for flow in check_list("flows", data.get("flows", ())):
        if not isinstance(flow, Mapping) or flow.keys() != {"from", "into", "argument"}:
            raise InvalidOptionError(f"a flow has from, into and argument, got {flow!r:.200}")
        found.append(Flow(_call(flow["from"]), _call(flow["into"]), flow["argument"]))
    return found


def _call(data: Any) -> Any:
    """A single call: a name, or a name with arguments."""
    part = _part(data)
    if not isinstance(part, str | ToolCall):
        raise InvalidOptionError(f"a constraint speaks of a single call, got {data!r:.200}")
    return part


def _mapping(data: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(data, Mapping) or not all(isinstance(key, str) for key in data):
        raise InvalidOptionError(f"{what} must be a mapping with texts as keys, got {data!r:.200}")
    return data
