"""What looks like a secret, and texts and data without it."""

import json
import string
from collections import namedtuple
from dataclasses import dataclass
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, SecretStr

from calipers.redaction import REDACTED, is_secret_name, masked, masked_text, secrets_in, without


@pytest.mark.parametrize(
    ("text", "secret", "told"),
    [
        ("no hunter2 here", "hunter2", f"no {REDACTED} here"),
        ("nothing of it", "hunter2", "nothing of it"),
        ("{'token': 'hunter2'}", {"token": "hunter2"}, f"{{'token': '{REDACTED}'}}"),
        ("a b c", [["a"], {"c"}], f"{REDACTED} b {REDACTED}"),
        ("pin 4321, not 43210", 4321, f"pin {REDACTED}, not 43210"),
        ("it was 0.25", 0.25, f"it was {REDACTED}"),
        ("got b'\\xff\\x00'", b"\xff\x00", f"got b'{REDACTED}'"),
        ("key and keyring", ("key", "keyring"), f"{REDACTED} and {REDACTED}"),
        ("None, True and nothing", [None, True, "", b""], "None, True and nothing"),
        ("a.c, abc", "a.c", f"{REDACTED}, abc"),
    ],
)
def test_what_a_text_repeats_of_a_secret_is_hidden(text, secret, told):
    assert without(text, [secret]) == told


@given(st.text(min_size=1))
def test_a_text_is_found_however_it_is_written(secret):
    for written in (secret, repr(secret)[1:-1], json.dumps(secret)[1:-1]):
        assert without(written, [secret]) == REDACTED


def test_a_secret_that_contains_itself_comes_to_an_end():
    secret = ["hunter2"]
    secret.append(secret)
    assert without("hunter2", [secret]) == REDACTED


# ---------------------------------------------------------------------- names


@pytest.mark.parametrize(
    "name",
    [
        "api_key",
        "apiKey",
        "APIKEY",
        "X-API-Key",
        "openai_api_key",
        "token",
        "access_token",
        "accessToken",
        "github_token",
        "password",
        "db_password",
        "passwd",
        "secret",
        "client_secret",
        "clientSecret",
        "Authorization",
        "proxy-authorization",
        "aws_secret_access_key",
        "private_key",
        "credentials",
        "auth",
        "cookie",
        "Set-Cookie",
        "csrf_token",
    ],
)
def test_a_name_that_tells_of_a_secret(name):
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "tokens",
        "max_tokens",
        "token_count",
        "input_tokens",
        "page_token",
        "nextPageToken",
        "continuation_token",
        "eos_token",
        "key",
        "keys",
        "primary_key",
        "author",
        "authority",
        "secret_name",
        "password_length",
        "tokenizer",
        "keyword",
        "query",
        "monkey",
    ],
)
def test_a_name_that_only_resembles_one(name):
    assert not is_secret_name(name)


# ---------------------------------------------------------------------- shapes

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAKC\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    "key",
    [
        "sk-proj-abcDEF123456",
        "sk-ant-api03-abc_DEF-123",
        "sk-1234567890abcdef",
        "sk_live_abcdefgh",
        "ghp_" + "a1" * 18,
        "github_pat_" + "a1" * 20,
        "AKIAIOSFODNN7EXAMPLE",
        "AIza" + "b2" * 17 + "c",
        "xoxb-1234567890-abcdef",
        "hf_" + "x" * 30,
        JWT,
        PEM,
    ],
)
def test_a_known_kind_of_key_is_hidden_wherever_it_stands(key):
    assert masked_text(key) == REDACTED
    assert masked_text(f"before {key} after") == f"before {REDACTED} after"
    assert masked({"a": [{"b": (1, f"x={key}")}]}) == {"a": [{"b": (1, f"x={REDACTED}")}]}
    assert key not in json.dumps(masked([json.dumps({"deep": key})]))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Authorization: Bearer abcdefgh1", f"Authorization: Bearer {REDACTED}"),
        ("authorization: hunter2", f"authorization: {REDACTED}"),
        ("send bearer abcdefghijklmnopqrstuvwxyz", f"send bearer {REDACTED}"),
        ("postgres://me:hunter2@host/db", f"postgres://me:{REDACTED}@host/db"),
        ("GET /x?api_key=hunter2&page=2", f"GET /x?api_key={REDACTED}&page=2"),
        ('{"api_key": "hunter2", "page": 2}', f'{{"api_key": "{REDACTED}", "page": 2}}'),
        ("Deps(api_key='hunter2', page=2)", f"Deps(api_key='{REDACTED}', page=2)"),
        ("-----BEGIN PRIVATE KEY-----\nMIIE", REDACTED),
    ],
)
def test_inside_a_text_only_the_secret_is_hidden(text, told):
    assert masked_text(text) == told
    assert masked_text(told) == told, "hiding twice changes nothing"


