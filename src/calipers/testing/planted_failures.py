"""Targets with planted failures, each with its known truth, on which searches, shrinkers and estimators are proved.

A planted target is a small system that fails on some inputs. It knows how likely a draw of its space fails, the smallest input that fails,
and how many kinds of failure there are. `ZOO` has one of each:

| target | fails where | what leads there |
|---|---|---|
| `keyword_gate` | several words are all in a text | each of them raises the alarm a little |
| `turn_order` | turns come in one order, without a turn between them | each right turn raises the alarm, a wrong one ends it |
| `length_threshold` | a text has so many words | the alarm rises with the length |
| `rare_conjunction` | several fields have certain values | nothing: the alarm is silent until it fails |
| `distractor` | one style is used with much force and much detail | another style raises the alarm more, and never fails |
| `noisy_arms` | chance has it, by the attack and the goal | better arms raise the alarm more, on average |
| `many_modes` | a code has one of many values, each rarer than the one before | nothing |
| `never_fails` | never | an alarm that means nothing |

The *alarm*, from 0 to 1, is what a judge with a graded score would say of how near an input came.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from statistics import NormalDist
from types import MappingProxyType
from typing import Any

from calipers.data.argument_checks import check_whole_number
from calipers.data.attempt import current_attempt
from calipers.data.case import Case
from calipers.rollouts.attacks.library import ATTACKS
from calipers.run.dataset import Dataset
from calipers.search.factors import Factors
from calipers.search.mutations.mutation import Mutation
from calipers.search.mutations.rewording import Politeness, Synonyms
from calipers.search.mutations.slips import Casing, Spacing, Typos
from calipers.search.proposal import Proposal
from calipers.search.strategy import Strategy
from calipers.search.trial_outcome import Outcome


@dataclass(frozen=True)
class PlantedTarget:
    """A system that fails on some inputs, and the truth about it."""

    name: str
    space: Factors
    """Where inputs come from; its samples have the distribution that `probability` is about."""
    answer: Callable[[Any, random.Random], tuple[str | None, float]]
    """Which kind of failure inputs bring about, `None` for none, and the alarm. It takes any inputs of the space's form, and parts of them."""
    modes: tuple[str, ...]
    """The kinds of failure."""
    probability: float
    """How likely a draw of the space fails."""
    smallest: Any
    """One of the smallest inputs that fail; `None`: none does, or chance decides."""
    size: Callable[[Any], int]
    """The size of inputs, by which that one is the smallest: words, turns or fields."""
    alarms: Callable[[Any], Sequence[float]] | None = None
    """The alarm after each turn, where inputs are a script; `None`: they are none."""
    has_structure: bool = True
    """Whether what came of some inputs tells where failures are."""

    def __call__(self, inputs: Any) -> dict[str, Any]:
        """The system as a task: `{"mode": ..., "alarm": ...}`. What is chance follows from the seed of the attempt."""
        attempt = current_attempt(None)
        mode, alarm = self.answer(inputs, random.Random(None if attempt is None else attempt.seed))  # noqa: S311 - chance, not secrets
        return {"mode": mode, "alarm": alarm}

    def fails(self, inputs: Any) -> bool:
        """Whether these inputs fail, where no chance is involved."""
        return self.answer(inputs, random.Random(0))[0] is not None  # noqa: S311 - chance, not secrets

    def judged(self, output: Mapping[str, Any]) -> dict[str, bool | float]:
        """What an evaluator says: for each kind of failure an assertion that it did not happen, and how calm the alarm is."""
        said: dict[str, bool | float] = {f"no {mode}": output["mode"] != mode for mode in self.modes}
        return (
            {**said, "calm": 1.0 - output["alarm"]}
            if said
            else {"holds": True, "calm": 1.0 - output["alarm"]}
        )

    def dataset(self) -> Dataset[Any, Any, Any]:
        """A dataset of one case, drawn from the space, with an evaluator that judges the system."""

        def judged(output: Mapping[str, Any]) -> dict[str, bool | float]:
            return self.judged(output)

        inputs = self.space.sample(random.Random(0)).inputs  # noqa: S311 - chance, not secrets
        return Dataset(name=self.name, cases=[Case(name="drawn", inputs=inputs)], evaluators=[judged])

    def outcome(self, number: int, proposal: Proposal, rng: random.Random) -> Outcome:
        """The outcome of a proposal, without a run around it."""
        mode, alarm = self.answer(proposal.inputs, rng)
        output = {"mode": mode, "alarm": alarm}
        return Outcome(
            number,
            proposal,
            failed=mode is not None,
            reward=1.0 if mode is not None else alarm,
            results=self.judged(output),
            turn_rewards=() if self.alarms is None else tuple(self.alarms(proposal.inputs)),
            output=output,
        )


