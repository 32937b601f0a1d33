"""What a gate does in the situations that its documentation promises something about: tables of docs/explanation/gates.md.

- *ci*: 100 cases and a margin of 5 points. How often each outcome meets an agent that lost 10 points, and one that is as good as before.
- *flips*: the same cases and margin, by the interval of values between bounds and by the exact one. How often an agent that lost 10
  points fails, and one that is as good as before passes; and how often, at the worst rate of flips, one that is exactly at the margin
  fails or passes. Every outcome is counted, none is drawn.
- *scores*: differences of scores from 0 to 1 and a margin of 3 points. How often an agent passes that is as good as before, and one that
  is exactly at the margin, by several intervals. No interval that holds for every distribution passes more equal agents than the last
  column says: of those that lose everything on a share of cases as large as the margin, (1 - margin)^n show it on none of n cases, and
  at most 2.5 % of all may pass.
- *large values*: a limit on a time or a cost that the agent is exactly at. How often it passes, by the interval that knows no largest
  value and by the one that does; 2.5 % is what the policy states.
- *advice*: an agent that is worse by exactly the margin. After every INCONCLUSIVE or WORSE look, as many cases are added as the verdict
  asks for, or half as many again where it asks for none, up to six times. How often it has passed after one, three and six rounds: by
  judging each look as if it were the only one, and with looks that are counted.
- *kappa*: a judge whose kappa with people is exactly at the limit. How often it passes, by an interval on kappa's own scale and by the one
  on the scale of log(1 - kappa), and how often it fails; 2.5 % is what the policy states for each.
- *these cases*: 50 cases and a margin of 5 points. How often an agent that is as good as before, and one that is worse by exactly the
  margin on these cases, pass by what the rules speak of and by the attempts at each case.

The draws come from fixed seeds, so the tables repeat exactly. `--update-docs` writes them into the page, between their markers.
"""

import sys
import zlib
from collections import Counter
from dataclasses import replace
from math import comb, log, log1p, sqrt
from random import Random
from statistics import fmean, variance

import tables
from calipers.gate.agreement_rules import Ratings
from calipers.gate.claims import Claim, judge_claims
from calipers.gate.looks import confidence_at
from calipers.gate.measure import Level, MeanDifference, TotalGrowth, attempts_apart
from calipers.stats import Interval, t_interval
from calipers.stats.bounded import bounded_interval
from calipers.stats.distributions import normal_quantile
from calipers.stats.tango import exact_paired
from simulated_gates import DOUBT, PAGE, Counted, claim

SETS = 2000
CI_CASES, CI_MARGIN, CI_FLIPS, CI_LOSSES = 100, 0.05, (0.1, 0.2, 0.3), (-0.1, 0.0)


def flipping(draw, n, flips, difference):
    """Outcomes of the new and the old agent on n cases, of which a share is passed by one of them only."""
    only_new, only_old = (flips + difference) / 2, (flips - difference) / 2
    pairs = []
    for _ in range(n):
        place = draw.random()
        pairs.append((place < only_new, only_new <= place < only_new + only_old))
    return pairs


def ci_outcomes(cell):
    """How often each outcome is given."""
    flips, difference, sets = cell
    draw = Random(zlib.crc32(f"{flips} {difference}".encode()))
    found = Counter[str]()
    for _ in range(sets):
        asked = replace(claim(flipping(draw, CI_CASES, flips, difference), CI_MARGIN), par=0.0)
        found[judge_claims([asked], confidence=1 - 2 * DOUBT, correct=True)[0].outcome] += 1
    return found


def ci_table(sets, pool):
    cells = [(flips, difference, sets) for difference in CI_LOSSES for flips in CI_FLIPS]
    yield from tables.head(
        "true difference:", "cases that flip:", "FAIL:", "WORSE:", "INCONCLUSIVE:", "PASS:"
    )
    for (flips, difference, _), found in tables.results(pool, ci_outcomes, cells).items():
        shown = (
            f"{100 * found[outcome] / sets:.1f} %" for outcome in ("FAIL", "WORSE", "INCONCLUSIVE", "PASS")
        )
        yield f"| {100 * difference:+.0f} points | {flips:.0%} | {' | '.join(shown)} |"


