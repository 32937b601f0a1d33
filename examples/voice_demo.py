"""A voice test from end to end on this machine: speak, listen, act, judge, report. No key, no network, no sound card.

A synthesizer says forty requests to a home, and a dozen sentences that ask for nothing. An agent hears them and calls
tools; a report says how often it called the right ones. Then a part of the requests is said again with noise.

    pip install 'calipers[voice]'
    python examples/voice_demo.py              # or with another voice: python examples/voice_demo.py en-us+f5
    python examples/voice_demo.py --every 4    # a fourth of the sentences, which takes a fourth of the time
"""

import argparse
import os

from calipers import Case, Dataset, EvaluatorContext, known
from calipers.voice import ExactEvaluator, VoiceTask
from calipers.voice.demo import OfflineAgent, SpokenRequest, spoken_requests, unrelated_sentences
from calipers.voice.perturbations import Noise
from calipers.voice.synthesizers import EspeakSynthesizer

AT_ONCE = os.cpu_count() or 1
"""Listening is work for a processor: more at once than there are processors would only wait."""


def case(sentence: SpokenRequest) -> Case:
    return Case(name=sentence.text, inputs=sentence.text, expected_output=list(sentence.calls))


def heard(ctx: EvaluatorContext) -> str | dict:
    """A label: whether the agent heard every word of a request, whatever it did about it."""
    if not ctx.expected_output:
        return {}  # of a sentence that asks for nothing, it need not hear a word
    return "every word" if ctx.attributes["transcript"] == ctx.inputs else "not every word"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("voice", nargs="?", default="en-us+f2", help="who speaks (default: %(default)s)")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="say only each Nth sentence")
    given = parser.parse_args()
    speaker = EspeakSynthesizer(given.voice)
    agent = OfflineAgent()
    right_calls = ExactEvaluator(ignore_extra_calls=False)

    home = Dataset(
        name="home, clean",
        cases=[case(sentence) for sentence in (spoken_requests() + unrelated_sentences())[:: given.every]],
        evaluators=[right_calls, heard],
    )
    home.evaluate_sync(VoiceTask(agent, speaker), max_concurrency=AT_ONCE, progress=False).print()

    noisy = Dataset(
        name="home, with noise",
        cases=[case(sentence) for sentence in spoken_requests()[:: 4 * given.every]],
        evaluators=[right_calls],
    )
    print()
    for snr in (30, 15, 5):
        task = VoiceTask(agent, speaker, perturbation=Noise(snr))
        rate = noisy.evaluate_sync(task, max_concurrency=AT_ONCE, progress=False).pass_rate()
        interval = known(rate.interval)
        low, high = interval.low, interval.high
        print(f"speech {snr:2} dB above the noise: {rate.value:4.0%} right [{low:.0%}, {high:.0%}]")


if __name__ == "__main__":
    main()
