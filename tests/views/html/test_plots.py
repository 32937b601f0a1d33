import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.report.analysis import CalibrationCurve
from calipers.stats import CalibrationBin, mean, rate, wilson
from calipers.views.html.plots import Scale, calibration_plot, curve_plot, mean_plot, rate_plot, share_bar

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(FINITE, FINITE, FINITE)
def test_every_value_has_its_place_on_the_scale(one, other, value):
    scale = Scale(min(one, other), max(one, other), 100, margin=10)
    assert 10 <= scale.at(value) <= 90
    if scale.share(scale.high) > scale.share(scale.low):
        assert (scale.at(scale.low), scale.at(scale.high)) == (10, 90)


def test_a_rate_is_drawn_between_nothing_and_all_and_said_in_words():
    plot = rate_plot(rate([(1, 1)] * 3 + [(0, 1)]), width=112, height=20)
    assert 'aria-label="75.0 %, 95 % interval [30.1, 95.4]; scale 0 % to 100 %"' in plot
    assert '<circle class="dot" cx="81.0" cy="10.0" r="4"/>' in plot.replace('cx="81"', 'cx="81.0"').replace(
        'cy="10"', 'cy="10.0"'
    )
    low, high = wilson(3, 4).low, wilson(3, 4).high
    assert f'x1="{6 + 100 * low:.6g}"' in plot
    assert f'x2="{6 + 100 * high:.6g}"' in plot


def test_a_mean_is_drawn_over_the_range_of_its_data():
    values = [0.2, 0.4, 0.9]
    plot = mean_plot(mean([[value] for value in values]), values)
    assert "scale -0.3957 to 1.396" in plot, "the interval may reach beyond the data"
    assert plot.count('class="spread"') == 3


@pytest.mark.parametrize("values", [[5.0], [1e308, -1e308], [0.0, 5e-324]])
def test_odd_scores_can_be_drawn(values):
    estimate = mean([[value] for value in values[:1]])
    plot = mean_plot(estimate, values)
    assert "nan" not in plot
    assert "inf" not in re.sub("interval", "", plot)
    assert "no interval" in plot


def test_curves_go_through_their_points():
    plot = curve_plot([(0, 0), (0.5, 1), (1, 1)], across="a", up="b", diagonal=True, words="<curve>")
    assert 'points="34.0,202.0 129.0,12.0 224.0,12.0"' in plot
    assert 'aria-label="&lt;curve&gt;"' in plot
    assert plot.count('class="guide"') == 1


def test_empty_bins_are_not_drawn():
    bins = [CalibrationBin(0, 0.5, 4, 0.3, 0.25, wilson(1, 4)), CalibrationBin(0.5, 1, 0, None, None, None)]
    curve = CalibrationCurve(title="c", bins=bins, brier=0.1, ece=0.1, n_positive=1, n_negative=3)
    assert calibration_plot(curve, words="").count("<circle") == 1


def test_a_share_too_small_to_see_is_still_drawn():
    assert 'class="bar" width="1"' in share_bar(0.0001)
