"""How spans name what an agent did: one module for each family of names, and `family`, which finds the one of a span."""
