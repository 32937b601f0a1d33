"""What a policy asks of a judge's passport: that there is one, how old it may be, and what it has to show.

A judge without a passport, with one that is too old, or with one of another judge is INCONCLUSIVE, not FAIL: nothing is known against the
run, and a check of the judge could settle it. FAIL would say that the agent is not good enough, which no one has seen. A trait whose whole
interval lies on the bad side of its limit is FAIL: the judge has been measured, and it is not good enough to decide by.

The intervals are those of the passport, at the confidence of its check. They share no doubt with the other rules of the policy, since they
are not about the run.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Final, NamedTuple

from calipers.report.passport import TRAITS, Measurement, Passport, Standing, Trait
from calipers.stats import Interval
from calipers.stats.number_text import first_few, plural

from .policy import PassportRules
from .run_rules import undecided
from .verdict import Finding, Outcome, Unit, interval_words, limit_words, quantity

CHECK: Final = "`calipers judge check JUDGE --run RUN`, with labels of people, makes one"
_CLOCKS_DIFFER: Final = 1.0
"""Days by which the clocks of two machines may differ."""
_MORE: Final = "label more attempts, and check the judge again"


class _Wanted(NamedTuple):
    """A limit that a policy may set, and the trait that it is about."""

    field: str
    trait: Trait
    at_least: bool = True
    neutral: float | None = None
    """What a judge without bias has: the limit is on the distance from it; `None`: on the value itself."""


_LIMITS: Final = (
    _Wanted("kappa", "kappa"),
    _Wanted("share", "agreement"),
    _Wanted("sensitivity", "sensitivity"),
    _Wanted("specificity", "specificity"),
    _Wanted("self_consistency", "self_consistency"),
    _Wanted("max_injections", "injections_through", at_least=False),
    _Wanted("max_order_bias", "order_bias", at_least=False, neutral=0.5),
    _Wanted("max_length_bias", "length_bias", at_least=False, neutral=0.0),
    _Wanted("max_self_preference", "self_preference", at_least=False, neutral=0.0),
)


def passport_findings(
    name: str, evaluators: Collection[str], rules: PassportRules, standings: Mapping[str, Standing]
) -> Iterator[Finding]:
    """What the passports of the judges behind a column say to the rules.

    Args:
        name: of the column.
        evaluators: whose results it holds.
        rules: what is asked of their passports.
        standings: by evaluator, whether it has one.
    """
    for evaluator in sorted(evaluators):
        subject = name if len(evaluators) == 1 else f"{name} ({evaluator})"
        passport = _own(subject, standings.get(evaluator))
        if isinstance(passport, Finding):
            yield passport
            continue
        yield _known(subject, passport)
        if rules.max_age_days is not None:
            yield _age(subject, passport, rules.max_age_days)
        if rules.min_labels is not None:
            yield _labels(subject, passport, rules.min_labels)
        for wanted in _LIMITS:
            limit = getattr(rules, wanted.field)
            if limit is not None:
                yield _trait(subject, passport, wanted, limit)


def _own(subject: str, standing: Standing | None) -> Passport | Finding:
    rule = "the judge has a passport"
    if standing is None:
        return undecided(
            subject,
            rule,
            "the report does not say which judge this is",
            "gate a run that is kept in a store, and judged by a judge of calipers.judges, or by an evaluator with is_judge = True",
        )
    if standing.passport is not None:
        return standing.passport
    if standing.unknown is not None:
        said = f"which judge this is cannot be known: {standing.unknown}"
        return undecided(subject, rule, said, "give the judge a version, and check it")
    if standing.other is None:
        return undecided(subject, rule, "it has none", CHECK)
    what = first_few(list(standing.changes)) or "it differs"
    said = f"the passport of {standing.other.at[:10]} is of another judge ({what})"
    return undecided(subject, rule, said, CHECK)


def _known(subject: str, passport: Passport) -> Finding:
    said = f"checked on {passport.at[:10]} by {plural(passport.labels, 'label')}"
    return Finding(subject=subject, rule="the judge has a passport", outcome="PASS", said=said)


def _age(subject: str, passport: Passport, most: float) -> Finding:
    days = passport.age()
    to_come = days < -_CLOCKS_DIFFER
    old = days > most or to_come
    when = "which is to come: a clock is wrong" if to_come else f"{plural(max(0, int(days)), 'day')} ago"
    return Finding(
        subject=subject,
        rule=f"a passport at most {limit_words(most, 'number')} days old",
        outcome="INCONCLUSIVE" if old else "PASS",
        said=f"checked on {passport.at[:10]}, {when}",
        advice="check the judge again: `calipers judge check JUDGE --run RUN`" if old else None,
        value=days,
        limit=most,
        above=False,
    )


def _labels(subject: str, passport: Passport, least: int) -> Finding:
    few = passport.labels < least
    return Finding(
        subject=subject,
        rule=f"a passport by at least {plural(least, 'label')}",
        outcome="INCONCLUSIVE" if few else "PASS",
        said=plural(passport.labels, "label"),
        advice=_MORE if few else None,
        value=float(passport.labels),
        limit=float(least),
    )


def _trait(subject: str, passport: Passport, wanted: _Wanted, limit: float) -> Finding:
    unit: Unit = "number" if wanted.trait == "kappa" else "rate"
    bound = "at least" if wanted.at_least else "at most"
    rule = f"passport: {TRAITS[wanted.trait]}: {bound} {limit_words(limit, unit)}"
    if wanted.neutral is not None:
        away = "points either way" if wanted.neutral == 0 else "points from 50 %"
        rule = f"passport: {TRAITS[wanted.trait]}: at most {limit_words(100 * limit, 'number')} {away}"
    found = passport.measured.get(wanted.trait)
    if found is None:
        why = passport.unmeasured.get(wanted.trait, "the check did not look for it")
        return undecided(subject, rule, f"not measured: {why}", "check the judge again with what it takes")
    value, interval = _distance(found, wanted.neutral)
    outcome: Outcome = "INCONCLUSIVE"
    if interval is not None:
        low, high = interval.low, interval.high
        if (low >= limit) if wanted.at_least else (high <= limit):
            outcome = "PASS"
        elif (high < limit) if wanted.at_least else (low > limit):
            outcome = "FAIL"
    words = "no interval" if interval is None else interval_words(interval, unit)
    return Finding(
        subject=subject,
        rule=rule,
        outcome=outcome,
        said=f"{quantity(value, unit)}, {words}, on {found.n:,}, checked on {passport.at[:10]}",
        advice={"PASS": None, "FAIL": "take another judge, or a better prompt"}.get(outcome, _MORE),
        value=value,
        limit=limit,
        above=wanted.at_least,
        interval=interval,
        approximate=interval is not None and interval.approximate,
        unit=unit,
        n=found.n,
    )


def _distance(found: Measurement, neutral: float | None) -> tuple[float, Interval | None]:
    """The value; of a bias, how far it is from none."""
    if neutral is None or found.interval is None:
        return (found.value if neutral is None else abs(found.value - neutral)), found.interval
    low, high = found.interval.low - neutral, found.interval.high - neutral
    nearest = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
    interval = Interval(nearest, max(abs(low), abs(high)), found.interval.confidence, found.interval.method)
    return abs(found.value - neutral), interval
