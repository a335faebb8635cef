"""Lets the tests import the checkers by their names, as the commands in that folder do."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "checkers"))
