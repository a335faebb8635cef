"""`python -m frazil` is the program `frazil`."""

import sys

from frazil.cli import main

if __name__ == "__main__":
    sys.exit(main())
