"""Rollouts: conversations of many turns, possibly adversarial, measured turn by turn and together.

Each name is loaded when it is first used, so that importing this package costs next to nothing.
"""

from typing import TYPE_CHECKING

from calipers.late import late_names

if TYPE_CHECKING:
    from .ast_evaluator import ASTEvaluator
    from .chat_target import ChatTarget
    from .environment import Environment
    from .evaluator import Evaluator, RolloutOptions
    from .graph import Graph, Node
    from .judge_turns import JudgeTurns
    from .local_model import LocalModel
    from .metrics import GraphMetrics, JSONLike, MeasuredRollouts, RolloutFailure
    from .metrics_files import write_csv, write_json, write_parquet
    from .moderators.batched import BatchedModerator
    from .moderators.embedding import EmbeddingModerator
    from .moderators.keywords import KeywordModerator
    from .moderators.leak import LeakModerator
    from .moderators.moderating import TextModerator, as_moderator
    from .players import Attack, Message, Moderator, Reply, SoFar, Target, Tester, turn_seed
    from .refusal import is_refusal
    from .rollout_task import RolloutTask
    from .simulated_user import ModelUser, Persona, SimulatedUser
    from .stopping import Budget, MaxTurns, OnRefusal, OnSuccess, StopCondition, WallTime
    from .summary import MetricSummary, summarize_metrics
    from .targets import MessagesTarget, TextTarget, as_target
    from .testers import ModelTester, ScriptedTester, TemplateTester, as_tester

_HOMES = {
    "ASTEvaluator": ".ast_evaluator",
    "Attack": ".players",
    "BatchedModerator": ".moderators.batched",
    "Budget": ".stopping",
    "ChatTarget": ".chat_target",
    "EmbeddingModerator": ".moderators.embedding",
    "Environment": ".environment",
    "Evaluator": ".evaluator",
    "Graph": ".graph",
    "GraphMetrics": ".metrics",
    "JSONLike": ".metrics",
    "JudgeTurns": ".judge_turns",
    "KeywordModerator": ".moderators.keywords",
    "LeakModerator": ".moderators.leak",
    "LocalModel": ".local_model",
    "MaxTurns": ".stopping",
    "MeasuredRollouts": ".metrics",
    "Message": ".players",
    "MessagesTarget": ".targets",
    "MetricSummary": ".summary",
    "ModelTester": ".testers",
    "ModelUser": ".simulated_user",
    "Moderator": ".players",
    "Node": ".graph",
    "OnRefusal": ".stopping",
    "OnSuccess": ".stopping",
    "Persona": ".simulated_user",
    "Reply": ".players",
    "RolloutFailure": ".metrics",
    "RolloutOptions": ".evaluator",
    "RolloutTask": ".rollout_task",
    "ScriptedTester": ".testers",
    "SimulatedUser": ".simulated_user",
    "SoFar": ".players",
    "StopCondition": ".stopping",
    "Target": ".players",
    "TemplateTester": ".testers",
    "Tester": ".players",
    "TextModerator": ".moderators.moderating",
    "TextTarget": ".targets",
    "WallTime": ".stopping",
    "as_moderator": ".moderators.moderating",
    "as_target": ".targets",
    "as_tester": ".testers",
    "is_refusal": ".refusal",
    "summarize_metrics": ".summary",
    "turn_seed": ".players",
    "write_csv": ".metrics_files",
    "write_json": ".metrics_files",
    "write_parquet": ".metrics_files",
}

__all__ = [
    "ASTEvaluator",
    "Attack",
    "BatchedModerator",
    "Budget",
    "ChatTarget",
    "EmbeddingModerator",
    "Environment",
    "Evaluator",
    "Graph",
    "GraphMetrics",
    "JSONLike",
    "JudgeTurns",
    "KeywordModerator",
    "LeakModerator",
    "LocalModel",
    "MaxTurns",
    "MeasuredRollouts",
    "Message",
    "MessagesTarget",
    "MetricSummary",
    "ModelTester",
    "ModelUser",
    "Moderator",
    "Node",
    "OnRefusal",
    "OnSuccess",
    "Persona",
    "Reply",
    "RolloutFailure",
    "RolloutOptions",
    "RolloutTask",
    "ScriptedTester",
    "SimulatedUser",
    "SoFar",
    "StopCondition",
    "Target",
    "TemplateTester",
    "Tester",
    "TextModerator",
    "TextTarget",
    "WallTime",
    "as_moderator",
    "as_target",
    "as_tester",
    "is_refusal",
    "summarize_metrics",
    "turn_seed",
    "write_csv",
    "write_json",
    "write_parquet",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = late_names(__name__, _HOMES, globals())