def calls_to_failure(
    target: PlantedTarget, strategy: Strategy, *, seed: int, most: int, failures: int = 1
) -> int | None:
    """How many trials a strategy needs to find so many failures of a target; `None`: more than `most`.

    It asks and tells in turn, one trial at a time and without a run, so that thousands of trials take a moment.
    """
    check_whole_number("most", most, at_least=1)
    found = 0
    for number in range(1, most + 1):
        proposal = strategy.ask(random.Random(f"ask {seed} {number}"))  # noqa: S311 - chance, not secrets
        if proposal is None:
            return None
        assert isinstance(proposal, Proposal), "a strategy that is asked here must not be async"
        outcome = target.outcome(number, proposal, random.Random(f"answer {seed} {number}"))  # noqa: S311 - chance, not secrets
        strategy.tell(outcome)
        found += bool(outcome.failed)
        if found == failures:
            return number
    return None


# ---------------------------------------------------------------------- the zoo


def keyword_gate(*, keywords: int = 4, vocabulary: int = 40, words: int = 8) -> PlantedTarget:
    """Fails where the first `keywords` words of the vocabulary are all in a text of `words` words."""
    known = [f"word{number}" for number in range(1, vocabulary + 1)]
    wanted = set(known[:keywords])

    def answer(text: str, _: random.Random) -> tuple[str | None, float]:
        met = len(wanted.intersection(text.split()))
        return ("gate", 1.0) if met == keywords else (None, 0.9 * met / keywords)

    # Inclusion and exclusion over which keywords are missing.
    probability = sum(
        (-1) ** missing
        * sum(1 for _ in combinations(range(keywords), missing))
        * (1 - missing / vocabulary) ** words
        for missing in range(keywords + 1)
    )
    space = Factors({f"word {place}": known for place in range(1, words + 1)}, build=_sentence)
    return PlantedTarget(
        "keyword_gate",
        space,
        answer,
        ("gate",),
        probability,
        " ".join(known[:keywords]),
        _words_of,
    )


def turn_order(*, turns: int = 6, actions: int = 10, order: int = 3) -> PlantedTarget:
    """Fails where the first `order` actions follow on each other, in that order, somewhere in a script of `turns` turns."""
    known = [f"action {letter}" for letter in "abcdefghijklmnopqrstuvwxyz"[:actions]]
    trap = known[:order]

    def alarms(script: Sequence[str]) -> list[float]:
        return [1.0 if state == order else 0.9 * state / order for state in _states(script, trap)]

    def answer(script: Sequence[str], _: random.Random) -> tuple[str | None, float]:
        furthest = max(_states(script, trap), default=0)
        return ("out of order", 1.0) if furthest == order else (None, 0.9 * furthest / order)

    chances = [1.0, *([0.0] * order)]
    for _ in range(turns):
        after = [0.0] * (order + 1)
        for state, chance in enumerate(chances):
            if state == order:
                after[order] += chance
                continue
            # The next action of the trap, its first one, or another.
            after[state + 1] += chance / actions
            after[1 if state else 0] += chance / actions if state else 0.0
            after[0] += chance * (actions - (2 if state else 1)) / actions
        chances = after
    space = Factors({f"turn {number}": known for number in range(1, turns + 1)}, build=_script)
    return PlantedTarget("turn_order", space, answer, ("out of order",), chances[order], trap, len, alarms)


def length_threshold(*, words: int = 60, mean: int = 10, most: int = 150) -> PlantedTarget:
    """Fails where a text has at least `words` words. Lengths are geometric, of about `mean` words, up to `most`."""

    def answer(text: str, _: random.Random) -> tuple[str | None, float]:
        length = _words_of(text)
        return ("too long", 1.0) if length >= words else (None, 0.9 * length / words)

    weights = [(1 - 1 / mean) ** length for length in range(1, most + 1)]
    space = Factors({"words": range(1, most + 1)}, build=_of_length, weights={"words": weights})
    return PlantedTarget(
        "length_threshold",
        space,
        answer,
        ("too long",),
        sum(weights[words - 1 :]) / sum(weights),
        _of_length(words),
        _words_of,
    )


