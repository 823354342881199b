"""`python -m vitviz` is the command line of `cli.py`."""

import sys

try:
    from .cli import main
except KeyboardInterrupt:  # before the command line can answer Ctrl-C itself
    sys.exit(130)

sys.exit(main())
