"""One module for each command: its arguments, options and help. What a command does loads when it runs."""