FLIP_SHARES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4)
FLIP_WAYS = {
    "Gaffke": lambda better, worse, n: bounded_interval(
        [1.0] * better + [-1.0] * worse + [0.0] * (n - better - worse), low=-1.0, high=1.0
    ),
    "exact": exact_paired,
}


def passing(way):
    """For each number of cases that are worse, how many have to be better to pass; and, turned around, to fail."""
    found = []
    for limit in (-CI_MARGIN, CI_MARGIN):
        rows, few = [], 0
        for worse in range(CI_CASES + 1):
            while few <= CI_CASES - worse and FLIP_WAYS[way](few, worse, CI_CASES).low <= limit:
                few += 1
            if few > CI_CASES - worse:
                break
            rows.append(few)
        found.append(rows)
    return found


def chance_of(rows, better, worse):
    """How likely so many are better, for each number that is worse, by the chances of one case to be either."""
    return sum(
        comb(CI_CASES, many)
        * worse**many
        * comb(CI_CASES - many, few)
        * better**few
        * max(0.0, 1 - better - worse) ** (CI_CASES - many - few)
        for many, least in enumerate(rows)
        for few in range(least, CI_CASES - many + 1)
    )


def at_worst(rows, difference):
    """The largest chance over all rates of flips."""
    rates = (abs(difference) + (1 - abs(difference)) * place / 100 for place in range(101))
    return max(chance_of(rows, (rate + difference) / 2, (rate - difference) / 2) for rate in rates)


def flips_table(_, pool):
    regions = tables.results(pool, passing, FLIP_WAYS)
    yield from tables.head(
        "true difference:", "cases that flip:", "outcome", *(f"{way}:" for way in FLIP_WAYS)
    )
    for difference, outcome in ((-0.1, "FAIL"), (0.0, "PASS")):
        for flips in FLIP_SHARES:
            if flips >= abs(difference):
                only_new, only_old = (flips + difference) / 2, (flips - difference) / 2
                cells = [
                    chance_of(failed, only_old, only_new)
                    if outcome == "FAIL"
                    else chance_of(passed, only_new, only_old)
                    for passed, failed in regions.values()
                ]
                yield _flips_row(f"{100 * difference:+.0f} points", f"{flips:.0%}", outcome, cells)
    for outcome in ("FAIL", "PASS"):
        cells = [
            at_worst(failed, CI_MARGIN) if outcome == "FAIL" else at_worst(passed, -CI_MARGIN)
            for passed, failed in regions.values()
        ]
        yield _flips_row(f"{-100 * CI_MARGIN:+.0f} points", "the worst share", outcome, cells)


def _flips_row(*cells):
    *names, found = cells
    return f"| {' | '.join(names)} | {' | '.join(f'{100 * each:.1f} %' for each in found)} |"


SCORE_MARGIN = 0.03


def noise(draw):
    return draw.gauss(0, 0.1) - draw.gauss(0, 0.1)


DIFFERENCES = {
    "noise of 0.1 on each side": lambda draw, loss: noise(draw) - loss,
    "the same, and a few lose everything": lambda draw, loss: -1.0 if draw.random() < loss else noise(draw),
    "equal, but a few lose everything": lambda draw, loss: -float(draw.random() < loss),
    "equal, but some lose half": lambda draw, loss: -0.5 * (draw.random() < 2 * loss),
    "better by 0.02, but a few lose everything": lambda draw, loss: (
        -1.0 if draw.random() < (loss + 0.02) / 1.02 else 0.02
    ),
    "0.1 better or worse": lambda draw, loss: 0.1 if draw.random() < 0.5 - 5 * loss else -0.1,
    "small losses, seldom large": lambda draw, loss: -draw.expovariate(1 / loss),
}


def bernstein(values):
    """The lower end by the empirical Bernstein bound (Maurer & Pontil, 2009)."""
    doubt = log(2 / DOUBT)
    n, spread = len(values), variance(values)
    return fmean(values) - sqrt(2 * spread * doubt / n) - 7 * 2 * doubt / (3 * (n - 1))


