"""Moderators that need no key: words and patterns, a secret in any disguise, closeness in meaning; and batching.

Each name is loaded when it is first used.
"""

from typing import TYPE_CHECKING

from calipers.late import late_names

if TYPE_CHECKING:
    from .batched import BatchedModerator
    from .embedding import EmbeddingModerator
    from .keywords import KeywordModerator
    from .leak import LeakModerator
    from .moderating import TextModerator, as_moderator

_HOMES = {
    "BatchedModerator": ".batched",
    "EmbeddingModerator": ".embedding",
    "KeywordModerator": ".keywords",
    "LeakModerator": ".leak",
    "TextModerator": ".moderating",
    "as_moderator": ".moderating",
}

__all__ = [
    "BatchedModerator",
    "EmbeddingModerator",
    "KeywordModerator",
    "LeakModerator",
    "TextModerator",
    "as_moderator",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = late_names(__name__, _HOMES, globals())
