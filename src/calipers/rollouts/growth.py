"""One rollout as it grows, level by level: the first turns, the turns after them, and so on.

The turns of one level are under way at the same time. When all are there, their texts go to the moderator in one call, and the
next level begins. So a rollout follows from its seed and its players, not from which branch was faster, and a budget of calls
is shared out in the order of the branches.

`Bill` adds up what a rollout costs. A player is *priced* if it says so (an attribute `priced`, as a `ChatTarget` with
prices has it), or once it has reported a cost. Any other player costs nothing. If a priced player does not report the cost
of a move, the cost of that turn and of the rollout is unknown: `None`. A part of a cost is not shown as the whole.

Costs that belong to no turn are kept in `Graph.metadata["cost"]`: the call by which a language model ended the
conversation, an attack that the target failed to answer.
"""

import asyncio
import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Literal, TypeAlias

from calipers.agents.call_evidence import tools_reached
from calipers.agents.recording import Recording
from calipers.data.result import describe_error
from calipers.data.trace import Trace
from calipers.errors import AgentTimeoutError, RolloutError

from .conversation import with_recorded
from .graph import Graph, Node
from .moderators.moderator import scores_of
from .players import (
    Attack,
    Message,
    SoFar,
    Target,
    Tester,
    TurnOutcome,
    ask,
    is_blocking,
    is_priced,
    player_name,
    turn_seeded,
)
from .stop_conditions import OnSuccess, StopCondition, after_turns, ends_on_success
from .targets import read_reply
from .testers import read_attack
from .turn_success import reward_of, turn_succeeded


@dataclass
class Bill:
    """The costs of one rollout under way."""

    tester: Any
    target: Any
    total: float | None = None
    """What was spent; `None`: no player reported a cost, or one with a price did not."""
    beside: float | None = None
    """What belongs to no turn; `None`: nothing does, or it is not known."""
    _turns: list[tuple[Node[Any, Any], float | None, float | None]] = field(default_factory=list)
    _others: list[float | None] = field(default_factory=list)
    _settled: int = 0
    """How many of the turns have their cost."""
    _known: list[float] = field(default_factory=list)
    _priced: tuple[bool, bool] = (False, False)

    def __post_init__(self) -> None:
        self._priced = (is_priced(self.tester), is_priced(self.target))

    def add_turn(self, node: Node[Any, Any], attack_cost: float | None, reply_cost: float | None) -> None:
        """A turn, with what each player told of it."""
        self._turns.append((node, attack_cost, reply_cost))
        self._tell(tester=attack_cost is not None, target=reply_cost is not None)

    def add_move(self, cost: float | None) -> None:
        """A move of the tester that led to no turn."""
        self._others.append(cost)
        self._tell(tester=cost is not None, target=False)

    def settle(self) -> None:
        """Give every turn its cost, and add them up."""
        for node, attack_cost, reply_cost in self._turns[self._settled :]:
            node.cost = self._sum(attack_cost, reply_cost)
            if node.cost is not None:
                self._known.append(node.cost)
        self._settled = len(self._turns)
        by_tester, _ = self._priced
        told = [cost for cost in self._others if cost is not None]
        self.beside = sum(told) if told and len(told) == len(self._others) else None
        complete = len(self._known) == len(self._turns) and not (by_tester and len(told) < len(self._others))
        self.total = sum(self._known) + sum(told) if complete and (self._known or told) else None

    @property
    def has_beside(self) -> bool:
        """Whether something that was paid for belongs to no turn."""
        return bool(self._others) and self._priced[0]

    def _tell(self, *, tester: bool, target: bool) -> None:
        priced = (self._priced[0] or tester, self._priced[1] or target)
        if priced != self._priced:
            # Those turns of which it did not tell are not known, the earlier ones too.
            self._priced, self._settled, self._known = priced, 0, []

    def _sum(self, *costs: float | None) -> float | None:
        known = [cost for cost in costs if cost is not None]
        untold = any(cost is None and priced for cost, priced in zip(costs, self._priced, strict=True))
        return sum(known) if known and not untold else None


_ENDED = "the tester had nothing left to say"


@dataclass(frozen=True)
class Rules:
    """What holds for every rollout of an environment."""

    target: Target
    tester: Tester
    moderator: Any
    """`None`: texts are not scored."""
    stop: StopCondition
    success: Any
    reward: Any
    system_prompt: str | None
    opening: str
    depth: int
    reply_timeout: float | None
    on_error: Literal["raise", "keep"]
    context_chars: int


