"""Accuracy against the strength of a perturbation."""

import asyncio
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, Dataset
from calipers.errors import InvalidOptionError
from calipers.report.report import Report
from calipers.stats import rate_from_counts
from calipers.voice import Sweep, SweepPoint, VoiceTask, sweep, tool_call
from calipers.voice.demo import OfflineAgent, spoken_requests
from calipers.voice.perturbations import Noise
from calipers.voice.synthesizers import EspeakSynthesizer

CASES = [
    Case(name="long", inputs="set lamp red", expected_output=[tool_call("set", what="lamp", to="red")]),
    Case(name="none", inputs="be quiet", expected_output=[]),
]


@pytest.fixture
def curve(ear, voice):
    def curve(levels, **options):
        parts = {"cases": CASES, "agent": ear, "synthesizer": voice, **options}
        return asyncio.run(sweep(parts.pop("cases"), levels, **parts))

    return curve


def test_every_level_gets_every_request(curve, mumble):
    found = curve({None: None, 1: mumble(1), 2: mumble(2)}, label="words")
    assert [point.level for point in found.points] == [None, 1, 2]
    assert [point.rate.value for point in found.points] == [1.0, 0.5, 0.5]
    assert [point.report.name for point in found.points] == ["words None", "words 1", "words 2"]


def test_the_plot_has_a_line_for_each_level_with_its_place(curve, mumble):
    assert curve({None: None, 1: mumble(1)}, label="words").plot() == (
        "words    right  95 % interval     0 %                                 100 %\n"
        " none   100.0%  [34.2%, 100.0%]                 ──────────────────────────●\n"
        "    1    50.0%  [9.5%, 90.5%]         ────────────────●────────────────"
    )


def test_the_plot_says_where_a_rate_is_low_because_of_errors(curve):
    class Deaf:
        def apply(self, audio):
            raise ConnectionError("hung up")

    found = curve({None: None, 1: Deaf()}).plot()
    assert found.splitlines()[3:] == ["1: 2 of 2 ended in an error and count as wrong: ConnectionError (2)"]

    class Crashing:
        def evaluate(self, expected, actual):
            raise ValueError("fell over") if expected else KeyError("none")

    assert curve({None: None}, evaluator=Crashing()).plot().splitlines()[2:] == [
        "none: 2 of 2 ended in an error and count as wrong: ValueError (1), KeyError (1)"
    ]


def test_where_a_request_is_repeated_a_perturbation_draws_anew_and_every_level_draws_the_same(
    curve, hiss, ear
):
    curve({0: hiss(), 1: hiss()}, repeat=3, cases=CASES[:1])
    assert len(ear.heard) == 6
    assert len(set(ear.heard)) == 3
    assert sorted(ear.heard[:3]) == sorted(ear.heard[3:])


@given(st.integers(0, 30), st.integers(1, 30))
def test_a_plot_fits_a_terminal_whatever_the_rates(passed, more):
    rate = rate_from_counts(passed, passed + more, confidence=0.9)
    plot = Sweep((SweepPoint("-20 dB", rate, Report(name="x", cases=[])),), "noise").plot()
    assert max(map(len, plot.splitlines())) <= 80
    assert plot.count("●") == 1
    assert "90 % interval" in plot


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"levels": {}}, "cases and levels"),
        ({"levels": {1: None}, "cases": []}, "cases and levels"),
        ({"levels": {1: None}, "cases": [Case(inputs="go")]}, "nothing is expected of 'go'"),
    ],
    ids=["no levels", "no cases", "no expectation"],
)
def test_a_curve_of_nothing_is_refused(curve, options, says):
    with pytest.raises(InvalidOptionError, match=re.escape(says)):
        curve(**options)


def test_a_curve_through_reports_that_assert_nothing_is_refused(ear, voice):
    unjudged = Dataset(cases=CASES).evaluate_sync(VoiceTask(ear, voice), progress=False)
    with pytest.raises(InvalidOptionError, match="nothing was asserted at the level 1"):
        Sweep.of_reports({1: unjudged})
    with pytest.raises(InvalidOptionError, match="needs levels"):
        Sweep.of_reports({})


def test_with_real_sound_accuracy_falls_with_noise():
    cases = [
        Case(name=each.text, inputs=each.text, expected_output=list(each.calls))
        for each in spoken_requests()[:4]
    ]
    found = asyncio.run(
        sweep(
            cases,
            {None: None, **Noise.levels([-10])},
            agent=OfflineAgent(),
            synthesizer=EspeakSynthesizer(),
            label="snr",
        )
    )
    clean, noisy = (point.rate.value for point in found.points)
    assert clean > noisy


def test_a_dataset_is_no_list_of_cases_and_options_of_the_runner_are_passed_on(curve, ear, voice):
    with pytest.raises(InvalidOptionError, match=r"got a Dataset: give dataset\.cases"):
        asyncio.run(sweep(Dataset(cases=CASES), {None: None}, agent=ear, synthesizer=voice))
    with pytest.raises(InvalidOptionError, match="runs=3 is called repeat here"):
        curve({None: None}, runs=3)
    assert curve({None: None}, seed=7, task_timeout=5).points[0].report.seed == 7


@pytest.mark.parametrize("levels", [[20, 10], 20, None, "noise"], ids=repr)
def test_levels_without_their_perturbations_are_refused(levels, ear, voice):
    with pytest.raises(InvalidOptionError, match=r"such as Noise.levels\(\[20, 10, 0\]\), got"):
        asyncio.run(sweep(CASES, levels, agent=ear, synthesizer=voice))


@pytest.mark.parametrize(("columns", "longest"), [(None, 79), (200, 79), (79, 79), (60, 60), (10, 51)])
def test_a_curve_is_drawn_as_wide_as_the_screen_allows(columns, longest):
    points = tuple(
        SweepPoint(level, rate_from_counts(right, 40), Report(name="x", cases=[]))
        for level, right in ((20, 40), (-20, 0))
    )
    lines = Sweep(points, "noise snr").plot(columns=columns).splitlines()
    assert max(map(len, lines)) == longest
    assert [line.count("●") for line in lines] == [0, 1, 1]
