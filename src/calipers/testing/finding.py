"""What a conformance check found: one way in which an object breaks the contract, and what to do about it."""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from calipers.errors import CalipersError

Rule: TypeAlias = Literal[
    "style",
    "name",
    "spec",
    "version",
    "repr",
    "raises",
    "exit",
    "output",
    "verdict",
    "kind",
    "time",
    "changes",
    "unstable",
    "idle",
    "aggregate",
]
"""What a finding is about."""

WAY_OUT: dict[Rule, str] = {
    "style": "give it one of the five shapes",
    "name": "return the same non-empty string from get_default_evaluation_name at every call",
    "spec": "let as_spec return a name and plain data; a dataclass whose fields are text, numbers, lists and dicts does",
    "version": "return the same string, or None, from get_evaluator_version at every call",
    "repr": "a repr shows the evaluator in reports and errors: it must not raise",
    "raises": "on a context that it is meant for, return a judgement, or Skipped(reason) where it does not apply",
    "exit": "raise an ordinary Exception, which is recorded, instead of what ends the run",
    "output": "return a judgement on everything it may be shown, or Skipped(reason) where there is nothing to judge",
    "verdict": "give a score that agrees with the verdict: above 0 for PASS, below 1 for FAIL",
    "kind": "return the same type everywhere; `output and ...` gives the output itself where it is empty: use bool(...)",
    "time": "bound the work by the size of the input, and give external calls a timeout; "
    "or allow more with check_evaluator(..., timeout=...)",
    "changes": "work on a copy: the evaluators that follow and the report read the same objects",
    "unstable": "keep no state between calls and draw at random from ctx.seed; "
    "for a judge that cannot be repeated, such as a model, pass deterministic=False",
    "idle": "pass contexts=[make_context(...)] that it applies to",
    "aggregate": "let compute_metrics return an object with per_turn and overall; aggregate_metrics gets a list of them",
}
"""What to do about a finding."""

PluginRule: TypeAlias = Literal["load", "make", "shared", "evaluator", "view", "hook"]
"""What a finding about a plugin is about."""

PLUGIN_WAY_OUT: dict[PluginRule, str] = {
    "load": "a plugin is a class that is made without arguments, and says the same of itself each time",
    "make": "return what the method is named for: it gets no arguments, so those it has need defaults",
    "shared": "make a new object at each call",
    "evaluator": "check_evaluator(...) says what to do about it",
    "view": "make text or bytes of every report, also of one that has no attempts and so no rates",
    "hook": "catch what may go wrong in a hook: a run goes on without it, but somebody may rely on it",
}
"""What to do about a finding about a plugin."""


AdapterRule: TypeAlias = Literal["adapter name", "invoke", "request", "own trace"]
"""What a finding about an adapter is about."""

ADAPTER_WAY_OUT: dict[AdapterRule, str] = {
    "adapter name": "give it an attribute or property `name`, a text that stays the same: reports show it",
    "invoke": "take a request as the one argument and return a Trace, or be async; raise where the agent gives no answer",
    "request": "put the request into input_text, and keep what belongs to one request out of the adapter itself",
    "own trace": "make a new Trace, or a new TraceRecorder block, for each execution",
}
"""What to do about a finding about an adapter."""


StoreRule: TypeAlias = Literal[
    "runs",
    "whole",
    "once",
    "atomic",
    "columns",
    "superseded",
    "pages",
    "find",
    "large values",
    "counts",
    "threads",
]
"""What a finding about a store is about."""

STORE_WAY_OUT: dict[StoreRule, str] = {
    "runs": "a run is found by its id, the beginning of its id, its name, or as the latest; newest first",
    "whole": "give back what was appended, attempt by attempt, with every cell",
    "once": "an attempt that is appended again replaces the one at its position, with its cells",
    "atomic": "append all of a batch or, where it raises a StoreError, nothing of it",
    "columns": "cells of stored attempts replace those of the same evaluator, and no others",
    "superseded": "leave the cells of evaluators out that are superseded, and keep them: an evaluator may come back",
    "pages": "read in the order of positions, whatever the order in which attempts came",
    "find": "take the newest attempt of a key, and cells that were said of that very output",
    "large values": "keep what a run still uses, however many runs shared it",
    "counts": "keep totals with the run until something is appended, and then count anew",
    "threads": "let any thread call any method: one lock per connection does",
}
"""What to do about a finding about a store."""


PlayerRule: TypeAlias = Literal["player shape", "answer", "player state"]
"""What a finding about a player of rollouts is about."""

PLAYER_WAY_OUT: dict[PlayerRule, str] = {
    "player shape": "as_target, as_tester and as_moderator say which shapes there are",
    "answer": "give what is due on whatever it may be shown: a text, an Attack or None, scores from 0 to 1",
    "player state": "keep nothing of a conversation, change nothing that is given, and draw from SoFar.random or rng alone; "
    "for what cannot be repeated, such as a model, pass deterministic=False",
}
"""What to do about a finding about a player."""


class Finding(msgspec.Struct, frozen=True):
    """One way in which an evaluator, a plugin, an adapter, a store or a player breaks the contract."""

    rule: Rule | PluginRule | AdapterRule | StoreRule | PlayerRule
    problem: str
    """What happened."""
    where: tuple[str, ...] = ()
    """The contexts it happened on."""

    def __str__(self) -> str:
        shown = ", ".join(self.where[:5]) + (
            f" and {len(self.where) - 5} more" if len(self.where) > 5 else ""
        )
        on = f" (on {shown})" if shown else ""
        ways_out: dict[Any, str] = {
            **WAY_OUT,
            **PLUGIN_WAY_OUT,
            **ADAPTER_WAY_OUT,
            **STORE_WAY_OUT,
            **PLAYER_WAY_OUT,
        }
        return f"{self.rule}: {self.problem}{on}\n    {ways_out[self.rule]}"


class ConformanceError(CalipersError, AssertionError):
    """An evaluator, a plugin, an adapter, a store or a player breaks the contract; `findings` lists every way it does."""

    def __init__(self, name: str, findings: Sequence[Finding], what: str = "an evaluator") -> None:
        self.findings = tuple(findings)
        lines = "\n".join(f"- {finding}" for finding in findings)
        super().__init__(f"{name} breaks the contract of {what}:\n{lines}")
