"""What tests of evaluators and tasks need, so that they need no mocks.

ctx = make_context("Paris", expected_output="Paris")
assert evaluate_one(MyEvaluator(), ctx).passed
check_evaluator(MyEvaluator(), contexts=[ctx])

task = ScriptedTask({"capital of France?": "Paris", "of Peru?": TimeoutError("no answer")})
report = dataset.evaluate_sync(task)
assert_rate(report, at_least=0.9)

Each name is loaded when it is first used, so that importing this package costs next to nothing.
"""

from calipers.process.lazy_exports import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, globals())
