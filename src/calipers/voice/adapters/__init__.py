"""Agents that live elsewhere: behind HTTP, behind a WebSocket, or at a provider. Each has `run` and `run_text`."""

from .gemini import GeminiAgent, GeminiLiveAgent
from .http_agent import HttpAgent
from .openai import OpenAIAgent, OpenAIRealtimeAgent
from .websocket_agent import WebSocketAgent

__all__ = [
    "GeminiAgent",
    "GeminiLiveAgent",
    "HttpAgent",
    "OpenAIAgent",
    "OpenAIRealtimeAgent",
    "WebSocketAgent",
]
