"""The process that Calipers runs in: its event loop, threads, forks, signals, files and late imports."""
