"""Recognition: speech in, text out, on this machine."""

from .recognizer import Hearing, Recognizer, phone_distance

__all__ = ["Hearing", "Recognizer", "phone_distance"]
