"""Ways to show a comparison: in words, in the terminal, as Markdown, HTML and JSON."""
