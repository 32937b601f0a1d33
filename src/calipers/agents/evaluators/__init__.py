"""The verdict evaluators that Calipers brings, one module per kind of evidence; `calipers.agents` has their names."""
