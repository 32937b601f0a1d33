"""Synthesizers: text in, speech out."""

from .espeak import EspeakSynthesizer

__all__ = ["EspeakSynthesizer"]
