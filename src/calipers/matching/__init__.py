"""Tool calls compared: how well what an agent did fits what was expected of it.

Each name is loaded when it is first used, so that importing this package costs next to nothing.
"""

from typing import TYPE_CHECKING

from calipers.late import late_names

if TYPE_CHECKING:
    from .call import CallComparison, compare_calls
    from .calls_match import CallsMatch
    from .combined import AllOf, AnyOf, Includes, Not, SetOf
    from .constraints import AtLeast, AtMost, Before, Constraint, Exactly, Flow, Never, Step
    from .dates import DateIs
    from .edits import Edit
    from .match import match_calls
    from .matcher_data import read_call, read_matcher
    from .matchers import (
        Absent,
        Anything,
        Approx,
        InRange,
        Json,
        Maybe,
        OfType,
        Present,
        Regex,
        Similar,
        Text,
    )
    from .options import MatchOptions, Mode
    from .pairing import Pair
    from .rules import ArgumentMode, CallOf, CallRules, Names
    from .trajectory import AnyOrder, Either, InOrder, Optionally, Repeated, Trajectory, TrajectoryMatch
    from .values import Check, Difference, Matcher, matches, similarity

_HOMES = {
    "Absent": ".matchers",
    "AllOf": ".combined",
    "AnyOf": ".combined",
    "AnyOrder": ".trajectory",
    "Anything": ".matchers",
    "Approx": ".matchers",
    "ArgumentMode": ".rules",
    "AtLeast": ".constraints",
    "AtMost": ".constraints",
    "Before": ".constraints",
    "CallComparison": ".call",
    "CallOf": ".rules",
    "CallRules": ".rules",
    "CallsMatch": ".calls_match",
    "Check": ".values",
    "Constraint": ".constraints",
    "DateIs": ".dates",
    "Difference": ".values",
    "Edit": ".edits",
    "Either": ".trajectory",
    "Exactly": ".constraints",
    "Flow": ".constraints",
    "InOrder": ".trajectory",
    "InRange": ".matchers",
    "Includes": ".combined",
    "Json": ".matchers",
    "MatchOptions": ".options",
    "Matcher": ".values",
    "Maybe": ".matchers",
    "Mode": ".options",
    "Names": ".rules",
    "Never": ".constraints",
    "Not": ".combined",
    "OfType": ".matchers",
    "Optionally": ".trajectory",
    "Pair": ".pairing",
    "Present": ".matchers",
    "Regex": ".matchers",
    "Repeated": ".trajectory",
    "SetOf": ".combined",
    "Similar": ".matchers",
    "Step": ".constraints",
    "Text": ".matchers",
    "Trajectory": ".trajectory",
    "TrajectoryMatch": ".trajectory",
    "compare_calls": ".call",
    "match_calls": ".match",
    "matches": ".values",
    "read_call": ".matcher_data",
    "read_matcher": ".matcher_data",
    "similarity": ".values",
}

__all__ = [
    "Absent",
    "AllOf",
    "AnyOf",
    "AnyOrder",
    "Anything",
    "Approx",
    "ArgumentMode",
    "AtLeast",
    "AtMost",
    "Before",
    "CallComparison",
    "CallOf",
    "CallRules",
    "CallsMatch",
    "Check",
    "Constraint",
    "DateIs",
    "Difference",
    "Edit",
    "Either",
    "Exactly",
    "Flow",
    "InOrder",
    "InRange",
    "Includes",
    "Json",
    "MatchOptions",
    "Matcher",
    "Maybe",
    "Mode",
    "Names",
    "Never",
    "Not",
    "OfType",
    "Optionally",
    "Pair",
    "Present",
    "Regex",
    "Repeated",
    "SetOf",
    "Similar",
    "Step",
    "Text",
    "Trajectory",
    "TrajectoryMatch",
    "compare_calls",
    "match_calls",
    "matches",
    "read_call",
    "read_matcher",
    "similarity",
]


if not TYPE_CHECKING:  # a checker that read this would accept every name, misspelt ones too
    __getattr__, __dir__ = late_names(__name__, _HOMES, globals())
