"""PyIceberg's configuration: its file and environment variables, and the properties of catalogs that result.

This module is not part of the public API; `frazil.catalog` reads the configuration.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from frazil import _core, foreign
from frazil.exceptions import InvalidInputError, UnsupportedError

FILE = ".pyiceberg.yaml"
_PREFIX = "pyiceberg_"
_USER_INFO = re.compile(r"(?<=:)[^:@/]*(?=@)|(?<=password=)[^&]*", re.IGNORECASE)


def default_catalog(read: Mapping[str, Any] | None = None) -> str:
    """The name of the default catalog. `read` is what `configured` returned before."""
    name = (configured() if read is None else read).get("default-catalog") or "default"
    if not isinstance(name, str):
        raise InvalidInputError("default-catalog in PyIceberg's configuration must be text", {"found": repr(name)})
    return name


def known_catalogs(read: Mapping[str, Any]) -> list[str]:
    """The names of the catalogs that the configuration describes, in lower case."""
    catalogs = read.get("catalog")
    return sorted(catalogs) if isinstance(catalogs, dict) else []


def merged(name: str, given: Mapping[str, str], read: Mapping[str, Any] | None = None) -> dict[str, str]:
    """The properties of a catalog: the given ones, then those of the configuration. The result always has a type."""
    catalogs = (configured() if read is None else read).get("catalog") or {}
    section = catalogs.get(name.lower()) if isinstance(catalogs, dict) else catalogs
    if not isinstance(section, dict | None):
        raise InvalidInputError(
            "a catalog in PyIceberg's configuration must be a mapping of properties",
            {"catalog": name, "found": type(section).__name__},
        )
    out = {**flat(section or {}), **given}
    if foreign.BY_IMPORT_PATH in out:
        provider = out.pop(foreign.BY_IMPORT_PATH)
        # A callable that is given has precedence.
        out = {**foreign.options(provider, None), **out}
    if "type" not in out and "py-catalog-impl" in out:
        out["type"] = "py-catalog-impl"
    if "type" not in out:
        out["type"] = _type_of(name, out.get("uri"))
    return out


class Properties(dict[str, str]):
    """Properties of a catalog. Their text shows no secrets."""

    def __repr__(self) -> str:
        return repr(without_secrets(self))

    def __reduce__(self) -> tuple[type[dict[str, str]], tuple[dict[str, str]]]:
        return dict, (dict(self),)


def without_secrets(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties without secrets, for display."""

    def shown(value: str) -> str:
        return _core.public_text(_USER_INFO.sub("***", value), 4000)

    return {k: "***" if _core.is_secret_option(k) else shown(v) for k, v in properties.items()}


def _type_of(name: str, uri: str | None) -> str:
    """The catalog's type, derived from its uri."""
    if not uri:
        return "filesystem"
    kinds = {"sqlite": "sql", "postgres": "sql", "jdbc:": "sql", "http": "rest", "thrift": "hive"}
    for start, kind in kinds.items():
        if uri.startswith(start):
            return kind
    raise InvalidInputError("the catalog's type can't be derived from its uri", {"catalog": name}, "Give type='sql'")


def configured() -> dict[str, Any]:
    """The file's properties, overridden by the environment. Keys are in lower case."""
    config = _file()
    for variable, value in os.environ.items():
        key = variable.lower()
        if key.startswith(_PREFIX):
            *path, last = (_key(part) for part in key[len(_PREFIX) :].split("__", maxsplit=2))
            _section(config, path, variable)[last] = value
    return config


def _key(part: str) -> str:
    return part.replace("__", ".").replace("_", "-")


def _section(config: dict[str, Any], path: list[str], variable: str) -> dict[str, Any]:
    for element in path:
        config = config.setdefault(element, {})
        if not isinstance(config, dict):
            raise InvalidInputError(
                "an environment variable contradicts PyIceberg's configuration", {"variable": variable}
            )
    return config


def _file() -> dict[str, Any]:
    """The first configuration file, in the order in which PyIceberg looks for it."""
    for folder in (os.environ.get("PYICEBERG_HOME"), Path("~").expanduser(), Path.cwd()):
        if folder and (path := Path(folder) / FILE).is_file():
            read = _yaml(path)
            if read:
                return _lower(read)
    return {}


def _yaml(path: Path) -> dict[str, Any]:
    """A file's properties, all of them texts. The library is PyIceberg's own, or else PyYAML."""
    text = path.read_text(encoding="utf-8")
    # Neither library has types.
    strict, plain = _library("strictyaml"), _library("yaml")
    library = strict or plain
    if library is None:
        raise UnsupportedError(
            "PyIceberg's configuration file can't be read without a YAML library",
            {"path": str(path)},
            "Install it: pip install pyyaml",
        )
    try:
        read = strict.load(text).data if strict else library.load(text, Loader=library.BaseLoader)
    except library.YAMLError as e:
        mark = getattr(e, "problem_mark", None)
        where = {"path": str(path)} if mark is None else {"path": str(path), "line": str(mark.line + 1)}
        # The library's error quotes the file, which may hold secrets.
        raise InvalidInputError("PyIceberg's configuration file is not valid YAML", where) from None
    if not isinstance(read, dict):
        raise InvalidInputError("PyIceberg's configuration file must contain a mapping", {"path": str(path)})
    return read


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _lower(config: dict[str, Any]) -> dict[str, Any]:
    return {str(k).lower(): _lower(v) if isinstance(v, dict) else v for k, v in config.items()}


def flat(section: Mapping[str, Any]) -> dict[str, str]:
    """Nested properties, by dotted names."""
    out: dict[str, str] = {}
    for key, value in section.items():
        if isinstance(value, Mapping):
            out.update({f"{key}.{inner}": text for inner, text in flat(value).items()})
        elif value is not None:
            out[key] = str(value)
    return out