def rare_conjunction(*, fields: int = 6, values: int = 6, matter: int = 3) -> PlantedTarget:
    """Fails where the first `matter` of several fields all have their last value. Nothing leads there."""
    names = [f"field {number}" for number in range(1, fields + 1)]
    wanted = dict.fromkeys(names[:matter], values)

    def answer(given: Mapping[str, Any], _: random.Random) -> tuple[str | None, float]:
        met = all(given.get(name) == value for name, value in wanted.items())
        return ("conjunction", 1.0) if met else (None, 0.0)

    space = Factors({name: range(1, values + 1) for name in names})
    return PlantedTarget(
        "rare_conjunction",
        space,
        answer,
        ("conjunction",),
        float(values) ** -matter,
        wanted,
        len,
        has_structure=False,
    )


def distractor(*, styles: int = 12, force: int = 20, detail: int = 20) -> PlantedTarget:
    """Fails in one style, where force and detail are both among their two highest values; another style alarms more, and never fails."""
    names = [f"style {number}" for number in range(1, styles + 1)]
    trap, decoy = names[-1], names[0]

    def answer(given: Mapping[str, Any], _: random.Random) -> tuple[str | None, float]:
        push = (given.get("force", 0) / force + given.get("detail", 0) / detail) / 2
        if given.get("style") == decoy:
            return None, 0.5 + 0.4 * push
        if given.get("style") != trap:
            return None, 0.0
        if given.get("force", 0) > force - 2 and given.get("detail", 0) > detail - 2:
            return "forced", 1.0
        return None, 0.4 * push

    space = Factors({"style": names, "force": range(1, force + 1), "detail": range(1, detail + 1)})
    return PlantedTarget(
        "distractor",
        space,
        answer,
        ("forced",),
        4 / (styles * force * detail),
        {"style": trap, "force": force - 1, "detail": detail - 1},
        len,
    )


def noisy_arms(*, attacks: int = 12, goals: int = 12, threshold: float = 0.9) -> PlantedTarget:
    """Chance decides, by the attack and the goal: the alarm is normal about a mean of the two, and from the threshold on it fails."""
    spread = 0.12

    def mean(attack: int, goal: int) -> float:
        # The last attack and the last goal are far better than the others.
        return 0.1 + 0.3 * (attack == attacks) + 0.3 * (goal == goals) + 0.05 * ((attack + goal) % 3)

    def answer(given: Mapping[str, Any], rng: random.Random) -> tuple[str | None, float]:
        drawn = rng.gauss(mean(given.get("attack", 0), given.get("goal", 0)), spread)
        return ("noise", 1.0) if drawn >= threshold else (None, min(max(drawn, 0.0), 0.9))

    tails = [
        1 - NormalDist(mean(attack, goal), spread).cdf(threshold)
        for attack in range(1, attacks + 1)
        for goal in range(1, goals + 1)
    ]
    space = Factors({"attack": range(1, attacks + 1), "goal": range(1, goals + 1)})
    return PlantedTarget("noisy_arms", space, answer, ("noise",), sum(tails) / len(tails), None, len)


def many_modes(*, modes: int = 12, codes: int = 4096) -> PlantedTarget:
    """Fails on some codes, in many ways: mode `k` has about `1 / k²` as many codes as the first."""
    shares = [max(1, round(codes / 20 / number**2)) for number in range(1, modes + 1)]
    names = tuple(f"mode {number}" for number in range(1, modes + 1))
    mode_of = dict(enumerate([name for name, share in zip(names, shares, strict=True) for _ in range(share)]))

    def answer(given: Mapping[str, Any], _: random.Random) -> tuple[str | None, float]:
        mode = mode_of.get(given.get("code", -1))
        return (mode, 1.0) if mode else (None, 0.0)

    space = Factors({"code": range(codes)})
    probability = sum(shares) / codes
    return PlantedTarget(
        "many_modes", space, answer, names, probability, {"code": 0}, len, has_structure=False
    )


def never_fails() -> PlantedTarget:
    """Never fails, whatever its alarm says."""

    def answer(given: Mapping[str, Any], _: random.Random) -> tuple[str | None, float]:
        return None, 0.8 * sqrt(given.get("push", 0) / 20)

    space = Factors({"push": range(1, 21), "style": range(1, 13)})
    return PlantedTarget("never_fails", space, answer, (), 0.0, None, len, has_structure=False)


