"""Texts of a file that stand for variables of the environment."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.files.problem import Problems
from calipers.files.voice_parts import filled, referred, refuse_secrets

ENVIRON = {"TOKEN": "s3cret", "HOST": "example.org", "EMPTY": ""}


def messages(problems):
    return [str(each) for each in problems.found]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Bearer ${TOKEN}", "Bearer s3cret"),
        ("https://${HOST}/${TOKEN}", "https://example.org/s3cret"),
        ("$${TOKEN}", "${TOKEN}"),
        ("5 $ and $TOKEN", "5 $ and $TOKEN"),
        ({"a": ["${HOST}", 3, None]}, {"a": ["example.org", 3, None]}),
        (True, True),
    ],
)
def test_names_of_variables_are_replaced_at_any_depth(value, expected):
    problems = Problems("f.yaml")
    assert filled(value, (), problems, environ=ENVIRON) == expected
    assert not problems.found


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"key": "${UNSET}"}, "f.yaml: agent.key: the environment variable 'UNSET' is not set"),
        ({"key": "${EMPTY}"}, "f.yaml: agent.key: the environment variable 'EMPTY' is not set"),
        ({"key": "${TOK"}, "f.yaml: agent.key: `${` begins the name of a variable"),
        ({"key": "${A B}"}, "f.yaml: agent.key: `${` begins the name of a variable"),
    ],
)
def test_a_variable_that_is_not_there_is_a_problem(value, message):
    problems = Problems("f.yaml")
    filled(value, ("agent",), problems, environ=ENVIRON)
    (found,) = messages(problems)
    assert found.startswith(message)


@given(
    st.recursive(
        st.none() | st.integers() | st.text(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
        max_leaves=10,
    )
)
def test_what_refers_to_nothing_stays_as_it_is(value):
    problems = Problems("f.yaml")
    if "${" not in str(value):
        assert filled(value, (), problems, environ={}) == value
        assert referred(value, environ={}) == []
        assert not problems.found


def test_the_values_that_are_referred_to_are_known():
    assert referred({"a": ["${TOKEN}", "${HOST}/$${X}/${UNSET}"]}, environ=ENVIRON) == [
        "s3cret",
        "example.org",
    ]


@pytest.mark.parametrize(
    ("options", "places"),
    [
        ({"api_key": "sk-12345"}, ["api_key"]),
        ({"api_key": "${KEY}"}, []),
        (
            {"headers": {"Authorization": "Bearer abcdef", "X-Api-Key": "abcdef", "Accept": "text/html"}},
            ["Authorization", "X-Api-Key"],
        ),
        ({"headers": {"Authorization": "Bearer ${KEY}"}}, []),
        (
            {"url": "https://me:password@example.org", "base_url": "https://example.org?token=abcdef"},
            ["url", "base_url"],
        ),
        ({"url": "https://me:${PASSWORD}@example.org?token=${TOKEN}"}, []),
        ({"url": 3, "headers": [], "api_key": None}, []),
    ],
)
def test_a_secret_does_not_belong_into_a_file_and_is_not_repeated(options, places):
    problems = Problems("f.yaml")
    refuse_secrets(options, ("agent",), problems)
    assert [each.path.rpartition(".")[2] for each in problems.found] == places
    assert all("write ${NAME}" in each.message and each.value is None for each in problems.found)
    assert not any(
        secret in str(each) for each in problems.found for secret in ("12345", "abcdef", "password@")
    )
