"""What a gate asks of a judge's passport."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from calipers import Case, Dataset
from calipers.errors import InvalidOptionError
from calipers.gate import PassportRules, Policy, Rules, judge_run
from calipers.report import Measurement, Passport, Report, Standing
from calipers.report.passport import passport_identity, standing_of
from calipers.stats import Interval


def passport(*, days=0, labels=100, **measured):
    at = datetime.now(UTC) - timedelta(days=days)
    return Passport(
        judge="kind",
        identity="x",
        at=at.isoformat(),
        labels=labels,
        measured={
            trait: Measurement(value=(low + high) / 2, interval=Interval(low, high), n=labels)
            for trait, (low, high) in measured.items()
        },
        unmeasured={"order_bias": "it judges one answer at a time"},
    )


def judged(standing):
    def kind(output):
        return output > 0

    cases = [Case(name=str(number), inputs=number) for number in range(20)]
    report = Dataset(name="d", cases=cases, evaluators=[kind]).evaluate_sync(
        lambda number: number, progress=False
    )
    return msgspec.structs.replace(report, passports={} if standing is None else {"kind": standing})


def findings(standing, **rules):
    policy = Policy(evaluators={"kind": Rules(passport=PassportRules(**rules))})
    verdict = judge_run(judged(standing), policy)
    return {each.rule: each for each in verdict.findings if each.subject == "kind"}


def outcome(standing, **rules):
    outcomes = {each.outcome for each in findings(standing, **rules).values()}
    return next(each for each in ("FAIL", "INCONCLUSIVE", "PASS") if each in outcomes)


OWN = Standing(passport=passport(kappa=(0.65, 0.8)))


def test_a_passport_of_this_judge_passes():
    assert outcome(OWN) == "PASS"


@pytest.mark.parametrize(
    ("standing", "said"),
    [
        (None, "does not say which judge"),
        (Standing(), "it has none"),
        (Standing(unknown="no source"), "cannot be known: no source"),
        (Standing(other=passport(), changes=("version changed from 'a' to 'b'",)), "from 'a' to 'b'"),
    ],
)
def test_without_one_the_gate_is_inconclusive_and_says_how_to_make_one(standing, said):
    (found,) = findings(standing, kappa=0.6).values()
    assert found.outcome == "INCONCLUSIVE"
    assert said in found.said
    assert found.advice


def test_the_command_that_makes_one_is_named():
    (found,) = findings(Standing()).values()
    assert "calipers judge check" in found.advice


@pytest.mark.parametrize(
    ("days", "expected"), [(10, "PASS"), (100, "INCONCLUSIVE"), (-0.5, "PASS"), (-9, "INCONCLUSIVE")]
)
def test_a_passport_may_be_too_old(days, expected):
    assert outcome(Standing(passport=passport(days=days)), max_age_days=90) == expected


def test_few_labels_are_inconclusive():
    assert outcome(OWN, min_labels=100) == "PASS"
    assert outcome(OWN, min_labels=101) == "INCONCLUSIVE"


@pytest.mark.parametrize(
    ("limit", "expected"), [(0.6, "PASS"), (0.65, "PASS"), (0.7, "INCONCLUSIVE"), (0.85, "FAIL")]
)
def test_the_interval_decides_not_the_value(limit, expected):
    assert outcome(OWN, kappa=limit) == expected


@pytest.mark.parametrize(("limit", "expected"), [(0.3, "PASS"), (0.1, "INCONCLUSIVE"), (0.02, "FAIL")])
def test_what_should_be_small_has_to_lie_below(limit, expected):
    standing = Standing(passport=passport(injections_through=(0.05, 0.2)))
    assert outcome(standing, max_injections=limit) == expected


@pytest.mark.parametrize(("limit", "expected"), [(0.3, "PASS"), (0.1, "INCONCLUSIVE"), (0.02, "FAIL")])
def test_a_bias_counts_either_way(limit, expected):
    standing = Standing(passport=passport(length_bias=(-0.2, -0.05), order_bias=(0.3, 0.45)))
    assert outcome(standing, max_length_bias=limit) == expected
    assert outcome(standing, max_order_bias=limit) == expected


def test_a_bias_whose_interval_holds_none_is_not_shown():
    assert outcome(Standing(passport=passport(length_bias=(-0.2, 0.1))), max_length_bias=0.3) == "PASS"
    assert (
        outcome(Standing(passport=passport(length_bias=(-0.2, 0.1))), max_length_bias=0.15) == "INCONCLUSIVE"
    )


def test_what_was_not_measured_is_inconclusive_and_says_why():
    found = findings(OWN, max_order_bias=0.1)
    assert [each.said for each in found.values() if each.outcome == "INCONCLUSIVE"] == [
        "not measured: it judges one answer at a time"
    ]


def test_a_pass_rate_has_no_passport():
    with pytest.raises(InvalidOptionError, match="passport"):
        Policy(pass_rate=Rules(at_least=0.5, passport=PassportRules()))


def test_what_a_judge_is_called_is_no_part_of_its_identity():
    parts = {"source": "a", "parameter evaluation_name": "'x'"}
    assert passport_identity(parts) == passport_identity({"source": "a"})
    assert passport_identity(parts) != passport_identity({"source": "b"})


def test_a_changed_judge_has_no_passport():
    parts = {"source": "LLMJudge", "version": "prompt 1, openai:a"}
    own = msgspec.structs.replace(passport(), identity=passport_identity(parts), parts=parts)
    assert standing_of("kind", parts, [own]).passport == own
    other = standing_of("kind", {**parts, "version": "prompt 1, openai:b"}, [own])
    assert other.passport is None
    assert other.other == own
    assert "openai:b" in other.changes[0]
    assert standing_of("other", {"source": "y"}, [own]) == Standing()


def test_a_report_keeps_the_standing_of_its_judges():
    report = judged(OWN)
    assert Report.from_dict(report.to_dict()).passports == {"kind": OWN}
