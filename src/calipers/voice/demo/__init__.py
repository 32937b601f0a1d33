"""A demonstration: an agent that hears and decides on this machine, and requests to try it with."""
