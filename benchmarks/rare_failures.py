"""How well rare failures are estimated: the table of docs/explanation/how-often-it-fails.md.

Each row estimates the failure probability of a target whose truth is known, many times over, from fixed seeds. Takes ten minutes or so; `--update-docs` writes
the table into the page, between its markers.
"""

import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

import tables
from calipers.search import Factors, ImportanceDraws, RandomDraws, Splitting
from calipers.stats import wilson
from calipers.testing.planted_failures import (
    PlantedTarget,
    distractor,
    keyword_gate,
    length_threshold,
    rare_conjunction,
    turn_order,
)

TIMES = 100
PLAIN = 16_000
WEIGHTED = 2_000
PAGE = tables.DOCS / "how-often-it-fails.md"


def tilted(target: PlantedTarget, good: list[Any], times: float) -> Factors:
    """The space with some options drawn more often."""
    space: Any = target.space
    weights = {
        name: [
            chance * (times if option in good else 1)
            for option, chance in zip(options, space.probabilities(name), strict=True)
        ]
        for name, options in space.options.items()
    }
    return Factors(space.options, build=space.build, weights=weights)


def subjects() -> list[tuple[str, PlantedTarget, int, Callable[[PlantedTarget], Any]]]:
    """What is estimated: the name of the way, the target, the trials, and what makes the strategy."""
    rare = keyword_gate(keywords=5, vocabulary=56)
    gate, conjunction = keyword_gate(keywords=5), rare_conjunction(matter=5)
    words = str(gate.smallest).split()
    return [
        ("plain draws", keyword_gate(), PLAIN, lambda target: RandomDraws(target.space)),
        ("plain draws", rare, PLAIN, lambda target: RandomDraws(target.space)),
        *[
            ("splitting", target, sys.maxsize, lambda target: Splitting(target.space))
            for target in (keyword_gate(), gate, rare, turn_order(order=5, turns=8), distractor())
        ],
        (
            "importance, near",
            gate,
            WEIGHTED,
            lambda target: ImportanceDraws(target.space, tilted(target, words, 10)),
        ),
        (
            "importance, far",
            gate,
            WEIGHTED,
            lambda target: ImportanceDraws(target.space, tilted(target, words, 3)),
        ),
        (
            "importance, near",
            conjunction,
            WEIGHTED,
            lambda target: ImportanceDraws(target.space, tilted(target, [6], 10)),
        ),
        (
            "importance, flat",
            length_threshold(),
            WEIGHTED,
            lambda target: ImportanceDraws(
                target.space, Factors(target.space.options, build=target.space.build)
            ),
        ),
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


def row(
    way: str, target: PlantedTarget, most: int, make: Callable[[PlantedTarget], Any], sets: int
) -> list[str]:
    """One row of the table."""
    covered = known = trials = doubted = 0
    values, widths = [], []
    for seed in range(sets):
        found, took = estimated(target, make(target), most, seed)
        trials += took
        doubted += bool(found.doubts)
        values.append(found.value or 0.0)
        if found.interval is not None:
            known += 1
            covered += target.probability in found.interval
            if found.interval.low > 0:
                widths.append(found.interval.high / found.interval.low)
    doubt = wilson(covered, known)
    assert doubt is not None
    width = f"{sorted(widths)[len(widths) // 2]:.1f}" if 2 * len(widths) > sets else ""
    return [
        way,
        f"`{target.name}`",
        f"{target.probability:.1e}",
        f"{trials // sets:,}",
        f"{sum(values) / sets / target.probability:.2f}",
        f"{100 * known / sets:.0f} %",
        f"{100 * covered / known:.0f} % [{100 * doubt.low:.0f}, {100 * doubt.high:.0f}]",
        width,
        f"{100 * doubted / sets:.0f} %",
    ]


HEAD = (
    "way",
    "target",
    "truth",
    "trials",
    "mean / truth",
    "with interval",
    "covered",
    "high / low",
    "doubted",
)


def made(number: int, sets: int) -> list[str]:
    """One row, by its number: what makes it does not travel to another process."""
    return row(*subjects()[number], sets)


def table(sets: int, pool: Any) -> Iterator[str]:
    """The table."""
    yield from tables.head(*HEAD)
    numbers = range(len(subjects()))
    for found in pool.map(made, numbers, [sets] * len(numbers)):
        yield "| " + " | ".join(found) + " |"


if __name__ == "__main__":
    sys.exit(tables.main(__doc__, PAGE, {"rare failures": table}, sets=TIMES))
