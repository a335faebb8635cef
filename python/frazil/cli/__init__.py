"""The command line: `frazil`, or `python -m frazil`. It needs the libraries of `pip install 'frazil[cli]'`.

Nothing else of the package imports this part. `frazil.cli.main` is the program.
"""

from __future__ import annotations

import sys

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Runs the program. Returns its exit code.

    Args:
        arguments: The arguments after the program's name; None takes those of the process.
    """
    given = sys.argv[1:] if arguments is None else arguments
    if given == ["--version"]:
        from frazil import __version__

        print(f"frazil {__version__}")
        return 0
    try:
        import click  # noqa: F401
        import rich  # noqa: F401
    except ImportError:
        print("frazil: the command line needs more libraries: pip install 'frazil[cli]'", file=sys.stderr)
        return 2
    from frazil.cli.running import run

    return run(given)
