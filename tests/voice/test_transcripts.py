"""How well the agent heard, over all requests of a report."""

import asyncio
import json

import pytest

from calipers import Case, Report
from calipers.stats import wilson
from calipers.voice import VoiceTask, tool_call, transcript_errors
from calipers.voice.pipeline import evaluate_calls


def case(prompt, *, name=None, cluster=None):
    verb, what, to = prompt.split()
    return Case(
        name=name or prompt,
        inputs=prompt,
        expected_output=[tool_call(verb, what=what, to=to)],
        cluster=cluster,
    )


@pytest.fixture
def report_of(ear, voice, mumble):
    def report_of(cases, *, agent=ear, words=1, **options):
        task = VoiceTask(agent, voice, perturbation=mumble(words))
        return asyncio.run(evaluate_calls(cases, task, **options))

    return report_of


def test_words_and_entities_are_counted_over_all_requests(report_of):
    found = transcript_errors(report_of([case("set lamp red"), case("set door open")]))
    assert (found.words.substitutions, found.words.words) == (2, 6)
    assert found.word_error_rate.value == pytest.approx(1 / 3)
    assert found.entity_error_rate.value == pytest.approx(1 / 2)
    assert found.entity_error_rate.n_units == 2
    assert found.summary().splitlines()[0].startswith("word error rate     33.3% [")


def test_the_interval_of_a_word_error_rate_grows_with_what_requests_differ_by(ear, voice):
    """A request of four words that was misheard, and others that were not: the ratio's own interval."""
    cases = [case(f"set lamp {colour}") for colour in ("red", "blue", "green", "white")]
    report = asyncio.run(evaluate_calls(cases, VoiceTask(ear, voice)))
    report.cases[0].attributes["transcript"] = "set lamp rat"
    found = transcript_errors(report)
    assert found.word_error_rate.value == pytest.approx(1 / 12)
    # By hand: residuals 3/4, -1/4, -1/4, -1/4 over 3 words, variance 1/144; 12 words that err independently have
    # 1/12 * 11/12 / 11 = 1/144, too. What is left is the price of four requests: (t(11 df) / t(3 df)) squared.
    words = 12 * (2.20099 / 3.18245) ** 2
    assert found.word_error_rate.interval.low == pytest.approx(wilson(words / 12, words).low, abs=1e-4)
    assert found.word_error_rate.interval.high == pytest.approx(wilson(words / 12, words).high, abs=1e-4)


@pytest.mark.parametrize("heard", ["set lamp red", "no idea what", "set lamp mm"])
def test_requests_that_agree_do_not_make_the_interval_a_point(ear, voice, heard):
    cases = [case("set lamp red", name=name) for name in "ab"]
    report = asyncio.run(evaluate_calls(cases, VoiceTask(ear, voice)))
    for record in report.cases:
        record.attributes["transcript"] = heard
    found = transcript_errors(report)
    for rate in (found.word_error_rate, found.entity_error_rate):
        assert rate.value in rate.interval
        assert rate.interval.width > 0.5, "two requests prove little"


def test_where_more_was_heard_than_said_the_rate_exceeds_1_and_its_interval_is_of_student(ear, voice):
    cases = [case("set lamp red", name=name) for name in "abc"]
    report = asyncio.run(evaluate_calls(cases, VoiceTask(ear, voice)))
    for record, heard in zip(report.cases, ("a b c d e f g", "set lamp red", "set lamp red"), strict=True):
        record.attributes["transcript"] = heard
    found = transcript_errors(report).word_error_rate
    # By hand: errors 7, 0, 0 of 3 words each: rates 7/3, 0, 0, mean 7/9, standard error 7/9, t(2 df) = 4.3027.
    assert (found.value, found.interval.low) == (pytest.approx(7 / 9), 0.0)
    assert found.interval.high == pytest.approx(7 / 9 * (1 + 4.30265), abs=1e-4)
    for record in report.cases:
        record.attributes["transcript"] = "a b c d e f g"
    assert transcript_errors(report).word_error_rate.interval is None


def report_of_one(ear, voice):
    one = Case(name="one", inputs="go now", expected_output=[tool_call("go", when="now")])
    return asyncio.run(evaluate_calls([one], VoiceTask(ear, voice)))


def test_the_entity_error_rate_is_a_share_of_all_expected_values(ear, voice):
    """Two values lost of two, and none of one: two of three, and not the mean of 100 % and 0 %."""
    one = Case(name="one", inputs="go now", expected_output=[tool_call("go", when="now")])
    report = asyncio.run(evaluate_calls([case("set lamp red"), one], VoiceTask(ear, voice)))
    report.cases[0].attributes["transcript"] = "set a thing"
    found = transcript_errors(report)
    assert found.entity_error_rate.value == pytest.approx(2 / 3)
    assert found.entities == 3
    assert found.summary().endswith("of 3 expected values")
    assert transcript_errors(report_of_one(ear, voice)).summary().endswith("of 1 expected value")
    assert max(map(len, found.summary(columns=40).splitlines())) <= 40


def test_repeats_of_a_request_count_together_and_clusters_are_kept(report_of):
    cases = [
        case("set lamp red", cluster="lamp"),
        case("put lamp red", cluster="lamp"),
        case("set door open"),
    ]
    found = transcript_errors(report_of(cases, repeat=3))
    assert found.words.words == 27
    assert (found.word_error_rate.n_units, found.word_error_rate.n_clusters) == (3, 2)


def test_a_report_that_was_stored_says_the_same(report_of):
    report = report_of([case("set lamp red"), case("set door open")])
    again = Report.from_dict(json.loads(json.dumps(report.to_dict())))
    assert transcript_errors(again) == transcript_errors(report)


def test_requests_of_which_nothing_can_be_said_are_left_out(report_of, make_ear):
    assert transcript_errors(report_of([case("set lamp red")], agent=make_ear(tells=False))) is None
    report = report_of([case("set lamp red"), Case(name="dots", inputs="...", expected_output=[])])
    assert transcript_errors(report).words.words == 3
    report.cases[0].expected_output = "another kind of expectation"
    assert transcript_errors(report).entity_error_rate is None
