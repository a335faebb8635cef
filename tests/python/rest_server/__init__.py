"""A REST catalog for tests: Iceberg's protocol, on this machine, with the ways of many servers as switches.

    with serving(tmp_path, page_size=2, etags=True) as server:
        catalog = fz.catalog("c", type="rest", uri=server.url)
        server.fault("updateTable", "502", "after", nth=3)
        ...
        assert server.counts()["updateTable"] == 4

`Switches` says what may be different. `python -m rest_server WAREHOUSE [switch…]` starts it for another process, whose
tests then ask at `/_control/` (`sockets.control`).
"""

from rest_server.faults import KINDS, WHOLE, Answer, Fault, paths, with_value
from rest_server.routes import MUTATIONS, OPERATIONS
from rest_server.service import Asked, Service
from rest_server.sockets import RestServer, serving
from rest_server.storage_gate import Gate, gated
from rest_server.switches import Auth, Switches, Vending

__all__ = [
    "KINDS",
    "MUTATIONS",
    "OPERATIONS",
    "WHOLE",
    "Answer",
    "Asked",
    "Auth",
    "Fault",
    "Gate",
    "RestServer",
    "Service",
    "Switches",
    "Vending",
    "gated",
    "paths",
    "serving",
    "with_value",
]
