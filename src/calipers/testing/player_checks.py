"""Checks that authors run on the players of their own rollouts: `check_tester(MyTester())` and its siblings.

Each asks a player a few times, one after the other and all at once, and raises one error that lists everything it found:

- *player shape*: it has one of the shapes that an `Environment` takes;
- *answer*: every call gives, in time, what is due: a reply, an attack or nothing left to say, a score from 0 to 1 for each
  text in their order;
- *player state*: what it was given is left as it was, and the same situation gives the same answer, alone or beside others.
  A target may draw as it likes, so of targets only the first is asked. A tester or moderator that cannot be repeated, such
  as a language model, is checked with `deterministic=False`.
"""

import asyncio
import copy
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from calipers.data.argument_checks import check_number, check_texts
from calipers.data.jsonable import safe_repr
from calipers.errors import InvalidOptionError
from calipers.process.loop import run_sync
from calipers.rollouts.graph import Node
from calipers.rollouts.moderators.moderator import as_moderator, scores_of
from calipers.rollouts.players import Attack, Message, Reply, SoFar, ask, is_blocking
from calipers.rollouts.targets import as_target, read_reply
from calipers.rollouts.testers import as_tester, read_attack
from calipers.testing.conformance import ConformanceError, Finding, error_text

ADVICE: dict[str, str] = {
    "player shape": "as_target, as_tester and as_moderator say which shapes there are",
    "answer": "give what is due on whatever it may be shown: a text, an Attack or None, scores from 0 to 1",
    "player state": "keep nothing of a conversation, change nothing that is given, and draw from SoFar.random or rng alone; "
    "for what cannot be repeated, such as a model, pass deterministic=False",
}
"""What to do about a finding, by its rule."""

GOAL = "learn the code word"
TEXTS = ("", "Hello.", "I cannot tell you that.", "Grüße aus 東京 \N{ROCKET}", "word " * 500)
_CLOSE = 1e-6
"""Scores of models in one batch and in another differ in their last digits."""


class _Check:
    """One check under way."""

    def __init__(self, what: str, player: Any, timeout: float) -> None:
        check_number("timeout", timeout, above=0, of="seconds")
        self.what = what
        self.player = player
        self.timeout = timeout
        self.findings: dict[Finding, None] = {}  # each once, in order

    def found(self, rule: str, problem: str) -> None:
        self.findings[Finding(rule, problem, advice=ADVICE[rule])] = None

    def made(self, make: Callable[[Any], Any]) -> Any:
        """The player in the shape that an environment gives it.

        Raises:
            ConformanceError: it has none.
        """
        try:
            return make(self.player)
        except InvalidOptionError as error:
            self.found("player shape", str(error).partition("\n")[0])
        return self.end()

    async def answer(self, on: str, asking: Awaitable[Any]) -> Any:
        """What a call gives; `None`, and a finding, if that is not what is due."""
        try:
            return await asyncio.wait_for(asking, self.timeout)
        except TimeoutError:
            self.found("answer", f"{on}: nothing came within {self.timeout:g} s")
        except Exception as error:
            self.found("answer", f"{on}: {error_text(error)}")
        return None

    def end(self) -> None:
        """Raise what was found, if anything was."""
        if self.findings:
            raise ConformanceError(safe_repr(self.player)[:100], list(self.findings), self.what)


def check_target(x: Any, *, timeout: float = 60.0) -> list[Reply]:
    """Check that a target keeps the contract, and give its replies.

    Args:
        x: a target in any shape that `as_target` takes.
        timeout: seconds that each reply may take.

    Raises:
        ConformanceError: an AssertionError that lists every finding, with what to do about it.
    """
    check = _Check("a target", x, timeout)
    target = check.made(as_target)
    first = [Message("user", "Hello.")]
    longer = [
        Message("system", "Be brief."),
        *first,
        Message("assistant", "Hello!"),
        Message("user", TEXTS[3]),
    ]

    async def reply(messages: list[Message]) -> Reply:
        before = list(messages)
        given = await ask(target.reply, messages, blocking=is_blocking(target))
        if messages != before:
            check.found("player state", "it changed the list of messages that it was given")
        return read_reply(given)

    async def main() -> list[Any]:
        alone = [await check.answer("asked alone", reply(list(each))) for each in (first, longer)]
        together = (check.answer("asked beside others", reply(list(each))) for each in (first, longer) * 2)
        return [*alone, *await asyncio.gather(*together)]

    replies = run_sync(main)
    check.end()
    return replies[:2]


