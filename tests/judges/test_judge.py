"""What all judges share: the fence, the canary, what is no verdict, what makes two of them the same."""

import asyncio

from calipers.judges import LLMJudge
from calipers.testing import ScriptedJudge, make_context

YES = {"reason": "it does", "pass": True}


def judged(judge, ctx):
    return asyncio.run(judge.evaluate(ctx))


def test_a_judge_says_what_the_model_says():
    model = ScriptedJudge([YES])
    assert judged(LLMJudge("is polite", model=model), make_context("Please.")).value is True
    system, user = model.asks[0].messages
    assert "is polite" in system["content"]
    assert "Please." in user["content"]
    assert "Please." not in system["content"]
