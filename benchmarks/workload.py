"""What every subject is given: the same facts for cases, the same tasks, the same three evaluators.

One evaluator asserts, one scores, one labels, because a framework may treat the three kinds differently. One case in
four is wrong on purpose, so that no subject profits from results that are all alike.
"""

import asyncio
import time
from dataclasses import dataclass

NAP = 0.05
"""Seconds that a slow task takes: a quick answer of a model."""
JUDGES, JUDGE_NAP, JUDGED_AT_ONCE = 5, 0.3, 5
"""Evaluators that ask a model, the seconds each of them takes, and attempts in flight."""
IN_FLIGHT = 1000
"""Slow tasks running at once."""


def facts(count):
    """(name, inputs, expected output) of each case."""
    return [(f"case {number}", number, 2 * number + (number % 4 == 0)) for number in range(count)]


def right(count):
    """How many of the cases the task answers as expected."""
    return sum(number % 4 != 0 for number in range(count))


async def double(inputs):
    """The trivial task."""
    return 2 * inputs


def double_at_once(inputs):
    """The trivial task as an ordinary function."""
    return 2 * inputs


async def double_slowly(inputs):
    """A task that waits, the way a call of a model does."""
    await asyncio.sleep(NAP)
    return 2 * inputs


def double_blocking(inputs):
    """A task that waits and holds its thread, the way a synchronous client does."""
    time.sleep(NAP)
    return 2 * inputs


def evaluators(base):
    """The three evaluators, as subclasses of a framework's evaluator class (or of `object`)."""

    @dataclass
    class Correct(base):
        def evaluate(self, ctx):
            return ctx.output == ctx.expected_output

    @dataclass
    class Closeness(base):
        scale: float = 1.0

        def evaluate(self, ctx):
            return 1.0 / (1.0 + abs(ctx.output - ctx.expected_output) / self.scale)

    @dataclass
    class Parity(base):
        def evaluate(self, ctx):
            return "even" if ctx.expected_output % 2 == 0 else "odd"

    return [Correct(), Closeness(), Parity()]


def judges(base):
    """Evaluators that wait, the way judges that ask a model do."""

    def judge(number):
        @dataclass
        class Judge(base):
            async def evaluate(self, ctx):
                await asyncio.sleep(JUDGE_NAP)
                return ctx.output == ctx.expected_output

        Judge.__name__ = Judge.__qualname__ = f"Judge{number}"
        return Judge()

    return [judge(number) for number in range(JUDGES)]


# ---------------------------------------------------------------------- a model with a limit


def questions(count):
    """Questions of different lengths."""
    return ["word " * (40 + 37 * number % 80) for number in range(count)]


def asking(url):
    """A task that asks a model by OpenAI's client, as it comes: it asks again twice."""
    import openai

    client = openai.AsyncOpenAI(base_url=url, api_key="none")

    async def ask(question):
        answer = await client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": question}]
        )
        return answer.choices[0].message.content

    return ask
