"""`calipers run` with a judge: what a model answered is kept, and a model that cannot be asked ends the run before the first case."""

import pytest

from calipers.testing import OpenAIServer, Reply

JUDGED = """
    from dataclasses import dataclass
    from pathlib import Path

    from calipers.evaluators import Evaluator
    from calipers.models import Ask, as_model, ask_for_data, check_model

    SCHEMA = {"type": "object", "properties": {"passed": {"type": "boolean"}}, "required": ["passed"]}

    @dataclass
    class Judge(Evaluator):
        model: str = "openai:gpt-4o"

        async def before_run(self):
            await check_model(as_model(self.model))

        async def evaluate(self, ctx):
            messages = [{"role": "user", "content": str(ctx.output)}]
            ask = Ask(messages=messages, schema=SCHEMA, repeat=ctx.repeat_index or 0)
            return (await ask_for_data(as_model(self.model), ask)).data["passed"]

    class Second(Judge): ...
    class Third(Judge): ...

    second, third = Second(), Third()

    def counted(inputs):
        Path("called").touch()
        return inputs

    def eval_judged():
        return numbers(1, 2, evaluators=[Judge()]), counted
"""
KEY = "sk-loopback-0123456789"


@pytest.fixture
def server(monkeypatch, write_eval):
    write_eval(JUDGED)
    with OpenAIServer(Reply(text='{"passed": true}'), key=KEY, models=["gpt-4o"]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        yield server


def test_the_same_question_is_paid_for_once_unless_it_is_to_be_asked_anew(calipers, server):
    for options, asked in (
        ((), 2),
        ((), 0),
        (("--no-model-cache",), 2),
        (("--repeat", "2"), 2),
        (("--repeat", "2"), 0),
        (("--no-store",), 2),
    ):
        before = len(server.requests)
        done = calipers("run", *options)
        assert (options, done.exit_code) == (options, 0)
        assert (options, len(server.requests) - before) == (options, asked)


def test_a_run_that_is_scored_again_takes_answers_from_the_store(calipers, server):
    assert calipers("run").exit_code == 0
    for judge, options, asked in (("second", (), 2), ("third", ("--no-model-cache",), 4)):
        done = calipers("score", "latest", "--evaluators", f"eval_numbers.py:{judge}", *options)
        assert (done.exit_code, len(server.requests)) == (0, asked)


@pytest.mark.parametrize(
    ("key", "models", "says"),
    [
        ("sk-another-0123456789", ["gpt-4o"], "Check the key in OPENAI_API_KEY"),
        (KEY, ["gpt-5"], "the server has no model 'gpt-4o'; it has gpt-5"),
    ],
)
def test_a_model_that_cannot_be_asked_ends_the_run_before_the_first_case(
    calipers, server, folder, key, models, says
):
    server.key, server.models = key, models
    done = calipers("run")
    assert done.exit_code == 3
    assert says in done.stderr
    assert KEY not in done.output
    assert not (folder / "called").exists()
    assert calipers("runs").stdout.count("counted") == 0, "no run is begun"


def test_a_server_that_is_gone_ends_the_run_before_the_first_case(calipers, server, folder, monkeypatch):
    with OpenAIServer() as gone:
        monkeypatch.setenv("OPENAI_BASE_URL", gone.url)
    done = calipers("run")
    assert done.exit_code == 3
    assert "is the server running?" in done.stderr
    assert not (folder / "called").exists()
