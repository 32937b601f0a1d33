import pytest

from calipers.views.comparison.span_plot import Span, spans, text_plot


@pytest.mark.parametrize(
    ("span", "drawn"),
    [
        (Span(0.0, None, None), "     ●     "),
        (Span(0.4, 0.2, 0.6), "     │├●┤  "),
        (Span(-1.0, -1.0, 1.0), "●────│────┤"),
        (Span(0.0, -0.4, 0.4), "   ├─●─┤   "),
    ],
)
def test_a_difference_is_drawn_around_0(span, drawn):
    assert text_plot(span, 11) == drawn


def test_better_is_to_the_right_whichever_direction_is_good(change):
    good, bad = spans([change(0.01, 0.07), change(0.01, 0.07, better="lower")])
    assert good.value == -bad.value > 0
    assert (good.low, good.high) == (-bad.high, -bad.low)


def test_changes_of_one_scale_share_it_and_plain_numbers_have_their_own(change):
    large, small, number = spans(
        [
            change(-0.1, 0.5, difference=0.2),
            change(-0.05, 0.05, difference=0.0),
            change(-10, 5, difference=-2, scale="number"),
        ]
    )
    assert large.high == 1.0
    assert small.high == pytest.approx(0.1)
    assert number.low == -1.0


def test_what_is_neither_better_nor_worse_has_no_place_between_them(change):
    requests, cost = spans([change(-10, 500, better=None), change(-1, 5, difference=2, better="lower")])
    assert requests is None
    assert cost.low == -1.0


def test_no_difference_at_all_stands_in_the_middle(change):
    assert spans([change(0.0, 0.0, difference=0.0), change(difference=0.0)]) == [
        Span(0.0, 0.0, 0.0),
        Span(0.0, None, None),
    ]