def bets_pass(values):
    """Whether bets that are made for so many values refute the margin (Waudby-Smith & Ramdas, 2024, hedged, one side)."""
    least = (1 - SCORE_MARGIN) / 2
    total, squares, capital = 0.5, 0.25, 0.0
    for number, value in enumerate(values, 1):
        stake = min(0.9 / least, sqrt(2 * log(1 / DOUBT) * number / (len(values) * squares)))
        x = (value + 1) / 2
        capital += log1p(stake * (x - least))
        if capital >= log(1 / DOUBT):
            return True
        total += x
        squares += (x - total / (number + 1)) ** 2
    return False


SCORE_WAYS = {
    "Student's t": lambda values: t_interval(values).low > -SCORE_MARGIN,
    "empirical Bernstein": lambda values: bernstein(values) > -SCORE_MARGIN,
    "betting": bets_pass,
    "Gaffke": lambda values: bounded_interval(values, low=-1.0, high=1.0).low > -SCORE_MARGIN,
}


def scored(cell):
    """How often an agent passes by each interval."""
    kind, loss, n, sets = cell
    draw = Random(zlib.crc32(f"{kind} {loss} {n}".encode()))
    passed = Counter[str]()
    for _ in range(sets):
        values = [max(-1.0, min(1.0, DIFFERENCES[kind](draw, loss))) for _ in range(n)]
        passed.update(name for name, passes in SCORE_WAYS.items() if passes(values))
    return passed


