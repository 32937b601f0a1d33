"""Rollouts: conversations of many turns, possibly adversarial, measured turn by turn and together.

Each name is loaded when it is first used, so that importing this package costs next to nothing.
"""

from typing import TYPE_CHECKING

from calipers.late import late_names

if TYPE_CHECKING:
    from .ast_evaluator import ASTEvaluator
    from .chat_target import ChatTarget
    from .comparing import RolloutPair, TargetComparison, compare_targets
    from .curves import RolloutCurves
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
    from .outcome import first_success, succeeded
    from .picture import rollout_tree, tree_svg, tree_text
    from .players import Attack, Message, Moderator, Reply, SoFar, Target, Tester, turn_seed
    from .refusal import is_refusal
    from .replay import Replay, TargetHeld, rollout_case, save_failures
    from .rollout_task import RolloutTask
    from .simulated_user import ModelUser, Persona, SimulatedUser
    from .spending import PerSuccess, calls_per_success, cost_per_success
    from .stopping import Budget, MaxTurns, OnRefusal, OnSuccess, StopCondition, WallTime
    from .success import AttackSuccess, GoalSuccess, attack_success, bound_text
    from .summary import MetricSummary, summarize_metrics
    from .targets import MessagesTarget, TextTarget, as_target
    from .testers import ModelTester, ScriptedTester, TemplateTester, as_tester
    from .turns_held import turns_to_success

_HOMES = {
    "ASTEvaluator": ".ast_evaluator",
    "Attack": ".players",
    "AttackSuccess": ".success",
    "BatchedModerator": ".moderators.batched",
    "Budget": ".stopping",
    "ChatTarget": ".chat_target",
    "EmbeddingModerator": ".moderators.embedding",
    "Environment": ".environment",
    "Evaluator": ".evaluator",
    "GoalSuccess": ".success",
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
    "PerSuccess": ".spending",
    "Persona": ".simulated_user",
    "Replay": ".replay",
    "Reply": ".players",
    "RolloutCurves": ".curves",
    "RolloutFailure": ".metrics",
    "RolloutOptions": ".evaluator",
    "RolloutPair": ".comparing",
    "RolloutTask": ".rollout_task",
    "ScriptedTester": ".testers",
    "SimulatedUser": ".simulated_user",
    "SoFar": ".players",
    "StopCondition": ".stopping",
    "Target": ".players",
    "TargetComparison": ".comparing",
    "TargetHeld": ".replay",
    "TemplateTester": ".testers",
    "Tester": ".players",
    "TextModerator": ".moderators.moderating",
    "TextTarget": ".targets",
    "WallTime": ".stopping",
    "as_moderator": ".moderators.moderating",
    "as_target": ".targets",
    "as_tester": ".testers",
    "attack_success": ".success",
    "bound_text": ".success",
    "calls_per_success": ".spending",
    "compare_targets": ".comparing",
    "cost_per_success": ".spending",
    "first_success": ".outcome",
    "is_refusal": ".refusal",
    "rollout_case": ".replay",
    "rollout_tree": ".picture",
    "save_failures": ".replay",
    "succeeded": ".outcome",
    "summarize_metrics": ".summary",
    "tree_svg": ".picture",
    "tree_text": ".picture",
    "turn_seed": ".players",
    "turns_to_success": ".turns_held",
    "write_csv": ".metrics_files",
    "write_json": ".metrics_files",
    "write_parquet": ".metrics_files",
}

__all__ = [
    "ASTEvaluator",
    "Attack",
    "AttackSuccess",
    "BatchedModerator",
    "Budget",
    "ChatTarget",
    "EmbeddingModerator",
    "Environment",
    "Evaluator",
    "GoalSuccess",
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
    "PerSuccess",
    "Persona",
    "Replay",
    "Reply",
    "RolloutCurves",
    "RolloutFailure",
    "RolloutOptions",
    "RolloutPair",
    "RolloutTask",
    "ScriptedTester",
    "SimulatedUser",
    "SoFar",
    "StopCondition",
    "Target",
    "TargetComparison",
    "TargetHeld",
    "TemplateTester",
    "Tester",
    "TextModerator",
    "TextTarget",
    "WallTime",
    "as_moderator",
    "as_target",
    "as_tester",
    "attack_success",
    "bound_text",
    "calls_per_success",
    "compare_targets",
    "cost_per_success",
    "first_success",
    "is_refusal",
    "rollout_case",
    "rollout_tree",
    "save_failures",
    "succeeded",
    "summarize_metrics",
    "tree_svg",
    "tree_text",
    "turn_seed",
    "turns_to_success",
    "write_csv",
    "write_json",
    "write_parquet",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = late_names(__name__, _HOMES, globals())
