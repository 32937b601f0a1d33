"""A home that listens: the commands of the demonstration, and requests to try it with.

Lights, heating, timers, alarms, music, calls, messages, the weather and doors. `spoken_requests()` gives sentences with
the calls they mean; `unrelated_sentences()` gives sentences that mean nothing here, for which no tool may be called.
"""

import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from calipers.data.trace import ToolCall
from calipers.voice.spelling import number_words

from .commands import Command, CommandGrammar

_NUMBERS = {number_words(number): number for number in range(1, 100)}
_ROOMS = ("kitchen", "bedroom", "bathroom", "living room", "dining room", "hallway", "garage", "office")
_COLORS = ("red", "green", "blue", "yellow", "orange", "purple", "white")
_GENRES = ("jazz", "classical", "country", "rock", "blues")
_CONTACTS = ("anna", "david", "michael", "jennifer", "robert", "my mother", "my brother")
_CITIES = ("boston", "chicago", "denver", "paris", "london", "san francisco")
_MESSAGES = ("i am running late", "dinner is ready", "the meeting is cancelled", "happy birthday")

HOME = CommandGrammar(
    [
        Command("set_light", "(turn|switch) on the {room} (light|lights)", {"on": True}),
        Command("set_light", "(turn|switch) off the {room} (light|lights)", {"on": False}),
        Command("set_light_color", "(make|turn) the {room} (light|lights) {color}"),
        Command("set_brightness", "dim the {room} (light|lights) to {percent:number} percent"),
        Command("set_thermostat", "set the thermostat to {degrees:number} degrees"),
        Command("set_timer", "set a timer for {minutes:number} (minute|minutes)"),
        Command("cancel_timer", "cancel the timer"),
        Command("set_alarm", "wake me up at {hour} [{minute}] in the {period}"),
        Command("play_music", "play some {genre} music [in the {room}]"),
        Command("pause_music", "pause the music"),
        Command("set_volume", "set the volume to {level:number}"),
        Command("call", "call {contact}"),
        Command("send_message", "send a message to {contact} saying {message}"),
        Command("get_weather", "(what's|what is) the weather [like] in {city} {day}"),
        Command("lock_door", "lock the {door} door"),
    ],
    {
        "number": _NUMBERS,
        "room": {room: room for room in _ROOMS},
        "color": {color: color for color in _COLORS},
        "hour": {number_words(hour): hour for hour in range(1, 13)},
        "minute": {"fifteen": 15, "twenty": 20, "thirty": 30, "forty five": 45},
        "period": {"morning": "am", "evening": "pm"},
        "genre": {genre: genre for genre in _GENRES},
        "contact": {contact: contact for contact in _CONTACTS},
        "message": {message: message for message in _MESSAGES},
        "city": {city: city for city in _CITIES},
        "day": {"today": "today", "tomorrow": "tomorrow"},
        "door": {"front": "front", "back": "back"},
    },
)
"""What the demonstration understands."""


@dataclass(frozen=True)
class SpokenRequest:
    """A sentence, and the calls that it means."""

    text: str
    """What is said."""
    calls: tuple[ToolCall, ...]
    """What an agent should do about it; empty if it should do nothing."""


def spoken_requests() -> list[SpokenRequest]:
    """Forty sentences that the home understands: every tool, one call or two."""
    return [
        SpokenRequest(
            each["text"], tuple(ToolCall(call["name"], call["arguments"]) for call in each["calls"])
        )
        for each in _data()["requests"]
    ]


def unrelated_sentences() -> list[SpokenRequest]:
    """Sentences that mean nothing to the home, so that it should call no tool."""
    return [SpokenRequest(text, ()) for text in _data()["unrelated"]]


def _data() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(
        (files("calipers.voice.demo") / "home.json").read_text(encoding="utf-8")
    )
    return data
