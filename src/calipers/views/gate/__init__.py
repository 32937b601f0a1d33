"""Ways to show the verdict of a gate: in the terminal, as Markdown for a pull request, HTML and JSON."""
