import pytest

from calipers import Case, Dataset
from calipers.comparison import LabelChange, LabelMove, compare_reports
from calipers.stats import Estimate, Interval
from calipers.views.comparison.statement import (
    difference_text,
    footnote,
    label_text,
    lead,
    lost_text,
    p_text,
    p_values_text,
    sentence,
)


@pytest.mark.parametrize(
    ("ends", "fields", "words"),
    [
        ((0.012, 0.07), {"outcome": "better"}, "better by 4.1 points, 95 % interval 1.2 to 7.0"),
        (
            (-0.07, -0.012),
            {"outcome": "worse", "difference": -0.041},
            "worse by 4.1 points, 95 % interval 1.2 to 7.0",
        ),
        (
            (0.001, 0.02),
            {"outcome": "better", "difference": 0.01},
            "better by 1.0 points, 95 % interval 0.1 to 2.0: less than the 3 points worth seeing",
        ),
        ((-0.018, 0.002), {"outcome": "same"}, "no difference larger than 1.8 points either way"),
        ((), {"outcome": "identical", "difference": 0.0}, "the same in every one of 100 cases"),
        (
            (),
            {"difference": 0.0, "lost_cases": 35, "candidate_cases": 5, "p_value": 1.0},
            "cannot tell: the same where both runs have it, on 5 cases; 35 cases lost it to something that failed",
        ),
        ((), {"difference": 0.0}, "cannot tell: no difference was seen, and the 100 cases allow no interval"),
        (
            (-0.02, 0.05),
            {"needed_cases": 478},
            "cannot tell: between 2.0 points worse and 5.0 points better; about 380 more cases would show 3 points",
        ),
        (
            (-0.02, 0.05),
            {"needed_cases": 1478, "paired": False},
            "cannot tell: between 2.0 points worse and 5.0 points better; about 1,400 more cases on each side would show 3 points",
        ),
        (
            (-0.02, 0.05),
            {"needed_cases": 80},
            "cannot tell: between 2.0 points worse and 5.0 points better; more cases would narrow it",
        ),
        (
            (0.01, 0.07),
            {"p_value": 0.03, "adjusted_p": 0.2},
            "perhaps better by 4.1 points, 95 % interval 1.0 to 7.0: alone it would count, among all that was compared it may be luck",
        ),
        (
            (0.5, 1.0),
            {"p_value": 0.125, "candidate_cases": 4, "difference": 1.0},
            "cannot tell: seen better by 100.0 points, 95 % interval 50.0 to 100.0, but 4 cases are too few to exclude luck (p 0.125)",
        ),
        (
            (0.5, 1.0),
            {"p_value": 0.125, "clusters": 4, "equal_clusters": 4.0, "difference": 1.0},
            "cannot tell: seen better by 100.0 points, 95 % interval 50.0 to 100.0, but 4 clusters are too few to exclude luck (p 0.125)",
        ),
        (
            (),
            {"candidate_cases": 1, "baseline_cases": 1},
            "cannot tell: one case shows no spread, so no interval can be made",
        ),
        ((), {"clusters": 1}, "cannot tell: one cluster shows no spread, so no interval can be made"),
        (
            (0.03, 0.22),
            {
                "kind": "duration",
                "scale": "relative",
                "better": "lower",
                "outcome": "higher",
                "difference": 0.12,
                "smallest": 0.1,
            },
            "longer by 12.0 %, 95 % interval 3.0 % to 22.0 %",
        ),
        (
            (-0.22, -0.03),
            {
                "kind": "metric",
                "name": "cost_usd",
                "scale": "relative",
                "better": "lower",
                "outcome": "better",
                "difference": -0.12,
                "smallest": 0.1,
            },
            "cheaper by 12.0 %, 95 % interval 3.0 % to 22.0 %",
        ),
        (
            (-0.2, 0.1),
            {"kind": "metric", "name": "output_tokens", "scale": "relative", "better": "lower"},
            "cannot tell: between 20.0 % fewer and 10.0 % more; more cases would narrow it",
        ),
        (
            (2.0, 4.0),
            {"kind": "score", "scale": "number", "better": None, "outcome": "higher", "difference": 3.0},
            "higher by 3, 95 % interval 2 to 4",
        ),
        (
            (0.00001, 0.0001),
            {"outcome": "better", "difference": 0.0001},
            "better by 0.01 points, 95 % interval 0.001 to 0.01: less than the 3 points worth seeing",
        ),
    ],
)
def test_each_outcome_has_its_sentence(change, ends, fields, words):
    assert sentence(change(*ends, **fields)) == words


