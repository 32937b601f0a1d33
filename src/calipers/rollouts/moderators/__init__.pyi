from calipers.rollouts.moderators.batched import BatchedModerator as BatchedModerator
from calipers.rollouts.moderators.moderator import TextModerator as TextModerator
from calipers.rollouts.moderators.moderator import as_moderator as as_moderator
from calipers.rollouts.moderators.text_moderators import EmbeddingModerator as EmbeddingModerator
from calipers.rollouts.moderators.text_moderators import KeywordModerator as KeywordModerator
from calipers.rollouts.moderators.text_moderators import LeakModerator as LeakModerator
