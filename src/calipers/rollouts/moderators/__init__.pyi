from calipers.rollouts.moderators.batched import BatchedModerator as BatchedModerator
from calipers.rollouts.moderators.embedding import EmbeddingModerator as EmbeddingModerator
from calipers.rollouts.moderators.keywords import KeywordModerator as KeywordModerator
from calipers.rollouts.moderators.leak import LeakModerator as LeakModerator
from calipers.rollouts.moderators.moderator import TextModerator as TextModerator
from calipers.rollouts.moderators.moderator import as_moderator as as_moderator
