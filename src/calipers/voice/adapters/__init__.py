"""Agents that live elsewhere: behind HTTP, behind a WebSocket, or at a provider. Each has `run` and `run_text`."""

from .gemini_generate import GeminiAgent
from .gemini_live import GeminiLiveAgent
from .http_agent import HttpAgent
from .openai_chat import OpenAIAgent
from .openai_realtime import OpenAIRealtimeAgent
from .websocket_agent import WebSocketAgent

__all__ = [
    "GeminiAgent",
    "GeminiLiveAgent",
    "HttpAgent",
    "OpenAIAgent",
    "OpenAIRealtimeAgent",
    "WebSocketAgent",
]