@pytest.mark.parametrize(
    "text",
    [
        "use sk-learn, not sk-learn-tutorials",
        "Bearer authentication is a basic understanding",
        "the password: it is required; a token costs nothing",
        "http://host:8080/path and me@example.org",
        "task-1234567890abcdefgh",
        "max_tokens=12, key='name'",
        "https://example.org/?page_token=2",
    ],
)
def test_an_ordinary_text_stays_as_it_is(text):
    assert masked_text(text) is text
    assert masked({"text": text}) == {"text": text}


@given(
    st.text(alphabet=string.ascii_letters + string.digits + " .,:/-_=", max_size=80),
    st.sampled_from([JWT, PEM]),
)
def test_a_key_is_hidden_whatever_stands_around_it(text, key):
    assert key not in masked_text(f"{text} {key} {text}")


# ---------------------------------------------------------------------- data


@dataclass
class Deps:
    api_key: str
    page: int = 1


class Client:
    def __init__(self, key):
        self.key = key

    def __repr__(self):
        return f"Client(password={self.key!r})"


class Login(NamedTuple):
    user: str
    password: str


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"headers": {"Authorization": "x"}, "page": 1}, {"headers": {"Authorization": REDACTED}, "page": 1}),
        (
            {"password": 1234, "token": b"1", "secret": ["a"]},
            dict.fromkeys(("password", "token", "secret"), REDACTED),
        ),
        ([Deps("x")], [{"api_key": REDACTED, "page": 1}]),
        (Client("hunter2"), f"Client(password='{REDACTED}')"),
        (Login("ada", "x"), Login("ada", REDACTED)),
        ({JWT: 1}, {REDACTED: 1}),
        ({JWT}, {REDACTED}),
        (JWT.encode(), REDACTED),
    ],
)
def test_data_is_told_without_its_secrets(value, told):
    assert masked(value) == told
    assert masked(masked(value)) == told


@pytest.mark.parametrize(
    "value",
    [
        {"password": None, "token": "", "secret": True, "n": 1.5},
        [object()],
        Deps(""),
        {"api_key": REDACTED},
        b"\xff",
        "x",
    ],
)
def test_a_value_without_secrets_is_kept_as_the_object_it_is(value):
    assert masked(value) is value


def test_what_contains_itself_hides_its_secrets_all_the_way():
    value = {"api_key": "hunter2"}
    value["again"] = [value]
    assert masked(value) == {"api_key": REDACTED, "again": ["<the dict that contains this>"]}


def test_the_secrets_in_a_value_are_those_under_secret_names():
    assert secrets_in({"deps": Deps("hunter2"), "q": "x", "auth": ["user1", "pw"]}) == ["hunter2", "user1"]


class Plain:
    def __init__(self, **attributes):
        vars(self).update(attributes)


class Slotted:
    __slots__ = ("api_key",)

    def __init__(self, api_key):
        self.api_key = api_key


Pair = namedtuple("Pair", "name password")  # noqa: PYI024 - without types, as older code has it


class Settings(BaseModel):
    api_key: SecretStr


@pytest.mark.parametrize(
    "holder",
    [
        {"a": [{"password": ["s3cr3t"]}]},
        Plain(api_key="s3cr3t"),
        Plain(deps=Plain(settings=Plain(api_key="s3cr3t"))),
        Slotted("s3cr3t"),
        Pair("ann", "s3cr3t"),
        Settings(api_key=SecretStr("s3cr3t")),
        Plain(token=Plain(value="s3cr3t")),
    ],
    ids=range(7),
)
def test_secrets_are_found_in_whatever_holds_them(holder):
    assert secrets_in(holder) == ["s3cr3t"]


def test_an_object_that_contains_itself_or_does_not_tell_holds_what_can_be_read():
    class Broken:
        @property
        def get_secret_value(self):
            raise RuntimeError

    loop = Plain(api_key="s3cr3t")
    loop.loop = loop
    assert secrets_in([Broken(), loop]) == ["s3cr3t"]


def test_known_secrets_are_masked_wherever_they_stand():
    data = {"a": ["x=s3cr3t", ("s3cr3t",)], "b": 1}
    assert masked(data, ["s3cr3t"]) == {"a": ["x=[redacted]", ("[redacted]",)], "b": 1}
    assert masked(data, ["other"]) is data
