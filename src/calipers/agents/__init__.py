"""Agents, judged by the trace they leave."""
