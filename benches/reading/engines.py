"""The readers, each a process of `workers.py`."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from comparison import Answer, Engine, own_python, package_version, peers_python  # noqa: E402 - the folder above
from reads import Read  # noqa: E402
from tables import TABLES  # noqa: E402

# Seconds for one read.
LIMIT = 60.0


def reader(name: str, title: str, python: Callable[[], str], *packages: str) -> "Reader":
    command = [str(HERE / "workers.py"), name]
    version = package_version(python, *(packages or [name]))
    return Reader(name, title, lambda: [python(), *command], version, LIMIT)


@dataclass
class Reader(Engine):
    """A reader."""

    def read(self, read: Read, warehouse: Path) -> Answer:
        """Seconds and rows of one read, or `error`."""
        return self.ask(request(read, warehouse))


def request(read: Read, warehouse: Path) -> str:
    """The line that asks a worker for a read."""
    data = str(warehouse / read.table / "data") if TABLES[read.table].deletes == "none" else None
    asked = {"table": str(warehouse / read.table), "data": data, "columns": read.columns, "filter": read.filter}
    return json.dumps(asked)


# pyarrow is that of Frazil's environment: Daft holds the peers' at an older one.
ENGINES = {
    engine.name: engine
    for engine in [
        reader("frazil", "Frazil", own_python),
        reader("frazil-stream", "Frazil, stream", own_python, "frazil"),
        reader("frazil-unordered", "Frazil, unordered stream", own_python, "frazil"),
        reader("pyarrow", "pyarrow.dataset", own_python, "pyarrow"),
        reader("duckdb", "DuckDB", peers_python, "duckdb", "duckdb-extension-iceberg"),
        reader("polars", "Polars", peers_python),
        reader("daft", "Daft", peers_python),
        reader("pyiceberg", "PyIceberg", peers_python),
    ]
}
OWN = ["frazil", "frazil-stream", "frazil-unordered"]
PEERS = [name for name in ENGINES if name not in OWN]
