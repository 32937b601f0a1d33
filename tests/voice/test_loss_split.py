"""Where the loss came from."""

import asyncio
import re

import pytest

from calipers import Case, Dataset, Retry
from calipers.errors import InvalidOptionError
from calipers.stats import paired_difference, wilson
from calipers.voice import LossSplit, VoiceTask, agent, split_loss, tool_call
from calipers.voice.pipeline import evaluate_calls

KNOWN = [
    Case(name=text, inputs=text, expected_output=[tool_call(*text.split()[:1], what=what, to=to)])
    for text in ("set lamp red", "set door open", "put cup down")
    for what, to in [text.split()[1:]]
]
UNKNOWN = Case(name="unknown", inputs="do this and that", expected_output=[tool_call("do")])
CRASH = Case(name="crash", inputs="crash", expected_output=[tool_call("go")])


@pytest.fixture
def split(ear, voice):
    def split(cases, **options):
        return asyncio.run(split_loss(cases, **{"agent": ear, "synthesizer": voice, **options}))

    return split


def test_an_agent_that_hears_well_loses_nothing_in_hearing(split):
    found = split([*KNOWN, UNKNOWN])
    assert (found.text.value, found.speech.value, found.deciding.value) == (0.75, 0.75, 0.25)
    assert (found.hearing.value, found.hearing.neither) == (0.0, 1)
    assert found.transcripts.words.errors == 0
    assert found.transcripts.word_error_rate.interval.high > 0.4, "four requests prove little"


def test_what_is_right_as_text_and_wrong_as_speech_was_lost_in_hearing(split, mumble):
    found = split([*KNOWN, UNKNOWN], perturbation=mumble(1))
    assert (found.text.value, found.speech.value) == (0.75, 0.0)
    assert found.hearing == paired_difference(0, 3, 0, 1)
    assert found.transcripts.words.errors == 4
    assert found.summary() == (
        "as text      75.0% [30.1%, 95.4%] right\n"
        "as speech     0.0% [0.0%, 49.0%] right\n"
        "deciding     25.0% [4.6%, 69.9%] lost: wrong even as text\n"
        "hearing      75.0% [8.5%, 95.4%] lost, net: 75.0% right only as text, 0.0% right only as speech\n"
        "            right only as text: 3, only as speech: 0, neither: 1\n"
        "word error rate     30.8% [8.4%, 68.2%] of 13 words\n"
        "entity error rate   50.0% [12.5%, 87.5%] of 6 expected values"
    )
    narrow = found.summary(columns=40)
    assert max(map(len, narrow.splitlines())) <= 40
    assert narrow.split() == found.summary().split()


def test_what_is_lost_in_deciding_has_the_interval_of_what_is_wrong_as_text(split):
    found = split([*KNOWN, UNKNOWN])
    assert found.deciding.interval.low == pytest.approx(wilson(1, 4).low)
    assert found.deciding.interval.high == pytest.approx(wilson(1, 4).high)


def test_options_of_the_runner_are_passed_on(split):
    found = split(KNOWN, seed=7, retry=Retry(attempts=2), task_timeout=5)
    assert (found.text_report.seed, found.speech_report.seed) == (7, 7)


def test_a_request_whose_run_failed_was_not_done_either_way(split):
    found = split([*KNOWN, CRASH])
    assert (found.text.value, found.speech.value, found.hearing.neither) == (0.75, 0.75, 1)
    assert len(found.text_report.failures) == len(found.speech_report.failures) == 1


def test_where_requests_are_repeated_the_request_is_the_unit(split, mumble):
    found = split(KNOWN, repeat=4, perturbation=mumble(1))
    assert (found.hearing.value, found.hearing.n_units) == (1.0, 3)
    assert found.hearing.interval == paired_difference(0, 3, 0, 0).interval, "no spread is no certainty"
    assert (found.speech.n_units, found.speech.n_observations) == (3, 12)
    assert "100.0% right only as text, 0.0% right only as speech" in found.summary()
    assert (found.misheard, found.gained) == (1.0, 0.0)


def test_hearing_tells_both_directions_and_the_net(split, make_ear):
    class MoodyEar(make_ear):
        """Right on two requests only as text, and on one only as speech."""

        async def run(self, audio):
            text = audio.pcm.decode("utf-16-le")
            return await make_ear.run_text(self, text if text.startswith("put") else "what")

        async def run_text(self, text):
            return await make_ear.run_text(self, "what" if text.startswith("put") else text)

    found = split(KNOWN, agent=MoodyEar())
    assert (found.misheard, found.gained) == (pytest.approx(2 / 3), pytest.approx(1 / 3))
    assert found.hearing.value == pytest.approx(1 / 3)
    assert "lost, net: 66.7% right only as text, 33.3% right only as speech" in found.summary()


def test_requests_of_one_cluster_stand_or_fall_together(split):
    cases = [
        Case(name=c.name, inputs=c.inputs, expected_output=c.expected_output, cluster="one") for c in KNOWN
    ]
    assert split([*cases, UNKNOWN]).hearing.n_clusters == 2


def test_an_agent_that_does_not_tell_what_it_heard_is_split_all_the_same(split, make_ear):
    found = split(KNOWN, agent=make_ear(tells=False))
    assert found.transcripts is None
    assert "word error rate" not in found.summary()


@pytest.mark.parametrize(
    ("cases", "options", "says"),
    [
        ([], {}, "there are no cases"),
        (KNOWN, {"agent": type("Ear", (), {"run": lambda self, audio: []})()}, "cannot read a text"),
        ([Case(inputs="go")], {}, "nothing is expected of 'go'"),
        (KNOWN, {"evaluator": "exact"}, "'exact' is not a valid evaluator"),
        (KNOWN, {"repeat": 0}, "repeat"),
        (KNOWN, {"runs": 3}, "runs=3 is called repeat here"),
        (Dataset(cases=KNOWN), {}, "got a Dataset: give dataset.cases"),
        (KNOWN[0], {}, "a list of cases, got one"),
        (3, {}, "a list of cases, got 3"),
    ],
    ids=[
        *("no cases", "deaf to text", "no expectation", "no evaluator", "no repeats", "another name"),
        *("a dataset", "one case", "a number"),
    ],
)
def test_what_cannot_be_compared_is_refused(split, cases, options, says):
    with pytest.raises(InvalidOptionError, match=re.escape(says)):
        split(cases, **options)


def test_an_agent_that_only_hears_has_nothing_to_be_compared_with(split):
    with pytest.raises(InvalidOptionError, match="cannot read a text"):
        split(KNOWN, agent=agent(lambda audio: []))


def test_an_agent_that_fails_at_texts_is_seen_to(split):
    found = split(KNOWN, agent=agent(lambda audio: []).for_text(lambda text: 1 // 0))
    assert found.text.value == 0
    assert (
        "errors      as text, 3 of 3 ended in an error and count as wrong: ZeroDivisionError (3)"
        in found.summary()
    )
    assert "as speech, " not in found.summary()


def test_reports_of_other_requests_are_not_compared(ear, voice):
    def report(cases):
        return asyncio.run(evaluate_calls(cases, VoiceTask(ear, voice)))

    with pytest.raises(InvalidOptionError, match="not of the same requests"):
        LossSplit.of_reports(report(KNOWN), report(KNOWN[:2]))
    unjudged = Dataset(cases=KNOWN).evaluate_sync(VoiceTask(ear, voice), progress=False)
    with pytest.raises(InvalidOptionError, match="nothing was asserted"):
        LossSplit.of_reports(unjudged, report(KNOWN))
