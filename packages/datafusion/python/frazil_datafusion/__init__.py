"""Tables of Frazil as tables of DataFusion. Frazil imports this package: `context.register_table("t", table)`."""

from __future__ import annotations

from typing import Any

from frazil_datafusion import _provider

__all__ = ["DATAFUSION", "table_provider"]

DATAFUSION = _provider.DATAFUSION
"""The major version of DataFusion that this package fits."""


def table_provider(source: Any, session: Any) -> object:
    """The capsule by which DataFusion reads a source of `frazil.interop.datafusion_source`.

    Args:
        source: What plans and reads.
        session: What DataFusion passes to `__datafusion_table_provider__`.

    Raises:
        ImportError: The installed DataFusion has another major version. Its pointers must not be used then.
    """
    import datafusion

    found = datafusion.__version__
    if found.partition(".")[0] != str(DATAFUSION):
        raise ImportError(
            f"frazil-datafusion fits DataFusion {DATAFUSION}, and {found} is installed. "
            f"pip install 'datafusion=={DATAFUSION}.*', or register scan.to_arrow_dataset(), which needs no version"
        )
    return _provider.table_provider(source, session)
