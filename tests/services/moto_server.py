"""moto's server, whose Glue compares versions as Amazon's does: an update of an older version is refused.

moto itself takes every update, so that of two commits on the same version both would succeed.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

from moto.core.exceptions import JsonRESTError
from moto.glue.responses import GlueResponse
from moto.server import main

_one_at_a_time = threading.Lock()
_update = GlueResponse.update_table


def update_table(self: GlueResponse) -> Any:
    asked = self.parameters
    with _one_at_a_time:
        table = self.glue_backend.get_table(asked["DatabaseName"], asked["TableInput"]["Name"])
        if asked.get("VersionId") not in (None, table.as_dict()["VersionId"]):
            raise JsonRESTError("ConcurrentModificationException", "The table has another version")
        return _update(self)


GlueResponse.update_table = update_table  # type: ignore[method-assign]

if __name__ == "__main__":
    main(sys.argv[1:])
