"""`python -m calipers` is `calipers`."""

from .cli import main

main()
