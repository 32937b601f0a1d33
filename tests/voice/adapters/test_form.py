"""Forms, as a server would read them."""

from email import message_from_bytes

from hypothesis import given
from hypothesis import strategies as st

from calipers.models.model_request import Sound
from calipers.voice.adapters.http_agent import as_form


def read(body, content_type):
    """Names, file names, types and values of the parts, by the reader of the standard library."""
    head = f"Content-Type: {content_type}\r\n\r\n".encode()
    return [
        (
            part.get_param("name", header="content-disposition"),
            part.get_filename(),
            part.get_content_type(),
            part.get_payload(decode=True),
        )
        for part in message_from_bytes(head + body).get_payload()
    ]


def test_a_form_holds_files_texts_and_json():
    fields = {"audio": Sound(b"RIFF", "wav"), "text": "hello", "options": {"n": 1}}
    assert read(*as_form(fields)) == [
        ("audio", "request.wav", "audio/wav", b"RIFF"),
        ("text", None, "text/plain", b"hello"),
        ("options", None, "text/plain", b'{"n":1}'),
    ]


def test_a_name_cannot_end_its_own_quotes():
    body, _ = as_form({'a"; filename="b\r\nX-Evil: 1': "v"})
    assert b'name="a%22; filename=%22b%0D%0AX-Evil: 1"\r\n\r\nv' in body


@given(st.binary(max_size=200))
def test_any_bytes_come_through(data):
    body, content_type = as_form({"audio": Sound(data, "wav"), "text": "after"})
    boundary = content_type.partition("boundary=")[2].encode()
    first, second = body.split(b"--" + boundary)[1:3]
    assert first.partition(b"\r\n\r\n")[2] == data + b"\r\n"
    assert second.endswith(b"\r\n\r\nafter\r\n")