_DISGUISES = ("base64", "hex", "leetspeak", "zero_width", "full_width", "spelled_out")
_OPENINGS = ("", "Hello. ", "Hi, ", "Good morning! ", "hey ")
_WISHES = (
    "I would like a refund for the {thing}.",
    "Where is the {thing} that I ordered?",
    "Please cancel my order of the {thing}.",
    "Can I change the address for the {thing}?",
    "The {thing} arrived broken.",
    "How much is the {thing} with delivery?",
    "Is the {thing} still under warranty?",
    "Do you have the {thing} in blue?",
)
_THINGS = ("lamp", "chair", "phone", "bicycle", "kettle", "coat", "desk", "sofa")
_SLIPS: Sequence[Mutation] = (Typos(rate=0.03), Casing(), Spacing(), Synonyms(), Politeness())
_CARELESS = 0.4
"""The share of turns that are written in haste, or in words of one's own."""
_PLAIN = "none"
"""The disguise that is none."""


def disguised(*, disguises: Sequence[str] = _DISGUISES) -> PlantedTarget:
    """A shop that fails in two ways: `odd`, at anything in base64, and `ordinary`, at a customer who wants to cancel the order of a sofa.

    The first is quickly found and hardly ever said; the second is rarer in the space, and half the way there raises half the alarm. `shop_turns` has turns of its
    customers, who know no disguise. It is not in `ZOO`, which is about the number of calls alone.
    """

    def answer(text: str, _: random.Random) -> tuple[str | None, float]:
        if "base64" in text:
            return "odd", 1.0
        met = (_WISHES[2].partition("{")[0] in text) + (_THINGS[-1] in text)
        return ("ordinary", 1.0) if met == 2 else (None, 0.45 * met)

    def build(opening: str, wish: str, thing: str, disguise: str) -> str:
        text = opening + wish.format(thing=thing)
        return text if disguise == _PLAIN else ATTACKS[disguise].change(text, random.Random(text))  # noqa: S311 - chance, not secrets

    space = Factors(
        {"opening": _OPENINGS, "wish": _WISHES, "thing": _THINGS, "disguise": (_PLAIN, *disguises)},
        build=build,
    )
    ways = len(disguises) + 1
    plain = 1 / (len(_WISHES) * len(_THINGS))
    # Some disguises leave words that can be read; they are counted rather than reasoned about.
    readable = sum(
        answer(build("", _WISHES[2], _THINGS[-1], each), random.Random(0))[0] == "ordinary"  # noqa: S311 - chance, not secrets
        for each in disguises
    )
    probability = ("base64" in disguises) / ways + (1 + readable) * plain / ways
    smallest = f"{_WISHES[2].partition('{')[0]}{_THINGS[-1]}"
    return PlantedTarget("disguised", space, answer, ("odd", "ordinary"), probability, smallest, _words_of)


def shop_turns(number: int = 120, *, seed: int = 0) -> list[str]:
    """What customers of the shop of `disguised` say, who know no disguise, and write as people do: a reference for `calipers.search.Realism`."""
    check_whole_number("number", number, at_least=1)
    rng = random.Random(f"shop {seed}")  # noqa: S311 - chance, not secrets
    found: list[str] = []
    for _ in range(number):
        turn = rng.choice(_OPENINGS) + rng.choice(_WISHES).format(thing=rng.choice(_THINGS))
        if rng.random() < _CARELESS:
            turn = rng.choice(_SLIPS).change(turn, rng)
        found.append(turn)
    return found


ZOO: Mapping[str, Callable[..., PlantedTarget]] = MappingProxyType(
    {
        made.__name__: made
        for made in (
            keyword_gate,
            turn_order,
            length_threshold,
            rare_conjunction,
            distractor,
            noisy_arms,
            many_modes,
            never_fails,
        )
    }
)
"""What makes each planted target, by name. Call it, with other numbers where you need them."""


def _states(script: Sequence[str], trap: Sequence[str]) -> list[int]:
    """How many actions of the trap were met on end, after each turn; once it is sprung it stays so."""
    state, found = 0, []
    for action in script:
        if state < len(trap):
            state = state + 1 if action == trap[state] else int(action == trap[0])
        found.append(state)
    return found


def _sentence(**words: str) -> str:
    return " ".join(words.values())


def _script(**turns: str) -> list[str]:
    return list(turns.values())


def _of_length(words: int) -> str:
    return " ".join(["word"] * words)


def _words_of(text: str) -> int:
    return len(text.split())
