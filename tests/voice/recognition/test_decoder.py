"""One decoder: what it hears does not depend on what it heard before, and mistakes are told in words."""

import random
import subprocess
import sys
from functools import cache

import pytest

from calipers.errors import InvalidOptionError
from calipers.voice.recognition.decoder import SAMPLE_RATE, Decoder, Utterance, Vocabulary
from calipers.voice.synthesizers.espeak import EspeakSynthesizer

GRAMMAR = """#JSGF V1.0;
grammar home;
public <request> = turn (on | off) the <room> lights {a tag} | call (anna | david) | /2/ cancel the timer;
<room> = kitchen | bedroom;
"""
TEXTS = ["call anna", "turn on the kitchen lights", "cancel the timer"]


@cache
def frames(text, voice="en-us+f2"):
    return EspeakSynthesizer(voice).synthesize_sync(text).convert(SAMPLE_RATE).pcm


def noise(seconds):
    draw = random.Random(0)
    return b"".join(
        round(draw.gauss(0, 4000)).to_bytes(2, "little", signed=True) for _ in range(seconds * SAMPLE_RATE)
    )


@pytest.mark.parametrize("options", [{"phones_only": True}, {"grammar": GRAMMAR}], ids=["phones", "grammar"])
def test_what_is_heard_does_not_depend_on_what_was_heard_before(options):
    alone = {text: Decoder(Vocabulary(**options)).decode(frames(text)) for text in TEXTS[::2]}
    assert all(heard.text for heard in alone.values())
    used = Decoder(Vocabulary(**options))
    for text, before in zip(alone, (noise(1), frames("what a lovely day", "en-us+m3")), strict=True):
        used.decode(before)
        assert used.decode(frames(text)) == alone[text]


def test_a_grammar_finds_its_sentences_and_their_pronunciation():
    decoder = Decoder(Vocabulary(GRAMMAR))
    assert [decoder.decode(frames(text)).text for text in TEXTS] == TEXTS
    assert decoder.decode(frames("call anna")).phones == ("K", "AO", "L", "AE", "N", "AH")


def test_noise_is_no_sentence():
    assert Decoder(Vocabulary(GRAMMAR)).decode(noise(1)) == Utterance("", ())


def test_a_word_that_the_dictionary_lacks_can_be_taught():
    grammar = "#JSGF V1.0;\ngrammar a;\npublic <a> = open the frobnicator | close the window;"
    with pytest.raises(InvalidOptionError, match=r"cannot pronounce 'frobnicator': .*pronunciations="):
        Decoder(Vocabulary(grammar))
    taught = Decoder(Vocabulary(grammar, pronunciations=(("frobnicator", "F R AA B N IH K EY T ER"),)))
    assert taught.decode(frames("open the frobnicator")).text == "open the frobnicator"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"grammar": "turn on the light"}, "begins with #JSGF, got 'turn on the light'"),
        ({"grammar": ""}, "begins with #JSGF"),
        ({"grammar": "#JSGF V1.0;\ngrammar a;\npublic <a> = call (anna;"}, "cannot be read"),
        ({"grammar": "#JSGF V1.0;\ngrammar a;\n<a> = call anna;"}, "cannot be read"),
        (
            {"grammar": GRAMMAR, "pronunciations": (("frobnicator", "not phones"),)},
            "'frobnicator' cannot be pronounced 'not phones'",
        ),
    ],
)
def test_a_grammar_that_cannot_be_used_is_refused(options, said):
    with pytest.raises(InvalidOptionError, match=said):
        Decoder(Vocabulary(**options))


def test_without_the_library_the_error_names_the_extra():
    program = (
        "import sys; sys.modules['pocketsphinx'] = None\n"
        "from calipers.voice.recognition.decoder import Decoder, Vocabulary\n"
        "try: Decoder(Vocabulary())\n"
        "except ImportError as error: print(error, end='')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "pip install 'calipers[voice]'" in done.stdout
