"""A fixture for each server. A test file imports those that it uses; a server that can't start skips the test.

Each process starts a server once, with the first test that asks for it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import pytest

from servers import SERVERS, Server, minio, nessie
from starting import CannotStart

_started: dict[str, Server | str] = {}


def started(name: str, start: Callable[[], Server]) -> Server:
    """The server of this name, started by the first who asks."""
    if name not in _started:
        try:
            _started[name] = start()
        except CannotStart as reason:
            _started[name] = f"{name} can't start: {reason}"
    found = _started[name]
    if isinstance(found, str):
        pytest.skip(found)
    return found


def _fixture(name: str) -> Callable[..., Server]:
    @pytest.fixture(scope="session", name=f"{name}_server")
    def server(tmp_path_factory: pytest.TempPathFactory) -> Server:
        return started(name, functools.partial(SERVERS[name], _folder(tmp_path_factory, name)))

    return server


def _folder(factory: pytest.TempPathFactory, name: str) -> Path:
    return factory.mktemp(name)


rest_server = _fixture("rest")
rest_on_postgres_server = _fixture("rest_on_postgres")
hive_server = _fixture("hive")
postgres_server = _fixture("postgres")
moto_server = _fixture("moto")
minio_server = _fixture("minio")
versitygw_server = _fixture("versitygw")
azurite_server = _fixture("azurite")
google_server = _fixture("google")
toxiproxy_server = _fixture("toxiproxy")


@pytest.fixture(scope="session")
def nessie_server(tmp_path_factory: pytest.TempPathFactory) -> Server:
    def store() -> Server:
        return started("minio", lambda: minio(_folder(tmp_path_factory, "minio")))

    return started("nessie", lambda: nessie(_folder(tmp_path_factory, "nessie"), store))
