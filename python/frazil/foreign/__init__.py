"""Objects of the user: credential providers, file systems, classes for authorization, catalogs of PyIceberg.

Storage options carry the first two as texts.

- `authorization`: the user's own class for authorization
- `carrying`: objects of the user as texts of storage options
- `file_systems`: file systems of fsspec and pyarrow, as the core asks for files
- `lending`: credentials that a callable of the user lends
- `named`: objects by their import paths
- `options`: the storage options for both
- `pyiceberg_catalogs`: catalogs that the user's own PyIceberg opens

Few programs have such objects. What makes them is imported when the core first asks for it.
"""

from typing import TYPE_CHECKING

from frazil.foreign.options import BY_IMPORT_PATH, FILES, CredentialProvider, options

if TYPE_CHECKING:
    from frazil.foreign.authorization import auth_manager
    from frazil.foreign.file_systems import files
    from frazil.foreign.lending import lender

__all__ = ["BY_IMPORT_PATH", "FILES", "CredentialProvider", "auth_manager", "files", "lender", "options"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from frazil.foreign.authorization import auth_manager
        from frazil.foreign.file_systems import files
        from frazil.foreign.lending import lender

        return {"auth_manager": auth_manager, "files": files, "lender": lender}[name]
