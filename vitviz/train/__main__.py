"""The door `python -m vitviz.train`."""

import sys

from .command import main

sys.exit(main())