def scores_table(sets, pool):
    first = next(iter(DIFFERENCES))
    cells = [(first, 0.0, n, sets // 2) for n in (100, 200, 400)]
    cells += [(kind, SCORE_MARGIN, 100, sets // 2) for kind in DIFFERENCES]
    ways = (f"{way}:" for way in SCORE_WAYS)
    yield from tables.head("true difference:", "differences", "cases:", *ways, "at most:")
    for (kind, loss, n, part), found in tables.results(pool, scored, cells).items():
        most = DOUBT if loss else min(1.0, DOUBT / (1 - SCORE_MARGIN) ** n)
        shown = " | ".join(
            f"{100 * share:.1f} %" for share in [*(found[way] / part for way in SCORE_WAYS), most]
        )
        yield f"| {0 - 100 * loss:+.0f} points | {kind} | {n} | {shown} |"


def lognormal(draw):
    return min(LARGEST, draw.lognormvariate(0, 1))


def runaway(draw):
    return LARGEST if draw.random() < 0.01 else draw.uniform(0.5, 1.5)


def hang(draw):
    return LARGEST if draw.random() < 0.02 else draw.uniform(0.5, 1.5)


SPREADS = {"lognormal": lognormal, "1 % cost 60 times as much": runaway, "2 % hang": hang}
LARGEST, LARGE_SIZES = 60.0, (30, 100, 300)


def large_values(cell):
    """How often a level, and a growth, pass that are exactly at their limits: unbounded, then bounded."""
    spread, n, sets = cell
    one = SPREADS[spread]
    many = Random(1)
    truth = sum(one(many) for _ in range(400_000)) / 400_000
    draw = Random(zlib.crc32(f"{spread} {n}".encode()))
    passed = Counter[str]()
    for number in range(sets):
        new, old = ([[one(draw)] for _ in range(n)] for _ in range(2))
        for name, bounds in (("level", None), ("bounded level", (0.0, LARGEST))):
            interval = Level(cases=new, bounds=bounds).interval(1 - 2 * DOUBT)
            passed[name] += interval is not None and interval.high < truth
        if number % 4 == 0:  # a growth takes longer to compute
            faster = [[value / 1.1 for value in values] for values in old]
            for name, most in (("growth", None), ("bounded growth", LARGEST)):
                interval = TotalGrowth(run=new, baseline=faster, most=most).interval(1 - 2 * DOUBT)
                passed[name] += interval is not None and interval.high < 0.1
    whole, part = sets, len(range(0, sets, 4))
    return {name: count / (part if "growth" in name else whole) for name, count in passed.items()}


def large_values_table(sets, pool):
    cells = [(spread, n, sets // 5) for spread in SPREADS for n in LARGE_SIZES]
    ways = ("`at_most`, t:", "with `max_possible`:", "`max_growth`, Fieller:", "with `max_possible`:")
    yield from tables.head("values", "cases:", *ways)
    for (spread, n, _), found in tables.results(pool, large_values, cells).items():
        names = ("level", "bounded level", "growth", "bounded growth")
        shown = (f"{100 * found.get(name, 0):.1f} %" for name in names)
        yield f"| {spread} | {n} | {' | '.join(shown)} |"


ADVICE_FLIPS, ADVICE_SIZES, ADVICE_MARGIN, ROUNDS = (0.1, 0.2, 0.4), (50, 200), 0.05, (1, 3, 6)
MOST_CASES = 20_000


def advised(cell):
    """After which look each agent passed, by looks that are counted and by those that are not."""
    flips, n, sets = cell
    draw = Random(zlib.crc32(f"{flips} {n}".encode()))
    found = {}
    for counted in (False, True):
        found[counted] = [_follow(draw, flips, n, counted=counted) for _ in range(sets)]
    return found


class Followed(Counted):
    """The measure of a margin at one look, whose exact interval is computed where it may matter, since it takes a while for many cases.

    Where the margin and no change lie well inside or well outside Tango's score interval, on which the exact one rests, that serves.
    """

    def interval(self, confidence):
        tail = (1 - confidence) / 2
        near, far = -normal_quantile(min(0.4, 2 * tail)), -normal_quantile(tail / 4)
        margin, none = (abs(self.score(each)) for each in (-ADVICE_MARGIN, 0.0))
        if margin < near and not near < none < far:
            wanted = -normal_quantile(tail)
            return Interval(self.end(-1.0, wanted), self.end(1.0, wanted), confidence)
        return Counted.interval(self, confidence)

    def score(self, difference):
        """How many standard errors what was seen lies above a difference, were that one true (Tango, 1998)."""
        b = (2 * self.n - self.better + self.worse) * difference - self.better - self.worse
        c = -self.worse * difference * (1 - difference)
        rate = (sqrt(max(0.0, b * b - 8 * self.n * c)) - b) / (4 * self.n)
        spread = self.n * (2 * rate + difference * (1 - difference))
        return (self.better - self.worse - self.n * difference) / sqrt(spread) if spread > 0 else 0.0

    def end(self, outer, wanted):
        """Where the score is so large, between the value and the outermost difference."""
        inner = self.value
        for _ in range(30):
            middle = (inner + outer) / 2
            inner, outer = (middle, outer) if abs(self.score(middle)) < wanted else (inner, middle)
        return inner

    def needed(self, limit, confidence):
        return self.change().needed(limit, confidence)


def _follow(draw, flips, n, *, counted):
    better = worse = total = 0
    wanted = n
    for look in range(1, ROUNDS[-1] + 2):
        pairs = flipping(draw, wanted - total, flips, -ADVICE_MARGIN)
        better += sum(new for new, _ in pairs)
        worse += sum(old for _, old in pairs)
        total = wanted
        measure = Followed(better, worse, total)
        asked = Claim(
            subject="", rule="", measure=measure, limit=-ADVICE_MARGIN, par=0.0, unit="rate", signed=True
        )
        level, later = (
            confidence_at(1 - 2 * DOUBT, number) if counted else 1 - 2 * DOUBT for number in (look, look + 1)
        )
        verdict = judge_claims([asked], confidence=level, correct=True, next_confidence=later)[0]
        if verdict.outcome in {"PASS", "FAIL"}:
            return look if verdict.outcome == "PASS" else None
        wanted = total + (verdict.more_cases or total // 2)
        if wanted > MOST_CASES:
            return None
    return None


def advice_table(sets, pool):
    cells = [(flips, n, sets // 2) for flips in ADVICE_FLIPS for n in ADVICE_SIZES]
    rounds = (f"{each} round{'s' * (each > 1)}:" for each in ROUNDS)
    yield from tables.head("cases that flip:", "first look at:", "looks", "first look:", *rounds)
    for (flips, n, part), found in tables.results(pool, advised, cells).items():
        for counted, passed in found.items():
            shown = (
                f"{100 * sum(look is not None and look <= 1 + each for look in passed) / part:.1f} %"
                for each in (0, *ROUNDS)
            )
            way = "counted" if counted else "each for itself"
            yield f"| {flips:.0%} | {n} cases | {way} | {' | '.join(shown)} |"


THESE_CASES, THESE_REPEATS, THESE_LOSSES = 50, (1, 3, 10), (0.0, -0.05)
POPULATIONS = ("cases-like-these", "these-cases")


def these_cases(cell):
    """How often an agent passes by each population."""
    repeats, loss, sets = cell
    draw = Random(zlib.crc32(f"{repeats} {loss}".encode()))
    passed = Counter[str]()
    for _ in range(sets):
        # Most cases are passed nearly always or hardly ever; a loss lies in some of those that are passed.
        old = [draw.betavariate(0.8, 0.2) for _ in range(THESE_CASES)]
        worst = sum(chance > 0.5 for chance in old)
        new = [chance + (loss * THESE_CASES / worst if chance > 0.5 else 0.0) for chance in old]
        after, before = (
            [[float(draw.random() < chance) for _ in range(repeats)] for chance in side]
            for side in (new, old)
        )
        for population in POPULATIONS:
            pair = (after, before) if population == "cases-like-these" else attempts_apart(after, before)
            measure = MeanDifference(run=pair[0], baseline=pair[1], is_rate=True)
            passed[population] += measure.interval(1 - 2 * DOUBT).low > -0.05
    return {population: passed[population] / sets for population in POPULATIONS}


def these_table(sets, pool):
    cells = [(repeats, loss, sets) for loss in THESE_LOSSES for repeats in THESE_REPEATS]
    passes = (f"`{population}` passes:" for population in POPULATIONS)
    yield from tables.head("true difference:", "attempts at each case:", *passes)
    for (repeats, loss, _), found in tables.results(pool, these_cases, cells).items():
        shown = " | ".join(f"{100 * found[population]:.1f} %" for population in POPULATIONS)
        yield f"| {100 * loss:+.0f} points | {repeats} | {shown} |"


KAPPAS, KAPPA_PASSES, KAPPA_LABELS = (0.4, 0.6, 0.8), (0.5, 0.8, 0.9, 0.95), (50, 100, 200)


def kappa_passes(cell):
    """How often a judge that is exactly at the limit passes, on kappa's own scale and by the gate, and fails by the gate."""
    kappa, passes, n, sets = cell
    draw = Random(zlib.crc32(f"{kappa} {passes} {n}".encode()))
    apart = 2 * passes * (1 - passes) * (1 - kappa) / 2
    answers = [(1, 1), (1, 0), (0, 1), (0, 0)]
    weights = [passes - apart, apart, apart, 1 - passes - apart]
    plain = passed = failed = 0
    for _ in range(sets):
        judge, human = zip(*draw.choices(answers, weights, k=n), strict=True)
        ratings = Ratings(judge=list(judge), human=list(human), by="kappa")
        interval = None if ratings.why_open("") else ratings.interval(1 - 2 * DOUBT)
        if interval is None:
            continue
        passed += interval.low > kappa
        failed += interval.high < kappa
        # The ends stand at equal distances from log(1 - kappa); on kappa's own scale, the same errors of the jackknife are these.
        rest = 1 - ratings.value
        plain += (1 - rest - rest * log((1 - interval.low) / rest) if rest else interval.low) > kappa
    return plain / sets, passed / sets, failed / sets


def kappa_table(sets, pool):
    cells = [(kappa, passes, n, sets) for kappa in KAPPAS for passes in KAPPA_PASSES for n in KAPPA_LABELS]
    found = tables.results(pool, kappa_passes, cells)
    yield from tables.head("kappa:", "people pass:", *(f"{n} labels:" for n in KAPPA_LABELS))
    for kappa in KAPPAS:
        for passes in KAPPA_PASSES:
            cells = (found[kappa, passes, n, sets] for n in KAPPA_LABELS)
            shown = " | ".join(" / ".join(f"{100 * each:.1f}" for each in cell) for cell in cells)
            yield f"| {kappa} | {passes:.0%} | {shown} |"


TABLES = {
    "these cases": these_table,
    "ci": ci_table,
    "flips": flips_table,
    "scores": scores_table,
    "large values": large_values_table,
    "advice": advice_table,
    "kappa": kappa_table,
}


if __name__ == "__main__":
    sys.exit(tables.main(__doc__, PAGE, TABLES, sets=SETS))