@dataclass(frozen=True)
class _Branch:
    """One conversation under way."""

    place: bytes
    """What seeds are drawn from: it follows from the rollout's seed, and from which of its siblings each turn is."""
    turns: tuple[Node[Any, Any], ...] = ()
    said: tuple[Message, ...] = ()
    """What the target remembers of the turns: an attack and a response each."""


@dataclass(frozen=True)
class _Move:
    """A turn that may be made."""

    branch: _Branch
    so_far: SoFar
    place: bytes


@dataclass(frozen=True)
class _Made:
    """A turn that was made, and what the target remembers after it."""

    node: Node[str, str]
    said: tuple[Message, ...]
    attack_cost: float | None
    reply_cost: float | None
    recorded: Trace
    """What was recorded while the target answered."""


@dataclass(frozen=True)
class _Failure:
    """A turn that could not be finished."""

    who: str
    turn: int
    error: Exception
    attack: Attack | None = None
    """What the tester had said, where it was the target that failed."""
    recorded: Trace | None = None
    """What the target did until it failed, where something was recorded."""

    @property
    def where(self) -> str:
        """Who failed, and in which turn."""
        return f"turn {self.turn}: the {self.who} failed"

    def __str__(self) -> str:
        return f"{self.where}: {describe_error(self.error)[1]}"


_Outcome: TypeAlias = _Made | _Failure | Attack | None
"""What came of a move: an `Attack` that ends the conversation, or `None`, if the tester has nothing left to say."""


