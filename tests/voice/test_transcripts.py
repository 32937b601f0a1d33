"""What an agent misheard: word and entity errors, of a request and of a report."""

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case, Report
from calipers.errors import InvalidOptionError
from calipers.stats import wilson
from calipers.voice import VoiceTask, entities, lost_entities, tool_call, transcript_errors, word_errors
from calipers.voice.pipeline import evaluate_calls
from calipers.voice.spelling import compared_words, number_words


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


texts = st.lists(st.sampled_from(["turn", "on", "the", "light", "20"]), min_size=1, max_size=8).map(" ".join)


@pytest.mark.parametrize(
    ("said", "heard", "counts"),
    [
        ("turn on the light", "turn on the light", (0, 0, 0, 4)),
        ("Turn ON, the light!", "turn on the light", (0, 0, 0, 4)),
        ("set a timer for 20 minutes", "set a timer for twenty minutes", (0, 0, 0, 6)),
        ("turn on the light", "turn off the light", (1, 0, 0, 4)),
        ("turn on the light", "turn on light", (0, 1, 0, 4)),
        ("turn on the light", "turn on the the light", (0, 0, 1, 4)),
        ("turn on the light", "", (0, 4, 0, 4)),
        ("in 1999", "in nineteen ninety nine", (0, 0, 0, 7)),
        ("send $5.50", "send five dollars and fifty cents", (0, 0, 0, 5)),
        ("room 205", "room two hundred and five", (0, 0, 0, 4)),
    ],
)
def test_errors_are_counted_by_kind(said, heard, counts):
    found = word_errors(said, heard)
    assert (found.substitutions, found.deletions, found.insertions, found.words) == counts


@given(texts, texts)
def test_the_rate_is_zero_for_the_same_words_and_as_many_errors_as_the_way_back(said, heard):
    assert word_errors(said, said).rate == 0
    there, back = word_errors(said, heard), word_errors(heard, said)
    assert there.rate * there.words == pytest.approx(back.rate * back.words)
    assert (there + there).rate == pytest.approx(there.rate)


def test_where_nothing_was_said_there_is_no_rate():
    with pytest.raises(InvalidOptionError, match="no words"):
        word_errors("?!", "turn")


CALLS = [
    tool_call("set_timer", minutes=20, label={"for": "eggs"}),
    tool_call("light", on=True, room="living room"),
]


@pytest.mark.parametrize(
    ("said", "known", "heard", "lost"),
    [
        (
            "a timer of twenty minutes for eggs",
            ["twenty", "eggs"],
            "timer of thirty minutes for eggs",
            ["twenty"],
        ),
        ("light in the living room", ["living room"], "light in the dining room", ["living room"]),
        ("light in the living room", ["living room"], "the living room", []),
        ("do it", [], "do it", []),
    ],
)
def test_entities_are_the_arguments_that_are_said(said, known, heard, lost):
    assert entities(said, CALLS) == known
    assert lost_entities(said, heard, CALLS) == lost


@pytest.mark.parametrize(
    ("value", "said", "heard"),
    [
        (1500, "Transfer 1,500 dollars", "transfer fifteen hundred dollars"),
        (1500.0, "Transfer 1500 dollars", "transfer one thousand five hundred dollars"),
        (1999, "the summer of 1999", "the summer of nineteen ninety nine"),
        (1905, "the summer of 1905", "the summer of nineteen oh five"),
        (21.5, "set it to 21.5 degrees", "set it to twenty one point five degrees"),
        ("2nd", "the 2nd floor", "the second floor"),
        (105, "105 lights", "a hundred and five lights"),
        (14, "at 14:30", "at fourteen thirty"),
    ],
)
def test_a_number_is_found_however_it_is_said(value, said, heard):
    calls = [tool_call("do", it=value)]
    assert len(entities(said, calls)) == 1
    assert lost_entities(said, heard, calls) == []
    assert len(lost_entities(said, "twelve and a half", calls)) == 1


@given(st.integers(1300, 2099))
def test_a_year_is_the_same_however_it_is_said(year):
    century, rest = divmod(year, 100)
    end = "hundred" if not rest else f"oh {number_words(rest)}" if rest < 10 else number_words(rest)
    said = compared_words(f"in {year}")
    assert compared_words(f"in {number_words(century)} {end}") == said
    assert compared_words(f"in {year:,}") == said == ["in", *number_words(year).split()]


@pytest.mark.parametrize(("said", "heard"), [(None, "hi"), ("hi", None), (3, "hi"), ("hi", b"hi")])
def test_only_texts_have_word_errors(said, heard):
    with pytest.raises(InvalidOptionError, match="is a text, got"):
        word_errors(said, heard)
