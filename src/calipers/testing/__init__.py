"""What tests of evaluators and tasks need, so that they need no mocks.

ctx = make_context("Paris", expected_output="Paris")
assert evaluate_one(MyEvaluator(), ctx).passed
check_evaluator(MyEvaluator(), contexts=[ctx])

task = ScriptedTask({"capital of France?": "Paris", "of Peru?": TimeoutError("no answer")})
report = dataset.evaluate_sync(task)
assert_rate(report, at_least=0.9)
"""

from calipers.testing.adapter_check import check_adapter
from calipers.testing.assertions import assert_mean, assert_passed, assert_rate
from calipers.testing.conformance import ConformanceError, Finding
from calipers.testing.context import evaluate_one, make_context, odd_contexts, ordinary_contexts
from calipers.testing.evaluator_check import Conformance, check_evaluator
from calipers.testing.http_servers import GeminiServer, HttpAgentServer, OpenAIServer
from calipers.testing.loopback import Fault, LoopbackServer, Received, Replies, Reply
from calipers.testing.player_checks import check_moderator, check_target, check_tester, check_transformation
from calipers.testing.plugin_check import PluginConformance, check_plugin
from calipers.testing.postgres import TemporaryPostgres
from calipers.testing.scripted_task import BlockingScriptedTask, Delay, InTurn, NoAnswerError, ScriptedTask
from calipers.testing.socket_servers import GeminiLiveServer, OpenAIRealtimeServer, WebSocketAgentServer
from calipers.testing.store_check import check_store
from calipers.testing.trace_assertions import TraceAssertions, assert_trace

__all__ = [
    "BlockingScriptedTask",
    "Conformance",
    "ConformanceError",
    "Delay",
    "Fault",
    "Finding",
    "GeminiLiveServer",
    "GeminiServer",
    "HttpAgentServer",
    "InTurn",
    "LoopbackServer",
    "NoAnswerError",
    "OpenAIRealtimeServer",
    "OpenAIServer",
    "PluginConformance",
    "Received",
    "Replies",
    "Reply",
    "ScriptedTask",
    "TemporaryPostgres",
    "TraceAssertions",
    "WebSocketAgentServer",
    "assert_mean",
    "assert_passed",
    "assert_rate",
    "assert_trace",
    "check_adapter",
    "check_evaluator",
    "check_moderator",
    "check_plugin",
    "check_store",
    "check_target",
    "check_tester",
    "check_transformation",
    "evaluate_one",
    "make_context",
    "odd_contexts",
    "ordinary_contexts",
]
