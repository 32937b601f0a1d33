"""Personal data of a case: none of it is left, and what belongs together still does."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers.errors import StoreError
from calipers.exchange.placeholders import SECRETS, Hidden
from calipers.stores import hide_matches

HIDDEN = Hidden()

ORIGINALS = (
    *(
        "anna@example.org",
        "BOB.smith+x@mail.example.co.uk",
        "+49 151 12345678",
        "555-123-4567",
        "536-22-8726",
    ),
    *("4111 1111 1111 1111", "5500005555555559", "DE89 3704 0044 0532 0130 00", "GB82WEST12345698765432"),
    *("sk-proj-abcdefgh12345678", "ghp_abcdefghijklmnop1234"),
)
_AROUND = st.sampled_from(
    ["", " ", "write to ", "(", ")", "\n", ", ", "'", "é", "x ", ": ", "[email-1] ", ". "]
)
_TEXTS = st.builds(
    lambda parts: "".join(before + each + after for before, each, after in parts),
    st.lists(st.tuples(_AROUND, st.sampled_from(ORIGINALS) | st.text(max_size=6), _AROUND), max_size=4),
)
_DATA = st.recursive(
    _TEXTS | st.integers(-(10**18), 10**18) | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=8,
)


def test_one_address_has_one_placeholder_wherever_it_stands_in_the_case():
    case = {
        "request": "I am Anna@example.org, not bob@example.org. Call +49 151 12345678",
        "calls": [{"name": "find", "arguments": {"who": "anna@example.org", "phone": "+4915112345678"}}],
        "metadata": {
            "bob@example.org": 4111111111111111,
            "note": "xanna@example.orgx",
            "count": 3,
            "paid": True,
        },
    }
    counts = Counter()
    assert HIDDEN.of(case, counts) == {
        "request": "I am [email-1], not [email-2]. Call [phone-1]",
        "calls": [{"name": "find", "arguments": {"who": "[email-1]", "phone": "[phone-1]"}}],
        "metadata": {"[email-2]": "[credit-card-1]", "note": "[email-3]", "count": 3, "paid": True},
    }
    assert counts == {"email": 3, "phone": 1, "credit_card": 1}


def test_what_was_found_once_is_replaced_where_it_is_not_found_by_itself():
    assert HIDDEN.of(["his number is 536-22-8726", "file_536-22-8726_9"]) == [
        "his number is [ssn-1]",
        "file_[ssn-1]_9",
    ]


def test_one_address_has_one_placeholder_however_it_is_escaped_and_json_stays_json():
    told = HIDDEN.of(
        {
            "said": r'{"note": "by\nanna@example.org, \u0061nna\u0040example.org"}',
            "link": "mailto:anna%40example.org",
            "wide": "anna\N{FULLWIDTH COMMERCIAL AT}example.org",
            "name": "jürgen@example.org",
        }
    )
    assert told == {
        "said": r'{"note": "by\n[email-1], [email-1]"}',
        "link": "mailto:[email-1]",
        "wide": "[email-1]",
        "name": "[email-2]",
    }


def test_numbers_in_the_digits_of_another_script_are_different_numbers():
    numbers = ["٥٥٥١٢٣٤٥٦٧", "٥٥٥١٢٣٤٥٦٨", "5551234567"]
    assert HIDDEN.of(numbers) == ["[phone-1]", "[phone-2]", "[phone-1]"]


def test_a_placeholder_with_a_number_of_any_length_may_stand_there_before():
    there = f"[email-{'9' * 5000}]"
    assert HIDDEN.of([there, "a@b.com"]) == [there, "[email-1]"]


def test_secrets_are_hidden_and_counted():
    counts = Counter()
    told = HIDDEN.of(
        {"request": "use sk-proj-abcdefgh12345678", "arguments": {"api_key": "hunter2"}, "x": "is hunter2"},
        counts,
    )
    assert told == {"request": "use [redacted]", "arguments": {"api_key": "[redacted]"}, "x": "is [redacted]"}
    assert counts == {SECRETS: 3}


def test_each_case_begins_anew_and_what_was_there_keeps_its_number():
    assert HIDDEN.of("a@b.com") == HIDDEN.of("c@d.com") == "[email-1]"
    assert HIDDEN.of("[email-4] and a@b.com") == "[email-4] and [email-5]"


def test_names_are_not_found_and_a_hook_can_hide_them():
    assert HIDDEN.of("Anna Smith, 12 Mill Lane") == "Anna Smith, 12 Mill Lane"
    assert Hidden([hide_matches("Anna Smith", by="[name]")]).of("Anna Smith") == "[name]"


def test_a_hook_is_given_one_text_after_the_other_as_in_a_store():
    def hide(data):
        return data.replace("Anna", "[name]") if isinstance(data, str) else data

    told = Hidden([hide]).of({"request": "I am Anna", "turns": ["Anna", "a@b.com"], "outcome": None})
    assert told == {"request": "I am [name]", "turns": ["[name]", "[email-1]"], "outcome": None}


@pytest.mark.parametrize(("part", "wanted"), [("Anna", "a text"), ({"who": "Anna"}, "an object")])
def test_a_hook_that_gives_something_else_is_reported(part, wanted):
    with pytest.raises(StoreError, match=f"was given {wanted} and must return one, not NoneType"):
        Hidden([lambda _: None]).of({"request": part})


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from(ORIGINALS), min_size=1, max_size=4), st.lists(_AROUND, min_size=5, max_size=5)
)
def test_no_original_is_left(originals, around):
    text = "".join(f" {before}{each} " for before, each in zip(around, originals, strict=False))
    told = HIDDEN.of({"request": text, "again": {each: [each] for each in originals}})
    assert not [each for each in originals if each in str(told)]


@settings(max_examples=60)
@given(_DATA)
def test_hiding_again_changes_nothing(data):
    once = HIDDEN.of(data)
    counts = Counter()
    assert HIDDEN.of(once, counts) == once
    assert not counts
