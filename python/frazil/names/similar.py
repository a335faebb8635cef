"""Names that are spelled alike."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["similar"]


def similar(name: str, known: Iterable[str]) -> str | None:
    """The known name that a mistyped one most likely means, or None.

    Case, and `-` in place of `_`, make no difference.
    """
    import difflib

    plain = {_plain(one): one for one in known}
    if (exact := plain.get(_plain(name))) is not None:
        return exact
    found = difflib.get_close_matches(_plain(name), plain, n=1, cutoff=0.8)
    return plain[found[0]] if found else None


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")
