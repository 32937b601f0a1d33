"""Tool calls compared: how well what an agent did fits what was expected of it."""