def check_tester(
    x: Any, *, goal: str = GOAL, deterministic: bool = True, timeout: float = 60.0
) -> list[Attack]:
    """Check that a tester keeps the contract, and give what it says at first and after one and two turns.

    Args:
        x: a tester in any shape that `as_tester` takes.
        goal: what it is after.
        deterministic: whether the same situation must give the same attack; pass False for a model.
        timeout: seconds that each attack may take.

    Raises:
        ConformanceError: an AssertionError that lists every finding, with what to do about it.
    """
    check = _Check("a tester", x, timeout)
    tester = check.made(as_tester)
    judged: dict[str, Any] = {"attack_score": 0.0, "response_score": 0.0, "success": False}
    turns = tuple(Node("", f"Tell me ({n}).", "I cannot tell you that.", **judged) for n in (1, 2))

    async def attack(count: int) -> Attack | None:
        given = copy.deepcopy(turns[:count])
        so_far = SoFar(goal, given, random.Random(count), calls=count)  # noqa: S311 - chance, not secrets
        said = read_attack(await ask(tester.next_attack, so_far, blocking=is_blocking(tester)))
        if given != turns[:count]:
            check.found("player state", "it changed the turns that it was given")
        return said

    async def main() -> list[Any]:
        alone = [await check.answer(f"after {count} turns", attack(count)) for count in range(3)]
        together = await asyncio.gather(
            *(check.answer("asked beside others", attack(count)) for count in (2, 1, 0) * 2)
        )
        if deterministic and not check.findings and together != list(reversed(alone)) * 2:
            check.found("player state", "the same situation did not give the same attack twice")
        return alone

    said = run_sync(main)
    if not check.findings and said[0] is None:
        check.found("answer", "it has nothing to say before the first turn, so no rollout would begin")
    check.end()
    return [each for each in said if each is not None]


def check_moderator(
    x: Any, *, texts: Sequence[str] = TEXTS, deterministic: bool = True, timeout: float = 60.0
) -> list[float]:
    """Check that a moderator keeps the contract, and give the scores of the texts.

    Args:
        x: a moderator in any shape that `as_moderator` takes.
        texts: what it is shown.
        deterministic: whether the same text must get the same score; pass False for a model.
        timeout: seconds that each call may take.

    Raises:
        ConformanceError: an AssertionError that lists every finding, with what to do about it.
    """
    check = _Check("a moderator", x, timeout)
    moderator = check.made(as_moderator)
    check_texts("texts", texts, or_empty=True)
    if not texts:
        raise InvalidOptionError("texts must hold at least one text, got none")

    async def main() -> Any:
        together = await check.answer("shown all texts at once", scores_of(moderator, texts))
        one_by_one = (
            check.answer(f"shown {text!r:.40}", scores_of(moderator, [text])) for text in reversed(texts)
        )
        alone = await asyncio.gather(*one_by_one)
        if deterministic and not check.findings:
            for text, one, (other,) in zip(texts, together, reversed(alone), strict=True):
                if abs(one - other) > _CLOSE:
                    check.found(
                        "player state",
                        f"{text!r:.40} scores {one!r} among others and {other!r} alone: in the order of the texts?",
                    )
        return together

    scores: list[float] = run_sync(main)
    check.end()
    return scores


def check_transformation(x: Any, *, goals: Sequence[str] = (GOAL, TEXTS[3])) -> list[Attack]:
    """Check that a transformation keeps the contract, and give its attack for each goal.

    Args:
        x: an object with `apply(goal, rng)`.
        goals: what it is to put otherwise.

    Raises:
        ConformanceError: an AssertionError that lists every finding, with what to do about it.
    """
    check = _Check("a transformation", x, 1.0)
    transform: Any = getattr(x, "apply", None)
    if not callable(transform) or isinstance(x, type):
        check.found("player shape", f"{safe_repr(x):.200} has no method apply(goal, rng)")
        check.end()

    def attack(goal: str) -> Any:
        try:
            said = transform(goal, random.Random(1))  # noqa: S311 - chance, not secrets
            if isinstance(said, Attack):
                return read_attack(said)
            check.found("answer", f"for {goal!r:.40} it gave {safe_repr(said):.200}, no Attack")
        except Exception as error:
            check.found("answer", f"for {goal!r:.40}: {error_text(error)}")
        return None

    attacks = [attack(goal) for goal in goals]
    if not check.findings and [attack(goal) for goal in reversed(goals)] != attacks[::-1]:
        check.found("player state", "the same goal and the same chance did not give the same attack twice")
    check.end()
    return attacks
