"""The nouns: cases, attempts, traces, results and records, the shapes of evaluators, and what of them is JSON."""