@dataclass
class Growth:
    """One rollout under way."""

    rules: Rules
    goal: str
    seed: int | str
    width: int
    graph: Graph[str, str]
    calls: int = 0
    reasons: list[str] = field(default_factory=list)
    """Why branches ended, in the order in which they did."""
    failures: list[_Failure] = field(default_factory=list)
    silent: list[tuple[Node[str, str], Trace]] = field(default_factory=list)
    """The turns in which nothing was recorded, with their empty traces."""
    has_recorded: bool = False
    """Whether a call was recorded in some turn: then a turn without one had none."""
    start: float = field(default_factory=perf_counter)
    bill: Bill = field(init=False)

    def __post_init__(self) -> None:
        self.bill = Bill(self.rules.tester, self.rules.target)

    async def finish(self) -> Graph[str, str]:
        """Grow until every branch has ended.

        Raises:
            RolloutError: a player failed, or not one turn was made; `graph` has the turns that were.
        """
        branches = [_Branch(first_place(self.seed))]
        while branches:
            try:
                moves = self._moves(branches)
            except Exception as error:
                raise self._broken(_Failure("stop condition", len(branches[0].turns) + 1, error)) from error
            made = await self._made(moves)
            branches = self._attached(branches, moves, made)
            for who, judge in (
                ("moderator", self._score),
                ("judge of success or reward", self._judge),
                ("tester, told of the turn,", self._tell),
            ):
                try:
                    await judge(branches)
                except Exception as error:
                    raise self._broken(_Failure(who, len(branches[0].turns), error)) from error
            if self.failures and self.rules.on_error == "raise":
                raise self._broken(self.failures[0]) from self.failures[0].error
        self.graph.stopped = "; ".join(dict.fromkeys(self.reasons))
        if not self.graph.children:
            if self.failures:
                raise self._broken(self.failures[0]) from self.failures[0].error
            raise RolloutError(
                f"the rollout ended before its first turn: {self.graph.stopped}", graph=self.graph
            )
        return self.graph

    def _moves(self, branches: Sequence[_Branch]) -> list[_Move]:
        """The turns that may be made next. Branches that stop say so."""
        moves = []
        for branch in branches:
            for sibling in range(self.width):
                place = place_below(branch.place, sibling)
                so_far = self._so_far(branch, sibling, place)
                why = (
                    after_turns(self.rules.depth)
                    if len(branch.turns) >= self.rules.depth
                    else self.rules.stop.reason(so_far)
                )
                if why is not None:
                    last = so_far.last  # of several reasons a success is the one that readers ask for
                    if last is not None and last.success and ends_on_success(self.rules.stop):
                        why = OnSuccess().describe()
                    self._end(branch, why, leaf=sibling == 0)
                    break
                moves.append(_Move(branch, so_far, place))
                self.calls += 1
        return moves

    def _so_far(self, branch: _Branch, sibling: int, place: bytes) -> SoFar:
        return SoFar(
            self.goal,
            branch.turns,
            random.Random(derived_seed(place, "tester")),  # noqa: S311 - chance, not secrets
            branch=sibling,
            opening=self.rules.opening,
            calls=self.calls,
            cost=self.bill.total,
            elapsed=perf_counter() - self.start,
        )

    async def _made(self, moves: Sequence[_Move]) -> list[_Outcome]:
        if len(moves) == 1:  # the common case needs no task of its own
            return [await self._turn(moves[0])]
        turns = [asyncio.create_task(self._turn(move)) for move in moves]
        try:
            return await asyncio.gather(*turns)
        except BaseException:  # whatever ends one of them ends the rollout, and with it the others
            for turn in turns:
                turn.cancel()
            await asyncio.gather(*turns, return_exceptions=True)
            raise

    async def _turn(self, move: _Move) -> _Outcome:
        """One turn, or that the tester has nothing left to say."""
        rules, number = self.rules, move.so_far.turn
        try:
            tester = rules.tester
            said = await ask(tester.next_attack, move.so_far, blocking=is_blocking(tester))
            attack = read_attack(said)
        except Exception as error:
            return _Failure("tester", number, error)
        if attack is None or attack.stop:
            return attack
        recording = Recording(
            player_name(rules.target),
            input_text=attack.text,
            records_calls=lambda: tools_reached(rules.target),
        )
        try:
            return await self._answered(move, attack, recording)
        except Exception as error:
            done = recording.trace
            return _Failure("target", number, error, attack, done if done.turns else None)

    async def _answered(self, move: _Move, attack: Attack, recording: Recording) -> _Made:
        remembered = move.branch.said
        taken_back = min(attack.rewind, len(remembered) // 2)
        remembered = remembered[: len(remembered) - 2 * taken_back]
        asking = Message("user", attack.text)
        start = perf_counter()
        with turn_seeded(derived_seed(move.place, "target")), recording:
            given = await self._reply([*self._first_words(), *remembered, asking])
        duration = perf_counter() - start
        reply = read_reply(given)
        metadata = {**attack.metadata, **reply.metadata}
        metadata.pop("rewind", None)  # it decides what the target is shown
        if attack.name is not None:
            metadata["attack"] = attack.name
        if taken_back:
            metadata["rewind"] = taken_back
        node = Node(
            context_of(self.rules.opening, remembered, self.rules.context_chars),
            attack.text,
            reply.text,
            0.0,
            [],
            duration=duration,
            trace=with_recorded(reply.trace, recording.trace),
            metadata=metadata,
        )
        said = (*remembered, asking, Message("assistant", reply.text))
        return _Made(node, said, attack.cost, reply.cost, recording.trace)

    async def _reply(self, messages: list[Message]) -> Any:
        target, seconds = self.rules.target, self.rules.reply_timeout
        answering = ask(target.reply, messages, blocking=is_blocking(target))
        if seconds is None:
            return await answering
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                return await answering
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise AgentTimeoutError(f"{player_name(target)} did not reply within {seconds:g} s") from error

    def _first_words(self) -> list[Message]:
        """What the target has heard and said before the first turn."""
        rules = self.rules
        messages = [] if rules.system_prompt is None else [Message("system", rules.system_prompt)]
        return [*messages, Message("assistant", rules.opening)] if rules.opening else messages

    def _attached(
        self,
        branches: Sequence[_Branch],
        moves: Sequence[_Move],
        made: Sequence[_Outcome],
    ) -> list[_Branch]:
        """The branches, with the turns that were made in their places in the tree."""
        longer: list[_Branch] = []
        of_branch: dict[bytes, list[tuple[_Move, _Outcome]]] = {each.place: [] for each in branches}
        for move, outcome in zip(moves, made, strict=True):
            of_branch[move.branch.place].append((move, outcome))
        for branch in branches:
            mine = of_branch[branch.place]
            children: Any = branch.turns[-1].children if branch.turns else self.graph.children
            for move, outcome in mine:
                if isinstance(outcome, _Made):
                    node = outcome.node
                    children.append(node)
                    longer.append(_Branch(move.place, (*branch.turns, node), outcome.said))
                    self.bill.add_turn(node, outcome.attack_cost, outcome.reply_cost)
                    self._note_calls(node, outcome.recorded)
                    continue
                if not isinstance(outcome, _Failure):
                    attack = outcome
                else:
                    attack = outcome.attack
                    self.failures.append(outcome)
                    self.graph.broke_off = True
                    if outcome.recorded is not None:
                        self.graph.unfinished += (outcome.recorded,)
                        self._note_calls(None, outcome.recorded)
                if attack is None or attack.stop:  # the target was not asked
                    self.calls -= 1
                if attack is not None:
                    self.bill.add_move(attack.cost)
            broken = [outcome for _, outcome in mine if isinstance(outcome, _Failure)]
            if broken:
                self._end(branch, f"error: {broken[0]}", leaf=not children)
            elif mine and not children:
                self._end(branch, _ENDED, leaf=True)
        self.bill.settle()
        if self.bill.has_beside:
            self.graph.metadata["cost"] = self.bill.beside
        return longer

    def _note_calls(self, node: Node[str, str] | None, recorded: Trace) -> None:
        """Note whether calls were recorded. Once one was, the turns without any are known to have none."""
        self.has_recorded = self.has_recorded or recorded.calls_known
        if node is not None and node.trace is None:
            self.silent.append((node, recorded))
        if self.has_recorded:
            for silent, trace in self.silent:
                silent.trace = trace
            self.silent.clear()

    async def _score(self, branches: Sequence[_Branch]) -> None:
        """The moderator's scores of the turns just made, in one call."""
        if self.rules.moderator is None:
            return
        nodes = [branch.turns[-1] for branch in branches]
        texts = [text for node in nodes for text in (node.attack, node.response)]
        scores = await scores_of(self.rules.moderator, texts)
        for node, attacked, answered in zip(nodes, scores[::2], scores[1::2], strict=True):
            node.attack_score, node.response_score = attacked, answered

    async def _judge(self, branches: Sequence[_Branch]) -> None:
        """Success and rewards of the turns just made."""
        for branch in branches:
            node = branch.turns[-1]
            node.success = await turn_succeeded(self.rules.success, self.goal, branch.turns)
            node.reward = await reward_of(self.rules.reward, self.goal, branch.turns)

    async def _tell(self, branches: Sequence[_Branch]) -> None:
        """Tell a tester that learns what came of the turns just made."""
        told = getattr(self.rules.tester, "told", None)
        if not callable(told):
            return
        for branch in branches:
            outcome = TurnOutcome(self.goal, branch.turns, self.graph)
            await ask(told, outcome, blocking=is_blocking(self.rules.tester))

    def _end(self, branch: _Branch, why: str, *, leaf: bool) -> None:
        """Note why a branch ended, or why some of its siblings were not tried."""
        self.reasons.append(why)
        if branch.turns and leaf:
            branch.turns[-1].metadata["stopped"] = why

    def _broken(self, failure: _Failure) -> RolloutError:
        self.graph.stopped = f"error: {failure}"
        self.graph.broke_off = True
        return RolloutError(str(failure), graph=self.graph, where=failure.where)


def context_of(opening: str, said: Sequence[Message], longest: int) -> str:
    """What was said as a text, no longer than this: the end of it, where it is longer.

    Every turn has such a text. In full, they would grow with the square of the length of a conversation.
    """
    lines: list[str] = []
    size = 0
    for message in reversed(said):
        if size > longest + 1:  # the last line has no end of line
            break
        lines.append(f"{message.role}: {message.content}")
        size += len(lines[-1]) + 1
    if opening and size <= longest + 1:
        lines.append(f"assistant: {opening}")
    text = "\n".join(reversed(lines))
    return text if len(text) <= longest else f"…{text[len(text) - longest + 1 :]}"


def first_place(seed: int | str) -> bytes:
    """The root of the tree of a rollout. A number and its digits are different seeds."""
    return _digest(f"{type(seed).__name__}\0{seed}".encode("utf-8", "surrogatepass"))


def place_below(place: bytes, sibling: int) -> bytes:
    """The place of one of the turns after this one."""
    return _digest(place + f"\0{sibling}".encode())


def derived_seed(place: bytes, purpose: str) -> int:
    """A seed for one purpose at one place of the tree."""
    return int.from_bytes(_digest(place + purpose.encode())[:7], "big")


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()
