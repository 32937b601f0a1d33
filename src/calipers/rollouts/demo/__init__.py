"""A target with known weaknesses, to learn on and to check measurements against."""

from .vault import GOAL, VaultAssistant
from calipers.rollouts.demo_file import DEFAULT_WEAKNESSES, EVERY_WEAKNESS, HARDENED_WEAKNESSES, Weakness

__all__ = [
    "DEFAULT_WEAKNESSES",
    "EVERY_WEAKNESS",
    "GOAL",
    "HARDENED_WEAKNESSES",
    "VaultAssistant",
    "Weakness",
]
