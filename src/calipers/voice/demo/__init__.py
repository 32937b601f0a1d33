"""A demonstration: an agent that hears and decides on this machine, and requests to try it with."""

from .agent import OfflineAgent
from .commands import Command, CommandGrammar
from .home import HOME, SpokenRequest, spoken_requests, unrelated_sentences

__all__ = [
    "HOME",
    "Command",
    "CommandGrammar",
    "OfflineAgent",
    "SpokenRequest",
    "spoken_requests",
    "unrelated_sentences",
]
