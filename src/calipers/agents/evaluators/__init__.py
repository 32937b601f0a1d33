"""The built-in verdict evaluators, one module per kind of evidence; import them from `calipers.agents`."""
