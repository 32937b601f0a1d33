"""Spoken requests: say a sentence, let the agent hear it, check the tools it called."""
