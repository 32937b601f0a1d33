"""Inspect AI: `eval` of a task with a solver and three scorers of our own. No model is called; logs go to a
temporary directory.
"""

from inspect_ai import Task
from inspect_ai import eval as inspect_eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import get_model
from inspect_ai.scorer import Score, accuracy, match, mean, scorer
from inspect_ai.solver import generate, solver

import workload
from clock import seconds_of


@solver
def doubling():
    async def solve(state, generate):
        state.output.completion = str(await workload.double(int(state.input_text)))
        return state

    return solve


@scorer(metrics=[accuracy()])
def correct():
    async def score(state, target):
        return Score(value=state.output.completion == target.text)

    return score


@scorer(metrics=[mean()])
def closeness():
    async def score(state, target):
        return Score(value=1.0 / (1.0 + abs(int(state.output.completion) - int(target.text))))

    return score


@scorer(metrics=[])
def parity():
    async def score(state, target):
        return Score(value="even" if int(target.text) % 2 == 0 else "odd")

    return score


def task(count):
    return Task(
        dataset=MemoryDataset(
            [
                Sample(id=name, input=str(inputs), target=str(expected))
                for name, inputs, expected in workload.facts(count)
            ]
        ),
        solver=doubling(),
        scorer=[correct(), closeness(), parity()],
    )


def run(given):
    logs = inspect_eval(given, model="mockllm/model", display="none", log_dir="logs", max_samples=100)
    assert logs[0].status == "success", logs[0].error
    return logs


def overhead(count):
    """Seconds per trivial case."""
    run(task(5))
    given = task(count)
    return seconds_of(lambda: run(given)) / count


def limited(url, count):
    """Cases that fail, of those that ask a model with a limit; with the adaptive connections that are its default."""
    given = Task(
        dataset=MemoryDataset([Sample(input=each, target="yes") for each in workload.questions(count)]),
        solver=generate(),
        scorer=[match()],
    )
    log = inspect_eval(
        given,
        model=get_model("openai-api/loop/m", base_url=url, api_key="none"),
        display="none",
        log_dir="logs",
        fail_on_error=False,
    )[0]
    return count - log.results.completed_samples
