"""What a Hugging Face Space starts: `python app.py` is `vitviz serve`, with the same options."""

import sys

from vitviz.cli import main

if __name__ == "__main__":
    sys.exit(main(["serve", *sys.argv[1:]]))
