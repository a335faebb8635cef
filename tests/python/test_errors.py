"""The tree of exceptions."""

from __future__ import annotations

import copy
import pickle

import pytest

import frazil as fz
from frazil import exceptions

STANDARD = {
    "NotFoundError": LookupError,
    "InvalidInputError": ValueError,
    "UnsupportedError": NotImplementedError,
    "PermissionDeniedError": PermissionError,
    "StoreError": OSError,
}


@pytest.mark.parametrize("cls", list(exceptions.BY_KIND.values()))
def test_classes(cls: type[fz.FrazilError]) -> None:
    error = cls("the manifest ends early", {"path": "m.avro"}, "Restore it")
    assert isinstance(error, fz.FrazilError)
    assert isinstance(error, STANDARD.get(cls.__name__, Exception))
    assert getattr(fz, cls.__name__) is cls
    assert str(error) == "the manifest ends early (path: m.avro). Restore it"
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(twin) is cls
        assert (str(twin), twin.kind, twin.context, twin.hint) == (str(error), cls.kind, error.context, error.hint)


def test_kinds_are_those_of_the_core() -> None:
    assert set(exceptions.BY_KIND) == {
        "not_found",
        "already_exists",
        "invalid_input",
        "corrupt_table",
        "unsupported",
        "commit_conflict",
        "commit_state_unknown",
        "permission_denied",
        "store",
        "internal",
    }


def test_a_hint_shows_once() -> None:
    assert str(fz.StoreError("it broke. Try again", hint="Try again")) == "it broke. Try again"


def test_the_core_raises_them(tmp_path) -> None:
    with pytest.raises(fz.NotFoundError) as caught:
        fz.open_table(tmp_path / "nothing")
    error = caught.value
    assert error.kind == "not_found"
    assert "nothing" in str(error)
    assert any("nothing" in v for v in error.context.values())
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
