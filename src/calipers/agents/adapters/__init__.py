"""Agents of every make behind one method: `invoke(input_text)` gives the trace of one execution."""

from .function import FunctionAdapter
from .http import HttpAdapter
from .protocol import Adapter

__all__ = ["Adapter", "FunctionAdapter", "HttpAdapter"]
