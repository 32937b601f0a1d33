"""Say clearly when the Python that would run Calipers is too old or cannot make environments."""

import sys

if sys.version_info < (3, 11):
    sys.exit(
        f"Calipers needs Python 3.11 or later, and {sys.executable} is {sys.version.split()[0]}. "
        "Name another one: make demo PYTHON=python3.12"
    )
try:
    import ensurepip
    import venv
except ImportError as error:
    sys.exit(
        f"this Python cannot make virtual environments ({error}): on Debian, apt-get install python3-venv"
    )
else:
    del ensurepip, venv
