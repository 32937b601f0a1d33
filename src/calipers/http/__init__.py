"""Asking an agent over HTTP: one request, its answer, and every way in which there is none."""
