"""The parts of an address become arguments, and what is not understood is refused."""

from contextlib import suppress
from typing import Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.viewer.api_call import ApiCall
from calipers.viewer.download import Download
from calipers.viewer.refusal import STATUS, Refusal, refusal_of
from calipers.viewer.responses import download


class Sent(msgspec.Struct):
    value: int


def everything(
    viewed,
    run: str,
    *,
    text: str = "",
    number: int = 0,
    real: float = 0.0,
    flag: bool = False,
    maybe: int | None = 7,
    some: list[int] | None = None,
    word: Literal["a", "b"] = "a",
):
    return {name: value for name, value in locals().items() if name != "viewed"}


CALL = ApiCall("GET", "/runs/{run}/x", everything)


def answer(*query, run="r"):
    return CALL.answer(None, {"run": run}, query)


def test_annotations_say_what_a_parameter_becomes():
    found = answer(
        ("text", "a b"),
        ("number", "-3"),
        ("real", "1e-2"),
        ("flag", "true"),
        ("some", "1,2,3"),
        ("word", "b"),
    )
    assert found == {
        "run": "r",
        "text": "a b",
        "number": -3,
        "real": 0.01,
        "flag": True,
        "maybe": 7,
        "some": [1, 2, 3],
        "word": "b",
    }
    assert answer(("maybe", ""))["maybe"] is None
    assert answer(("maybe", "4"))["maybe"] == 4
    assert answer(("some", ""))["some"] is None


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ([("numbr", "1")], r"no parameter 'numbr' \(did you mean 'number'\?\)"),
        ([("run", "x")], "no parameter 'run'"),
        ([("viewed", "x")], "no parameter 'viewed'"),
        ([("text", "a"), ("text", "b")], "given twice"),
        ([("number", "1.5")], "must be a whole number, got '1.5'"),
        ([("number", "9" * 40)], "must be a whole number"),
        ([("real", "nan")], "must be a number"),
        ([("real", "inf")], "must be a number"),
        ([("flag", "yes")], "must be true or false"),
        ([("word", "c")], "must be 'a' or 'b'"),
        ([("some", "1,x")], "must be a whole number"),
    ],
)
def test_what_does_not_fit_is_refused(query, says):
    with pytest.raises(Refusal, match=says) as refused:
        answer(*query)
    assert refused.value.status == 400


def test_a_parameter_that_is_needed_is_missed():
    def needy(viewed, *, dataset: str):
        return dataset

    call = ApiCall("GET", "/needy", needy)
    assert call.answer(None, {}, [("dataset", "d")]) == "d"
    with pytest.raises(Refusal, match="needs the parameter 'dataset'"):
        call.answer(None, {}, [])


def test_a_body_is_what_the_function_says_or_is_refused():
    def put(viewed, body: Sent):
        return body.value

    call = ApiCall("PUT", "/x", put)
    assert call.takes_body
    assert call.writes
    assert call.answer(None, {}, [], b'{"value": 3}') == 3
    for wrong in (b"", b"{}", b'{"value": "3"}', b"[" * 100_000):
        with pytest.raises(Refusal, match="the body does not fit"):
            call.answer(None, {}, [], wrong)


@given(st.lists(st.tuples(st.sampled_from(["number", "real", "flag", "some", "word", "maybe"]), st.text())))
def test_no_query_breaks_a_call(query):
    with suppress(Refusal):
        answer(*query)


@given(st.text(st.characters(exclude_characters="/", exclude_categories=["Cs"]), min_size=1))
def test_a_path_gives_back_its_parts(text):
    from urllib.parse import quote

    assert CALL.arguments_in(f"/runs/{quote(text, safe='')}/x") == {"run": text}
    assert CALL.arguments_in(f"/runs/{quote(text, safe='')}/y") is None


# ---------------------------------------------------------------------- refusals


def test_every_error_becomes_a_refusal_with_a_status():
    from calipers import errors

    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    for kind in kinds:
        found = refusal_of(kind("what happened"))
        assert found.status == STATUS[found.code]
        assert "what happened" in found.message


def test_an_unknown_error_is_told_in_one_line_and_without_its_traceback():
    found = refusal_of(ZeroDivisionError("division\nby zero"))
    assert (found.code, found.status) == ("failed", 500)
    assert "ZeroDivisionError: division by zero" in found.message


# ---------------------------------------------------------------------- downloads


@pytest.mark.parametrize(
    ("asked", "status", "body", "range_"),
    [
        ("", 200, b"0123456789", None),
        ("bytes=2-4", 206, b"234", "bytes 2-4/10"),
        ("bytes=7-", 206, b"789", "bytes 7-9/10"),
        ("bytes=-3", 206, b"789", "bytes 7-9/10"),
        ("bytes=-30", 206, b"0123456789", "bytes 0-9/10"),
        ("bytes=5-500", 206, b"56789", "bytes 5-9/10"),
        ("bytes=10-", 416, b"", "bytes */10"),
        ("bytes=4-2", 416, b"", "bytes */10"),
        ("bytes=-", 200, b"0123456789", None),
        ("bytes=0-1,4-5", 200, b"0123456789", None),
        ("lines=1-2", 200, b"0123456789", None),
    ],
)
def test_a_part_of_a_file_can_be_asked_for(asked, status, body, range_):
    found = download(Download(b"0123456789", media_type="audio/wav"), asked)
    assert (found.status_code, found.body, found.headers.get("content-range")) == (status, body, range_)
    assert found.headers["accept-ranges"] == "bytes"


@pytest.mark.parametrize("kind", ["text/html", "image/svg+xml", "application/javascript", "image/png", "x"])
def test_what_a_browser_might_run_or_show_is_only_saved(kind):
    found = download(Download(b"<script>", media_type=kind, name="x.html"), "")
    assert found.headers["content-type"] == "application/octet-stream"
    assert found.headers["content-disposition"].startswith("attachment")
    assert found.headers["content-security-policy"] == "default-src 'none'; sandbox"


def test_sound_is_heard_in_place():
    assert download(Download(b"RIFF", media_type="audio/wav"), "").headers["content-disposition"] == "inline"


@given(st.text())
def test_no_name_leaves_its_header(name):
    header = Download(b"", name=name).disposition
    header.encode("latin-1")
    assert not set(header) & {"\r", "\n", "\0"}
    assert header.count('"') in {0, 2}
