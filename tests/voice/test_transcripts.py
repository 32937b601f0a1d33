"""How well the agent heard, over all requests of a report."""

import asyncio
import json

import pytest

from calipers import Case, Report
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
    # By hand: residuals 3/4, -1/4, -1/4, -1/4 over 3 words, standard error 1/12, t(0.975, 3 df) = 3.182.
    assert found.word_error_rate.interval.high == pytest.approx(1 / 12 + 3.1824 / 12, abs=1e-4)
    assert found.word_error_rate.interval.low == 0, "there is no negative rate"


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
