"""Ways to show a run: a view draws what a report says and computes no number of its own."""
