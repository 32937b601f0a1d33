"""Tool calls compared: how well what an agent did fits what was expected of it."""

from .call import CallComparison, compare_calls
from .combined import AllOf, AnyOf, Includes, Not, SetOf
from .constraints import AtLeast, AtMost, Before, Constraint, Exactly, Flow, Never, Step
from .matchers import Absent, Anything, Approx, InRange, Json, Maybe, OfType, Present, Regex, Similar, Text
from .rules import ArgumentMode, CallRules, Names
from .trajectory import AnyOrder, Either, InOrder, Optionally, Repeated, Trajectory, TrajectoryMatch
from .values import Check, Difference, Matcher, matches, similarity

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
    "CallRules",
    "Check",
    "Constraint",
    "Difference",
    "Either",
    "Exactly",
    "Flow",
    "InOrder",
    "InRange",
    "Includes",
    "Json",
    "Matcher",
    "Maybe",
    "Names",
    "Never",
    "Not",
    "OfType",
    "Optionally",
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
    "matches",
    "similarity",
]
