"""Readers of what agents answer: each finds the tool calls in one provider's shape, and records what it cannot read."""

from .anthropic import AnthropicResponseParser
from .gemini import GeminiResponseParser
from .json_fields import JsonResponseParser, Merge
from .openai import OpenAIResponseParser

__all__ = [
    "AnthropicResponseParser",
    "GeminiResponseParser",
    "JsonResponseParser",
    "Merge",
    "OpenAIResponseParser",
]
