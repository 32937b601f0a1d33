from hypothesis import given
from hypothesis import strategies as st

from calipers.cli import exits

CODES = st.sampled_from(exits.PRECEDENCE)


def test_every_code_has_a_place_and_a_word():
    codes = {
        getattr(exits, name)
        for name in (
            "PASSED",
            "FAILED",
            "USAGE",
            "ERRORED",
            "NOTHING",
            "INCONCLUSIVE",
            "WORSE",
            "INTERRUPTED",
            "TERMINATED",
        )
    }
    assert codes == {0, 1, 2, 3, 4, 5, 6, 130, 143} == set(exits.PRECEDENCE) == set(exits.WORDS)


@given(st.lists(CODES))
def test_the_order_of_the_codes_does_not_matter_and_success_needs_all(codes):
    assert exits.first_of(codes) == exits.first_of(reversed(codes))
    assert (exits.first_of(codes) == 0) == all(code == 0 for code in codes)


@given(st.lists(CODES, min_size=1), CODES)
def test_one_more_code_never_makes_the_outcome_more_trusted(codes, more):
    place = exits.PRECEDENCE.index
    assert place(exits.first_of([*codes, more])) <= place(exits.first_of(codes))
