"""The door `python -m vitviz.train`."""

import sys

try:
    from ..stopping import signals_raise
    from .command import main
except KeyboardInterrupt:  # before the command can answer Ctrl-C itself
    sys.exit(130)

with signals_raise():
    status = main()
sys.exit(status)
