"""Sound as the protocols want it."""

import asyncio
import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.models.model_request import as_base64
from calipers.voice.adapters.http_agent import as_json_with
from calipers.voice.adapters.remote_agent import as_file, as_pcm, paced, pieces
from calipers.voice.audio import Audio

FRAMES = bytes(range(200))


@pytest.mark.parametrize(
    "audio",
    [Audio(FRAMES, "wav", 16000), Audio(FRAMES, "pcm", 16000), Audio.from_pcm(FRAMES, sample_rate=16000)],
    ids=["without a header", "bare frames", "with a header"],
)
def test_a_wav_file_has_one_header_and_says_its_rate(audio):
    data, form = as_file(audio, ("mp3",))
    assert form == "wav"
    assert data.count(b"RIFF") == 1
    assert Audio(data).sample_rate == 16000
    assert Audio(data).pcm == FRAMES


def test_a_compressed_file_is_sent_as_it_is_where_the_protocol_takes_it():
    assert as_file(Audio(b"ID3\x04...", "mp3"), ("mp3", "ogg")) == (b"ID3\x04...", "mp3")


def test_frames_have_the_rate_width_and_channel_of_the_protocol():
    audio = Audio(bytes(3 * 2 * 441), "pcm", 44100, channels=2, sample_width=3)
    found = as_pcm(audio, 24000)
    assert (found.sample_rate, found.channels, found.sample_width) == (24000, 1, 2)
    assert found.duration == pytest.approx(audio.duration, abs=0.001)


@given(st.integers(0, 5000), st.integers(1, 300), st.sampled_from([8000, 16000, 22050, 44100]))
def test_pieces_are_whole_frames_and_together_the_sound(frames, milliseconds, rate):
    pcm = bytes(index % 251 for index in range(2 * frames))
    found = list(pieces(Audio(pcm, "pcm", rate), milliseconds))
    assert b"".join(found) == pcm
    assert all(len(piece) % 2 == 0 and piece for piece in found)
    assert len({len(piece) for piece in found[:-1]}) <= 1


def test_real_time_changes_when_pieces_come_and_not_what_they_are():
    async def collected(*, realtime):
        return [piece async for piece in paced(Audio(FRAMES, "pcm", 16000), 2, realtime=realtime)]

    assert asyncio.run(collected(realtime=True)) == asyncio.run(collected(realtime=False))


@given(st.text(), st.binary(), st.dictionaries(st.text(), st.integers()))
def test_bytes_among_the_fields_of_a_json_object_are_base64_unless_a_field_has_their_name(name, data, fields):
    coded = base64.b64encode(data).decode()
    assert json.loads(as_json_with(name, data, fields)) == {name: coded, **fields}
    assert as_base64(data) == coded
