"""How well failures are counted that are rare, or were not seen: the tables of docs/explanation/how-often-it-fails.md.

`rare failures` estimates the failure probability of targets whose truth is known, many times over; `more tries` goes on with elicitation curves beyond the tries that
were made; `unseen kinds` reckons with kinds of failure that did not come up. All draw from fixed seeds. It takes ten minutes or so; `--update-docs` writes
the tables into the page, between their markers.
"""

import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from math import exp
from typing import Any

import tables
from calipers.search import Factors, ImportanceDraws, RandomDraws, Splitting
from calipers.stats import elicitation_curve, unseen_kinds, wilson
from calipers.testing.planted_failures import (
    PlantedTarget,
    distractor,
    keyword_gate,
    length_threshold,
    many_modes,
    never_fails,
    rare_conjunction,
    turn_order,
)

TIMES = 100
PLAIN = 16_000
WEIGHTED = 2_000
PAGE = tables.DOCS / "how-often-it-fails.md"


def share(covered: int, known: int) -> str:
    """The share of intervals that cover the truth, with its own interval."""
    doubt = wilson(covered, known)
    if doubt is None:
        return ""
    return f"{100 * covered / known:.0f} % [{100 * doubt.low:.0f}, {100 * doubt.high:.0f}]"


# ---------------------------------------------------------------------- rare failures


def tilted(target: PlantedTarget, good: list[Any], times: float) -> Factors:
    """The space with some options drawn more often."""
    space = target.space
    weights = {
        name: [
            chance * (times if option in good else 1)
            for option, chance in zip(options, space.probabilities(name), strict=True)
        ]
        for name, options in space.options.items()
    }
    return Factors(space.options, build=space.build, weights=weights)


def towards(good: list[Any], times: float) -> Callable[[PlantedTarget], ImportanceDraws]:
    """What makes weighted draws."""
    return lambda target: ImportanceDraws(target.space, tilted(target, good, times))


def subjects() -> list[tuple[str, PlantedTarget, int, Callable[[PlantedTarget], Any]]]:
    """What is estimated: the name of the way, the target, the trials, and what makes the strategy."""
    gate, rare = keyword_gate(keywords=5), keyword_gate(keywords=5, vocabulary=56)
    order, conjunction, never = turn_order(order=5, turns=8), rare_conjunction(matter=5), never_fails()
    words = str(gate.smallest).split()

    def flat(target: PlantedTarget) -> ImportanceDraws:
        space = target.space
        return ImportanceDraws(space, Factors(space.options, build=space.build))

    return [
        *[
            ("plain draws", target, PLAIN, lambda target: RandomDraws(target.space))
            for target in (keyword_gate(), rare, never)
        ],
        *[
            ("splitting", target, sys.maxsize, lambda target: Splitting(target.space))
            for target in (keyword_gate(), gate, rare, order, distractor(), never)
        ],
        (
            "splitting, 100 particles",
            rare,
            sys.maxsize,
            lambda target: Splitting(target.space, particles=100),
        ),
        ("weighted, words 10 times likelier", gate, WEIGHTED, towards(words, 10)),
        ("weighted, words 3 times likelier", gate, WEIGHTED, towards(words, 3)),
        ("weighted, words 20 times likelier", rare, WEIGHTED, towards(words, 20)),
        ("weighted, values 10 times likelier", conjunction, WEIGHTED, towards([6], 10)),
        ("weighted, all lengths alike", length_threshold(), WEIGHTED, flat),
    ]


def estimated(target: PlantedTarget, strategy: Any, most: int, seed: int) -> tuple[Any, int]:
    """The estimate, and how many trials it took."""
    trials = 0
    while trials < most:
        proposal = strategy.ask(random.Random(f"ask {seed} {trials}"))
        if proposal is None:
            break
        trials += 1
        strategy.tell(target.outcome(trials, proposal, random.Random(f"answer {seed} {trials}")))
    return strategy.estimate(), trials


def row(number: int, sets: int) -> list[str]:
    """One row of the table, by its number: what makes it does not travel to another process."""
    way, target, most, make = subjects()[number]
    truth = target.probability
    covered = known = trials = doubted = 0
    values, widths = [], []
    for seed in range(sets):
        found, took = estimated(target, make(target), most, seed)
        trials += took
        doubted += bool(found.doubts)
        values.append(found.value or 0.0)
        if found.interval is not None:
            known += 1
            covered += truth in found.interval
            if found.interval.low > 0:
                widths.append(found.interval.high / found.interval.low)
    return [
        way,
        f"`{target.name}`",
        f"{truth:.1e}" if truth else "0",
        f"{trials // sets:,}",
        f"{100 * sum(value > 0 for value in values) / sets:.0f} %",
        f"{sum(values) / sets / truth:.2f}" if truth else "",
        f"{100 * known / sets:.0f} %",
        share(covered, known),
        f"{sorted(widths)[len(widths) // 2]:.1f}" if 2 * len(widths) > sets else "",
        f"{100 * doubted / sets:.0f} %",
    ]


