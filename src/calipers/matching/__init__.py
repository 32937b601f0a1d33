"""Tool calls compared: how well what an agent did fits what was expected of it."""

from .call import CallComparison, compare_calls
from .combined import AllOf, AnyOf, Includes, Not, SetOf
from .matchers import Absent, Anything, Approx, InRange, Json, Maybe, OfType, Present, Regex, Similar, Text
from .rules import ArgumentMode, CallRules, Names
from .values import Check, Difference, Matcher, matches, similarity

__all__ = [
    "Absent",
    "AllOf",
    "AnyOf",
    "Anything",
    "Approx",
    "ArgumentMode",
    "CallComparison",
    "CallRules",
    "Check",
    "Difference",
    "InRange",
    "Includes",
    "Json",
    "Matcher",
    "Maybe",
    "Names",
    "Not",
    "OfType",
    "Present",
    "Regex",
    "SetOf",
    "Similar",
    "Text",
    "compare_calls",
    "matches",
    "similarity",
]
