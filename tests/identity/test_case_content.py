import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Case
from calipers.identity import Identity, Unknown, case_identity
from calipers.identity.case_content import case_key

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
CASES = st.builds(
    lambda inputs, metadata, expected: Case(inputs=inputs, metadata=metadata, **expected),
    VALUES,
    VALUES,
    st.just({}) | VALUES.map(lambda value: {"expected_output": value}),
)


def content(case):
    return json.dumps(
        [case.inputs, case.metadata, case.has_expected_output, case.expected_output], sort_keys=True
    )


@given(CASES, CASES)
def test_cases_are_the_same_if_and_only_if_their_content_is(one, other):
    assert (case_identity(one) == case_identity(other)) == (content(one) == content(other))


@given(CASES)
def test_the_short_way_to_the_key_leads_to_the_same_key(case):
    identity = case_identity(case)
    assert isinstance(identity, Identity)
    assert case_key(case).hex() == identity.key


@pytest.mark.parametrize(
    "change",
    [
        {"name": "another"},
        {"tags": ["slow"]},
        {"cluster": "a"},
        {"timeout": 1.0},
        {"evaluators": [lambda output: True]},
    ],
    ids=lambda change: "".join(change),
)
def test_what_is_not_content_does_not_matter(change):
    assert case_identity(Case(inputs=1, **change)) == case_identity(Case(inputs=1))


def test_no_expectation_is_not_an_expectation_of_none():
    assert case_identity(Case(inputs=1)) != case_identity(Case(inputs=1, expected_output=None))


def test_the_parts_tell_what_of_a_case_changed():
    before = case_identity(Case(inputs=1, expected_output=2)).parts
    after = case_identity(Case(inputs=1, expected_output=3)).parts
    assert [name for name in before if before[name] != after[name]] == ["expected_output"]


def test_a_case_that_holds_something_without_a_form_has_no_identity():
    case = Case(inputs="a", metadata={"connection": object()})
    identity = case_identity(case)
    assert isinstance(identity, Unknown)
    assert identity.reason.startswith("its metadata: ")
    assert case_key(case) is None


def test_keys_are_the_same_in_every_process_whatever_its_hash_seed():
    code = (
        "from calipers import Case\nfrom calipers.identity import case_identity\n"
        "print(case_identity(Case(inputs={'b': {1, 'x', 2.5}, 'a': (None, b'y')}, metadata=frozenset('abc'))).key)"
    )
    keys = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(keys) == 1
