"""Judging one attempt: which evaluators there are, what they see, and what they say."""
