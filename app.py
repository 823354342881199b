"""What a Hugging Face Space starts: `python app.py` is `vitviz serve`, with the same options."""

import sys

try:
    from vitviz.cli import main
except KeyboardInterrupt:  # before the command line can answer Ctrl-C itself
    sys.exit(130)

if __name__ == "__main__":
    sys.exit(main(["serve", *sys.argv[1:]]))
