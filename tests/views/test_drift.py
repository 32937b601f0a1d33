"""Drift, as people and programs read it."""

import json

import pytest

from calipers.comparison.drift import AttemptDrift, CaseDrift, Drift, DriftChange
from calipers.stats import rate
from calipers.views.drift import FORMATS, drift_json, drift_markdown, drift_text

HOSTILE = "\x1b[31m<script>alert(1)</script> | `x`\n@team"


def drifted(*tools):
    changes = tuple(DriftChange(of="new tool", tool=tool, accepted=0, found=1) for tool in tools)
    return AttemptDrift(state="drifted", nearest=1, changes=changes)


def drift(*cases, follows=None, **fields):
    return Drift(name="run", cases=cases, follows=follows, **fields)


def test_attempts_that_do_the_same_are_told_once_with_their_number():
    case = CaseDrift(
        case="a", state="drifted", attempts=(drifted("x"), AttemptDrift(state="follows"), drifted("x"))
    )
    shown = drift_text(drift(case, follows=rate([(1, 3)])))
    assert shown.startswith("0 of 1 case follows an accepted trace in each attempt, and 33.3 %")
    assert "a: 2 of 3 attempts: new tool x\n" in shown


def test_many_changes_are_counted():
    case = CaseDrift(case="a", state="drifted", attempts=(drifted(*"abcdefg"),))
    assert "new tool e; and 2 more" in drift_text(drift(case, follows=rate([(0, 1)])))


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (drift(), "Nothing to check: no case has an accepted trace"),
        (
            drift(
                CaseDrift(
                    case="a",
                    state="unknown",
                    attempts=(AttemptDrift(state="unknown", why="it has no trace"),),
                )
            ),
            "Not known of any case\n\nNot known: 1 case\n  a: it has no trace",
        ),
        (drift(not_run=("b",), incomplete="Ctrl-C"), "Note: the run is incomplete: Ctrl-C"),
        (drift(not_run=("b",)), "In the baseline, and not in this run: 1 case\n  b"),
    ],
)
def test_what_could_not_be_checked_is_said(found, said):
    assert said in drift_text(found)


def test_names_of_tools_and_cases_cannot_change_how_they_are_shown():
    case = CaseDrift(case=HOSTILE, state="drifted", attempts=(drifted(HOSTILE),))
    found = drift(case, follows=rate([(0, 1)]))
    for shown in (drift_text(found), drift_markdown(found)):
        assert "\x1b" not in shown
        assert "\n@team" not in shown
    assert "- `" in drift_markdown(found)
    assert json.loads(drift_json(found))["cases"][0]["case"] == HOSTILE
    assert set(FORMATS) == {"json", "markdown", "text"}