def rare_failures(sets: int, pool: Any) -> Iterator[str]:
    """The table of estimates."""
    yield from tables.head(
        "way",
        "target",
        "truth",
        "trials",
        "saw a failure",
        "mean / truth",
        "with interval",
        "covered",
        "high / low",
        "doubted",
    )
    numbers = range(len(subjects()))
    yield from lines(pool.map(row, numbers, [sets] * len(numbers)))


def lines(rows: Any) -> Iterator[str]:
    """Rows as lines of a table."""
    for found in rows:
        yield "| " + " | ".join(found) + " |"


# ---------------------------------------------------------------------- elicitation curves

TRIES = 10
BEYOND = (30, 100)
GOALS: dict[str, Callable[[random.Random], float]] = {
    "a beta distribution, mean 0.13": lambda rng: rng.betavariate(0.3, 2.0),
    "a third at 0.3, the others hopeless": lambda rng: 0.3 * (rng.random() < 1 / 3),
    "a normal logit, mean -4": lambda rng: 1 / (1 + exp(4 - rng.gauss(0, 2))),
}
"""How likely one try reaches a goal, by how goals differ."""
MANY = 200_000
"""Goals that tell the truth."""


def curve(cell: tuple[str, int], sets: int) -> list[str]:
    """One row: how goals differ, and how many there are."""
    name, goals = cell
    draw, rng = GOALS[name], random.Random(name)
    chances = [draw(rng) for _ in range(MANY)]
    truth = {k: sum(1 - (1 - chance) ** k for chance in chances) / MANY for k in BEYOND}
    told, covered, held = (dict.fromkeys(BEYOND, 0) for _ in range(3))
    for seed in range(sets):
        rng = random.Random(f"{name} {goals} {seed}")
        chances = [draw(rng) for _ in range(goals)]
        reached = [(sum(rng.random() < chance for _ in range(TRIES)), TRIES) for chance in chances]
        found = elicitation_curve(reached, BEYOND)
        assert found is not None
        for point in found.points:
            told[point.k] += 1
            covered[point.k] += point.interval is not None and truth[point.k] in point.interval
            held[point.k] += point.bounds[0] <= truth[point.k] <= point.bounds[1]
    shown = [f"{100 * (sets - told[BEYOND[0]]) / sets:.0f} %"]
    for k in BEYOND:
        shown += [f"{truth[k]:.2f}", share(covered[k], told[k]), share(held[k], told[k])]
    return [name, str(goals), *shown]


def more_tries(sets: int, pool: Any) -> Iterator[str]:
    """The table of elicitation curves."""
    ends = [
        f"{what} {k} tries" for k in BEYOND for what in ("truth at", "interval covers at", "bounds hold at")
    ]
    yield from tables.head("how goals differ", "goals", "refused", *ends)
    cells = [(name, goals) for name in GOALS for goals in (30, 100)]
    yield from lines(pool.map(curve, cells, [sets] * len(cells)))


# ---------------------------------------------------------------------- kinds of failure


def likely(name: str) -> list[float]:
    """How likely each kind of failure is, in any unit."""
    if name == "20 alike":
        return [1.0] * 20
    target = many_modes()
    codes = Counter(target.answer({"code": code}, random.Random(0))[0] for code in range(4096))
    return [float(codes[mode]) for mode in target.modes]


def reckoned(cell: tuple[str, int], sets: int) -> list[str]:
    """One row: how likely kinds are, and how many failures there were."""
    name, failures = cell
    weights = likely(name)
    kinds, whole = range(len(weights)), sum(weights)
    seen = new = chance = below = 0
    foretold = 0.0
    for seed in range(sets):
        rng = random.Random(f"{name} {failures} {seed}")
        drawn = Counter(rng.choices(kinds, weights, k=failures))
        found = unseen_kinds(drawn.values())
        assert found is not None
        seen += len(drawn)
        chance += 1 - sum(weights[kind] for kind in drawn) / whole in found.chance_interval
        below += found.kinds_interval.low <= len(weights)
        foretold += found.new_kinds(failures) or 0.0
        new += len(set(rng.choices(kinds, weights, k=failures)) - set(drawn))
    return [
        name,
        str(failures),
        f"{seen / sets:.1f}",
        share(chance, sets),
        share(below, sets),
        f"{foretold / sets:.1f}",
        f"{new / sets:.1f}",
    ]


def kinds_not_seen(sets: int, pool: Any) -> Iterator[str]:
    """The table of kinds."""
    yield from tables.head(
        "kinds there are",
        "failures",
        "kinds seen",
        "chance of a new kind: covered",
        "number of kinds: low end below the truth",
        "new kinds in as many more: foretold",
        "and seen",
    )
    cells = [(name, failures) for name in ("12, ever rarer", "20 alike") for failures in (20, 60, 200)]
    yield from lines(pool.map(reckoned, cells, [sets] * len(cells)))


TABLES = {"rare failures": rare_failures, "more tries": more_tries, "unseen kinds": kinds_not_seen}

if __name__ == "__main__":
    sys.exit(tables.main(__doc__, PAGE, TABLES, sets=TIMES))