@pytest.mark.parametrize(
    ("p_value", "text"), [(None, ""), (0.0, "< 0.0001"), (0.00012, "0.00012"), (0.125, "0.125"), (1.0, "1")]
)
def test_a_p_value_is_never_0(p_value, text):
    assert p_text(p_value) == text


def test_p_values_are_told_with_what_was_done_to_them(change):
    found = change(p_value=0.125, adjusted_p=0.25, one_sided_p=0.0625)
    assert p_values_text(found) == "p 0.125 (adjusted 0.25, one-sided 0.0625)"
    assert p_values_text(change(p_value=1.0, adjusted_p=1.0, one_sided_p=0.5)) == "p 1"
    assert p_values_text(change()) == ""


def test_a_difference_shows_its_signs(change):
    assert difference_text(change(-0.012, 0.07)) == ("+4.1", "[-1.2, +7.0]")
    assert difference_text(change(difference=0.0)) == ("0.0", "")


def test_what_evaluators_lost_is_told_with_the_difference_without_it(change):
    assert lost_text(change()) == ""
    assert lost_text(change(candidate_lost=2, judged_difference=0.01)) == (
        "its evaluator did not finish on 0 attempts of the baseline and 2 of the candidate, which count as not passed; without "
        "them the difference is +1.0 points"
    )
    assert "have no score" in lost_text(change(kind="score", baseline_lost=1))


def test_labels_that_moved_are_counted():
    moved = LabelChange(
        name="mood",
        cases=4,
        moves=(LabelMove("x", "y", 1),),
        changed=Estimate(0.25, Interval(0.046, 0.699), n_units=4, n_observations=4),
    )
    assert label_text(moved) == "another label in 1 of 4 cases: 25.0 % [4.6, 69.9]"


@pytest.mark.parametrize(
    ("is_rate", "in_clusters", "paired", "told"),
    [
        (False, True, True, "Those of cases in clusters are approximate"),
        (False, False, True, "Those of scores are approximate"),
        (True, True, True, "Those of cases in clusters are approximate"),
        (True, True, False, "Those of cases in clusters are approximate"),
        (True, False, True, None),
        (True, False, False, None),
    ],
)
def test_intervals_that_go_by_the_spread_are_called_approximate(is_rate, in_clusters, paired, told):
    def judged(output):
        return output > 0.5 if is_rate else output

    one, two = (
        Dataset(
            name="d",
            cases=[
                Case(
                    name=f"{n}{part}", inputs=n + shift, cluster=f"document {n // 4}" if in_clusters else None
                )
                for n in range(40)
            ],
            evaluators=[judged],
        ).evaluate_sync(task, progress=False, seed=1)
        for task, part, shift in (
            (lambda n: n / 40, "", 0),
            (lambda n: n / 50, *(("", 0) if paired else ("b", 0.5))),
        )
    )
    text = footnote(compare_reports(one, two))
    assert told in text if told else "approximate" not in text


def test_a_few_large_clusters_among_many_are_told_by_what_they_are_worth():
    clusters = [0] * 30 + [1] * 30 + list(range(2, 30))

    def gain(n):
        return 0.2 if n < 60 else 0.1 * (-1) ** n

    def score(output):
        return output

    cases = [Case(name=f"{n}", inputs=n, cluster=f"document {c}") for n, c in enumerate(clusters)]
    dataset = Dataset(name="d", cases=cases, evaluators=[score])
    tasks = (lambda n: 0.4 + n / 10_000, lambda n: 0.4 + n / 9_000 + gain(n))
    found = compare_reports(*(dataset.evaluate_sync(task, progress=False) for task in tasks))
    assert (
        "but 30 clusters of unequal sizes, worth about 4 equal ones, are too few to exclude luck"
        in sentence(found.change("score"))
    )
    assert lead(found)[-1].startswith("Add cases in new clusters: these are too few to exclude luck")


@pytest.mark.parametrize("difference", [1e-17, -2.3e-16, 0.0])
def test_what_sums_are_rounded_by_is_no_difference(change, difference):
    text, _ = difference_text(change(difference=difference))
    assert text == "0.0"
