"""Evaluators that check that code runs. It runs in a sandboxed child process; see `calipers.sandbox`."""

from dataclasses import dataclass, field

from calipers.data.argument_checks import check_text
from calipers.data.context import EvaluatorContext
from calipers.data.evaluator import Evaluator
from calipers.data.result import EvaluationReason
from calipers.data.value_text import shorten, show_typed
from calipers.sandbox import Limits, Outcome, run_python

from .code_block import code_in
from .equality import first_difference


@dataclass
class RunsPython(Evaluator):
    """The output is Python code that runs to its end with exit code 0, and prints what it should.

    The code is the whole output, or its Markdown code block. The reason says which protection held: on a system without
    isolation the code is only limited in what it may use, unless isolation is required.
    """

    seconds: float = 5.0
    """How long it may run."""
    memory_bytes: int = field(default=512 << 20, kw_only=True)
    """How much memory each of its processes may use."""
    stdin: str = field(default="", kw_only=True)
    """What it can read from its standard input."""
    expected_stdout: str | None = field(default=None, kw_only=True)
    """What it must print, spaces and line breaks at the very end aside; `None` for anything."""
    require_isolation: bool = field(default=False, kw_only=True)
    """Whether to fail, without running the code, where it could not be isolated from network and files."""
    evaluation_name: str | None = field(default=None, kw_only=True)
    """What the result is called; `None` for the class's name."""

    def __post_init__(self) -> None:
        self._limits()
        check_text("expected_stdout", self.expected_stdout, or_empty=True, or_none=True)
        check_text("stdin", self.stdin, or_empty=True)

    async def evaluate(self, ctx: EvaluatorContext) -> EvaluationReason:
        """True if it ran to its end and printed what was expected; an output that is not text fails.

        Raises:
            SandboxError: the code could not be run as asked.
        """
        if not isinstance(ctx.output, str):
            return EvaluationReason(value=False, reason=f"expected Python code, got {show_typed(ctx.output)}")
        try:
            code = code_in(ctx.output, ("python", "python3", "py"))
        except ValueError as error:
            return EvaluationReason(value=False, reason=str(error))
        outcome = await run_python(
            code, stdin=self.stdin, limits=self._limits(), require_isolation=self.require_isolation
        )
        problem = self._problem(outcome)
        return EvaluationReason(
            value=problem is None, reason=f"{problem or outcome.summary} ({outcome.protection_note})"
        )

    def _limits(self) -> Limits:
        return Limits(seconds=self.seconds, memory_bytes=self.memory_bytes)

    def _problem(self, outcome: Outcome) -> str | None:
        if not outcome.ok:
            last_words = outcome.stderr.strip().rpartition("\n")[2]
            return f"{outcome.summary}: {shorten(last_words)}" if last_words else outcome.summary
        if self.expected_stdout is None:
            return None
        expected, actual = self.expected_stdout.rstrip(), outcome.stdout.rstrip()
        return None if expected == actual else f"printed something else: {first_difference(expected, actual)}"
