"""What was heard of what was said."""

from hypothesis import given
from hypothesis import strategies as st

from calipers.viewer.hearing import hearing
from calipers.voice.spelling import compared_words
from calipers.voice.transcripts import word_errors

words = st.lists(st.sampled_from(["turn", "on", "the", "light", "21", "off"]), min_size=1, max_size=9).map(
    " ".join
)


@given(words, words | st.just(""))
def test_the_word_error_rate_is_that_of_the_report_and_no_word_is_lost(said: str, heard: str) -> None:
    found = hearing(said, heard)
    assert found.word_error_rate == word_errors(said, heard).rate
    assert [word.said for word in found.words if word.said] == compared_words(said)
    assert [word.heard for word in found.words if word.heard] == compared_words(heard)
    kinds = word_errors(said, heard)
    errors = [word.kind for word in found.words if word.kind != "same"]
    assert len(errors) == kinds.errors


def test_words_stand_beside_what_was_heard_of_them() -> None:
    found = hearing("Wake me up at 6:30!", "wake up at six thirteen please")
    assert [(word.said, word.heard, word.kind) for word in found.words] == [
        ("wake", "wake", "same"),
        ("me", "", "missed"),
        ("up", "up", "same"),
        ("at", "at", "same"),
        ("six", "six", "same"),
        ("thirty", "thirteen", "changed"),
        ("", "please", "added"),
    ]


def test_without_words_there_is_no_rate_and_long_texts_have_no_words() -> None:
    assert hearing("...", "hello").word_error_rate is None
    long = hearing("a " * 2_000, "b " * 2_000)
    assert (long.words, long.word_error_rate) == ([], None)
