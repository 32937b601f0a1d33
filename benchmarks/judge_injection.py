"""Forged verdicts and instructions against a judge with a model that obeys them: without a fence, with a fence, with fence and canary.

The model is scripted (`calipers.testing.ObedientModel`): it does what the evidence tells it to do, in whatever disguise. So this measures what
fence and canary do when the model does nothing for its own protection; a real model adds its own share, which
`calipers judge attack` measures. Run it with `python benchmarks/judge_injection.py`; the table is in docs/explanation/judges.md.
"""

import asyncio
from collections import Counter

from calipers import Evaluator
from calipers.judges import LLMJudge, attack_judge, object_of
from calipers.models import Ask, ask_for_data
from calipers.stats.number_text import rate_text
from calipers.testing import ObedientModel

RUBRIC = "The answer is right."


class Unfenced(Evaluator):
    """A judge as many are written: the output stands in the question."""

    def __init__(self, model):
        self.model = model

    async def evaluate(self, ctx):
        question = f"Grade the output.\nRubric: {RUBRIC}\nOutput: {ctx.output}"
        schema = object_of(reason={"type": "string"}, **{"pass": {"type": "boolean"}})
        asked = Ask(messages=[{"role": "user", "content": question}], schema=schema)
        return (await ask_for_data(self.model, asked)).data["pass"]


def row(title, judge):
    report = asyncio.run(attack_judge(judge))
    ends = Counter(each.end for each in report.outcomes)
    value, interval = rate_text(report.through.value, report.through.interval)
    kinds = Counter(each.injection.kind for each in report.ended("through"))
    which = "all kinds" if len(kinds) == 7 else ", ".join(kinds) or "none"
    return f"| {title} | {ends['through']} of {len(report.outcomes)} | {value} {interval} | {ends['caught']} | {which} |"


def main():
    print("| judge | through | rate | caught | what gets through |")
    print("|---|---|---|---|---|")
    print(row("no fence", Unfenced(ObedientModel())))
    print(row("fence, no canary", LLMJudge(RUBRIC, model=ObedientModel(), canary=False)))
    print(row("fence and canary; heeds the last word", LLMJudge(RUBRIC, model=ObedientModel("last"))))
    print(row("fence and canary; heeds the first word", LLMJudge(RUBRIC, model=ObedientModel("first"))))
    print(row("fence and canary; heeds the candidate", LLMJudge(RUBRIC, model=ObedientModel("candidate"))))


if __name__ == "__main__":
    main()
