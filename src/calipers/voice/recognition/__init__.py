"""Recognition: speech in, text out, on this machine."""
