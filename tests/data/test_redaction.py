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

from calipers.data.redaction import REDACTED, is_secret_name, masked, masked_text, secrets_in, without


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
        "sk-" + "abcdefgh" * 3,
        JWT,
        PEM,
    ],
)
def test_a_known_kind_of_key_is_hidden_wherever_it_stands(key):
    assert masked_text(key) == REDACTED
    assert masked_text(f"before {key} after") == f"before {REDACTED} after"
    assert masked({"a": [{"b": (1, f"x={key}")}]}) == {"a": [{"b": (1, f"x={REDACTED}")}]}
    assert key not in json.dumps(masked([json.dumps({"deep": key})]))
    for before in ("\n", "\t", "\x1b[31m", "\x1b[1;31m", "\u2028", "\x07", "key_", "%20", "%0A"):
        for text in (
            before + key,
            repr(before + key),
            json.dumps(before + key),
            json.dumps(repr(before + key)),
        ):
            assert key not in masked_text(text), text


def test_a_key_right_after_a_letter_is_hidden_where_it_cannot_be_a_word():
    for key in (
        "sk-proj-aB3dE5fG7hI9jK1lM",
        "sk-" + "aB3d" * 12,
        "ghp_" + "a1" * 18,
        "AKIAIOSFODNN7EXAMPLE",
        JWT,
    ):
        assert masked_text(f"thekey{key}") == f"thekey{REDACTED}"


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
        ("me:x@y in a://me:p@ss@host/x@y", f"me:x@y in a://me:{REDACTED}@host/x@y"),
        ("postgres://me:hun/ter2@host/db", f"postgres://me:{REDACTED}@host/db"),
        ("https://abcdefghij0123456789@host/x", f"https://{REDACTED}@host/x"),
        ("Authorization=Bearer%20abcdefgh1", f"Authorization=Bearer%20{REDACTED}"),
    ],
)
def test_inside_a_text_only_the_secret_is_hidden(text, told):
    assert masked_text(text) == told
    assert masked_text(told) == told, "hiding twice changes nothing"


WORD = "hunter2-of-mine"
ESCAPED = json.dumps(json.dumps({"a": {"password": 'hun"ter2'}, "b": 1}))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"host=db password={WORD} dbname=x", f"host=db password={REDACTED} dbname=x"),
        (f"Server=x;Pwd={WORD};Database=y", f"Server=x;Pwd={REDACTED};Database=y"),
        (f"mysql --password={WORD} -u me", f"mysql --password={REDACTED} -u me"),
        ("login(password=correct, n=1)", f"login(password={REDACTED}, n=1)"),
        (f"A=1\nAWS_SECRET_ACCESS_KEY={WORD},;\nB=2", f"A=1\nAWS_SECRET_ACCESS_KEY={REDACTED},;\nB=2"),
        (f"export GITHUB_TOKEN={WORD}", f"export GITHUB_TOKEN={REDACTED}"),
        (f"env\\nAPI_KEY={WORD}\\nB=1", f"env\\nAPI_KEY={REDACTED}\\nB=1"),
        (f"[x]\naws_secret_access_key = {WORD}\n", f"[x]\naws_secret_access_key = {REDACTED}\n"),
        ("[x]\npassword = correct\n", f"[x]\npassword = {REDACTED}\n"),
        (f"password: {WORD}", f"password: {REDACTED}"),
        ("user: ada\npassword: correct\n", f"user: ada\npassword: {REDACTED}\n"),
        (f"try the password: {WORD}, please", f"try the password: {REDACTED}, please"),
        (f"API key: {WORD}.", f"API key: {REDACTED}."),
        (f"X-API-Key: {WORD}", f"X-API-Key: {REDACTED}"),
        (f"curl -H 'X-API-Key: {WORD}' x", f"curl -H 'X-API-Key: {REDACTED}' x"),
        (f"Authorization: Token {WORD}", f"Authorization: Token {REDACTED}"),
        (f"Set-Cookie: id={WORD}; Path=/\nX: 1", f"Set-Cookie: {REDACTED}\nX: 1"),
        (f"?X-Amz-Security-Token={WORD}&b=2", f"?X-Amz-Security-Token={REDACTED}&b=2"),
        (f"token={WORD}&api_key={WORD}", f"token={REDACTED}&api_key={REDACTED}"),
        (repr({"password": b"hunter2"}), f"{{'password': b'{REDACTED}'}}"),
        (repr({b"x-api-key": b"hunter2"}), f"{{b'x-api-key': b'{REDACTED}'}}"),
        (repr({"password": "hun'ter2\"of"}), f"{{'password': '{REDACTED}'}}"),
        ('{"password": 12345678, "n": 1}', f'{{"password": {REDACTED}, "n": 1}}'),
        ('{"password": "hunter2 and then it', f'{{"password": "{REDACTED}'),
        (ESCAPED, ESCAPED.replace(r"hun\\\"ter2", REDACTED)),
        (repr([("x-api-key", "v")]), f"[('x-api-key', '{REDACTED}')]"),
        ('[["a", "b"], ["x-api-key", "v"]]', f'[["a", "b"], ["x-api-key", "{REDACTED}"]]'),
        ('{"name": "api_key", "value": "v"}', f'{{"name": "api_key", "value": "{REDACTED}"}}'),
        (f"\u0130 password={WORD} İ", f"\u0130 password={REDACTED} İ"),
    ],
)
def test_what_stands_after_a_telling_name_is_hidden_however_it_is_written(text, told):
    assert masked_text(text) == told
    assert masked_text(told) == told, "hiding twice changes nothing"


ORDINARY = """the password: field is required
tokens: 12 and token_count=5
token: 151643
password: required
Password: Must contain 8 characters
Incorrect API key: check your settings
secret: the ingredient is love
Secret: honesty
{"required": ["password", "email"], "token": null, "secret": true}
('password', 'email')
def login(password: str, token: int = 5, key: bytes = b'')
api_key: SecretStr
api_key: Optional[str] = None
token = tokens[0]
token = get_token(user, 12345678)
api_key = os.environ['X']
login(user, password=password, token=config.access_token)
password=None, token=None
password=***
password=<your password>
password=${DB_PASSWORD} or $DB_PASSWORD
if password == other123456 or token != x1234567
cookie: chocolate chip
page_token=abc123def, eos_token = '</s>'
secret://vault/path1 and std::token::next1
primary_key=customer_id, monkey=banana12
`password`: the user's password"""


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
        "http://host:8080/me@example.org and http://host:8080?to=me@example.org",
        "task-proj-abcdefgh, risk_test_abcdefgh, disk-admin-12345678",
        *ORDINARY.splitlines(),
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
        ([("x-api-key", "v"), ("a", "b")], [("x-api-key", REDACTED), ("a", "b")]),
        ({"headers": [[b"x-api-key", b"v"]]}, {"headers": [[b"x-api-key", REDACTED]]}),
        ({b"x-api-key": "v", 1: 2}, {b"x-api-key": REDACTED, 1: 2}),
        ({"name": "api_key", "value": "v"}, {"name": "api_key", "value": REDACTED}),
        ([{"Key": "DB_PASSWORD", "Value": "v"}], [{"Key": "DB_PASSWORD", "Value": REDACTED}]),
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
        {"required": ["password", "email"], "fields": ("token", "secret")},
        [("token", 5), ("password", True)],
        {"name": "token", "value": 5},
        {"name": "city", "value": "Paris"},
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
        {b"x-api-key": "s3cr3t"},
        [("x-api-key", "s3cr3t"), ("accept", "text")],
        {"name": "api_key", "value": "s3cr3t"},
    ],
    ids=range(10),
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
