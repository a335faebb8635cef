"""Objects of other libraries that the user gives: credential providers, file systems, catalogs of PyIceberg.

Storage options carry the first two as texts.

- `carrying`: objects of the user as texts of storage options
- `file_systems`: file systems of fsspec and pyarrow, as the core asks for files
- `lending`: credentials that a callable of the user lends
- `options`: the storage options for both
- `pyiceberg_catalogs`: catalogs that the user's own PyIceberg opens
"""

from frazil.foreign.file_systems import files
from frazil.foreign.lending import CredentialProvider, lender
from frazil.foreign.options import FILES, options

__all__ = ["FILES", "CredentialProvider", "files", "lender", "options"]
