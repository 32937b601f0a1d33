"""Recognition: speech in, text out, on this machine."""

from .phones import phone_distance
from .recognizer import Hearing, Recognizer

__all__ = ["Hearing", "Recognizer", "phone_distance"]
