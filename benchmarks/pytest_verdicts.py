"""How often a test of an unsteady agent is red, and how often it is open: the tables of docs/how-to/pytest.md.

- *pytest gate*: 50 cases, and a pass rate of 90 % is asked for. By the true rate of the agent, how often the test is red: by the rate that
  was measured (`assert_rate`), by its whole interval, by the fixture `gate`, and by `gate.until_decided` with at most five rounds.
- *pytest baseline*: 50 cases, and a margin of 5 points against a run of an agent that passes 90 %. By the true difference, how often
  the test is red (FAIL, WORSE) and how often it is open.

Every case has the same chance to be passed, which is where a measured rate varies most. The draws come from fixed seeds, so the tables
repeat exactly. `--update-docs` writes them into the page, between their markers.
"""

import sys
import zlib
from collections import Counter
from functools import cache
from random import Random

import msgspec

import tables
from calipers import Case, Dataset
from calipers.gate import Policy, Rules, judge_run
from calipers.pytest_plugin.gate_fixture import share_of
from calipers.testing import assert_rate

SETS = 2000
CASES, ASKED, ROUNDS = 50, 0.9, 5
RATES = (0.7, 0.8, 0.85, 0.9, 0.95, 0.98)
BEFORE, MARGIN, CHANGES = 0.9, 0.05, (-0.3, -0.2, -0.1, -0.05, 0.0, 0.05)
PAGE = tables.DOCS.parent / "how-to" / "pytest.md"
LEVEL = Policy(pass_rate=Rules(at_least=ASKED), population="these-cases")
CHANGE = Policy(pass_rate=Rules(margin=MARGIN), population="these-cases")


def holds(output):
    return output


def report(outcomes, rounds=1):
    """What a run says whose attempts pass or not, as given, round by round."""
    turns = iter(outcomes)
    by_case = {n: [next(turns) for _ in range(rounds)] for n in range(CASES)}
    dataset = Dataset(cases=[Case(name=str(n), inputs=n) for n in range(CASES)], evaluators=[holds])

    async def task(n):
        return by_case[n].pop()

    return dataset.evaluate_sync(task, repeat=rounds, max_concurrency=1, progress=False)


def some(passed, attempts):
    return [True] * passed + [False] * (attempts - passed)


@cache
def verdict(passed, rounds, share):
    """Of a gate: attempts are its units, so that it depends on how many passed and on nothing else."""
    policy = msgspec.structs.replace(LEVEL, confidence=1 - (1 - LEVEL.confidence) * share)
    return judge_run(report(some(passed, CASES * rounds), rounds), policy).outcome


@cache
def is_red(passed, whole_interval):
    try:
        assert_rate(report(some(passed, CASES)), at_least=ASKED, whole_interval=whole_interval)
    except AssertionError:
        return True
    return False


def gate_table(sets, _pool):
    ways = (
        "`assert_rate` red:",
        "`whole_interval` red:",
        "`gate` red:",
        "open:",
        "`until_decided` red:",
        "open:",
    )
    yield from tables.head("true rate:", *ways, "rounds:")
    for rate in RATES:
        draw = Random(zlib.crc32(f"{rate}".encode()))
        found = Counter()
        for _ in range(sets):
            passed = [sum(draw.random() < rate for _ in range(CASES)) for _ in range(ROUNDS)]
            found["rate"] += is_red(passed[0], False)
            found["whole"] += is_red(passed[0], True)
            found[f"once {verdict(passed[0], 1, 1.0)}"] += 1
            for looks in range(1, ROUNDS + 1):
                outcome = verdict(sum(passed[:looks]), looks, share_of(looks, ROUNDS))
                if outcome != "INCONCLUSIVE":
                    break
            found[f"rounds {outcome}"] += 1
            found["looks"] += looks
        names = ("rate", "whole", "once FAIL", "once INCONCLUSIVE", "rounds FAIL", "rounds INCONCLUSIVE")
        shown = " | ".join(f"{100 * found[name] / sets:.1f} %" for name in names)
        yield f"| {100 * rate:.0f} % | {shown} | {found['looks'] / sets:.1f} |"


@cache
def against(both, only_new, only_old):
    """Of a gate against a baseline: it depends on how many cases changed, and how."""
    rest = CASES - both - only_new - only_old
    new = [True] * both + [True] * only_new + [False] * only_old + [False] * rest
    old = [True] * both + [False] * only_new + [True] * only_old + [False] * rest
    return judge_run(report(new), CHANGE, baseline=report(old)).outcome


def baseline_table(sets, _pool):
    yield from tables.head("true difference:", "FAIL:", "WORSE:", "INCONCLUSIVE:", "PASS:")
    for change in CHANGES:
        draw = Random(zlib.crc32(f"change {change}".encode()))
        found = Counter()
        for _ in range(sets):
            pairs = Counter((draw.random() < BEFORE + change, draw.random() < BEFORE) for _ in range(CASES))
            found[against(pairs[True, True], pairs[True, False], pairs[False, True])] += 1
        shown = " | ".join(
            f"{100 * found[each] / sets:.1f} %" for each in ("FAIL", "WORSE", "INCONCLUSIVE", "PASS")
        )
        yield f"| {100 * change:+.0f} points | {shown} |"


TABLES = {"pytest gate": gate_table, "pytest baseline": baseline_table}


if __name__ == "__main__":
    sys.exit(tables.main(__doc__, PAGE, TABLES, sets=SETS))
