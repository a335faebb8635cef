"""PyIceberg's configuration: its file and environment variables, and the properties of catalogs that result.

This module is not part of the public API; `frazil.catalog` reads the configuration. Each program that opens a catalog
loads it, so it does without `pathlib`, which takes 5 ms to import.
"""

from __future__ import annotations

import importlib
import os
import re
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from frazil import _core, foreign
from frazil.arguments.values import at_home
from frazil.exceptions import InvalidInputError, UnsupportedError
from frazil.names import similar

FILE = ".pyiceberg.yaml"
_PREFIX = "pyiceberg_"
_USER_INFO = re.compile(r"(?<=:)[^:@/]*(?=@)|(?<=password=)[^&]*", re.IGNORECASE)


def check_names(name: str, given: Mapping[str, str], read: Mapping[str, Any]) -> None:
    """Refuses given properties of a catalog that are mistyped, and warns of those in the configuration.

    Raises:
        InvalidInputError: A name is almost that of a known property.
    """
    from frazil.names.properties import catalog_property

    if "py-catalog-impl" in {**_properties(name, read), **given}:
        # The user's own class decides about its properties.
        return
    for wrong in given:
        if (meant := catalog_property(wrong)) is not None:
            raise InvalidInputError(
                f"catalogs have no property '{wrong}'", {"catalog": name}, f"Did you mean '{meant}'?"
            )
    for wrong in _properties(name, read):
        if (meant := catalog_property(wrong)) is not None:
            message = f"catalogs have no property '{wrong}' ({source()}, catalog {name}). Did you mean '{meant}'?"
            warnings.warn(message, UserWarning, stacklevel=4)


def check_catalog(name: str, read: Mapping[str, Any]) -> None:
    """Refuses the name of a catalog that is not configured and has no properties.

    Raises:
        InvalidInputError: No catalog of this name is known.
    """
    known = known_catalogs(read)
    if name.lower() in known:
        return
    if name.startswith(("sqlite:", "postgres", "http://", "https://", "thrift:", "jdbc:")):
        hint = f"Give it as uri={name!r}"
    elif "/" in name or "\\" in name or name.startswith(("~", ".")) or os.path.isdir(name):
        hint = f"Give it as warehouse={name!r}"
    elif name in ("filesystem", "hadoop", "sql", "rest", "memory", "in-memory", "hive", "glue", "dynamodb", "bigquery"):
        hint = f"Give it as type={name!r}"
    else:
        meant = similar(name, known)
        hint = f"Did you mean '{meant}'? " if meant is not None else ""
        hint += "Describe the catalog in .pyiceberg.yaml, or give its properties: warehouse=, uri=, type="
    listed = ", ".join(known) or "none"
    raise InvalidInputError(
        "no catalog of this name is known", {"catalog": name, "catalogs": listed, "configuration": source()}, hint
    )


def source() -> str:
    """Where the configuration comes from."""
    path = _path()
    variables = sorted(name for name in os.environ if name.lower().startswith(f"{_PREFIX}catalog"))
    found = [*([path] if path is not None else []), *variables[:3]]
    if found:
        return ", ".join(found)
    return f"no {FILE} in PYICEBERG_HOME, the home folder and the working directory, and no PYICEBERG_CATALOG__…"


def table_properties(properties: dict[str, str]) -> dict[str, str]:
    """Properties of a table, as they are. Warns of those that are mistyped: they would have no effect."""
    from frazil.names.properties import table_property

    for name in properties:
        if (meant := table_property(name)) is not None:
            message = f"the property '{name}' has no effect. Did you mean '{meant}'?"
            warnings.warn(message, UserWarning, stacklevel=4)
    return properties


def warn_of_missing(properties: Mapping[str, str]) -> None:
    """Warns if the warehouse of a catalog of folders does not exist. Such a catalog looks empty."""
    warehouse = properties.get("warehouse", "")
    if properties.get("type") in ("filesystem", "hadoop") and "://" not in warehouse and not os.path.exists(warehouse):
        message = f"the warehouse {warehouse} does not exist, so the catalog has no namespaces yet"
        warnings.warn(message, UserWarning, stacklevel=4)


def default_catalog(read: Mapping[str, Any] | None = None) -> str:
    """The name of the default catalog. `read` is what `configured` returned before."""
    name = (configured() if read is None else read).get("default-catalog") or "default"
    if not isinstance(name, str):
        raise InvalidInputError(
            "default-catalog in PyIceberg's configuration must be text",
            {"found": repr(name), "configuration": source()},
        )
    return name


def known_catalogs(read: Mapping[str, Any]) -> list[str]:
    """The names of the catalogs that the configuration describes, in lower case."""
    catalogs = read.get("catalog")
    return sorted(catalogs) if isinstance(catalogs, dict) else []


def merged(name: str, given: Mapping[str, str], read: Mapping[str, Any] | None = None) -> dict[str, str]:
    """The properties of a catalog: the given ones, then those of the configuration. The result always has a type."""
    out = {**_properties(name, configured() if read is None else read), **given}
    if "warehouse" in out:
        out["warehouse"] = at_home(out["warehouse"])
    if (database := out.get("uri", "").removeprefix("sqlite:///")).startswith("~"):
        out["uri"] = f"sqlite:///{at_home(database)}"
    if foreign.BY_IMPORT_PATH in out:
        provider = out.pop(foreign.BY_IMPORT_PATH)
        # A callable that is given has precedence.
        out = {**foreign.options(provider, None), **out}
    if "type" not in out and "py-catalog-impl" in out:
        out["type"] = "py-catalog-impl"
    if "type" not in out:
        _check_metastore(name, out)
        out["type"] = _type_of(name, out.get("uri"))
    return out


def _check_metastore(name: str, properties: Mapping[str, str]) -> None:
    """Refuses catalogs of Paimon that are no folders: their databases and servers are not those of Iceberg."""
    metastore = properties.get("metastore", "filesystem")
    if metastore.lower() != "filesystem":
        raise UnsupportedError(
            f"catalogs of Apache Paimon with metastore '{metastore}' are not supported",
            {"catalog": name},
            "Read its tables by their folders: open_table('WAREHOUSE/DATABASE.db/TABLE')",
        )


def _properties(name: str, read: Mapping[str, Any]) -> dict[str, str]:
    """The properties of a catalog in the configuration."""
    catalogs = read.get("catalog") or {}
    section = catalogs.get(name.lower()) if isinstance(catalogs, dict) else catalogs
    if not isinstance(section, dict | None):
        raise InvalidInputError(
            "a catalog in PyIceberg's configuration must be a mapping of properties",
            {"catalog": name, "found": type(section).__name__, "configuration": source()},
        )
    return flat(section or {})


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


def _paths() -> Iterator[str]:
    """Configuration files that exist, in the order in which PyIceberg looks for them."""
    for folder in (os.environ.get("PYICEBERG_HOME"), "~", os.getcwd()):
        if folder and os.path.isfile(path := os.path.join(os.path.expanduser(folder), FILE)):
            yield path


def _path() -> str | None:
    return next(_paths(), None)


def _file() -> dict[str, Any]:
    """The first configuration file that says something."""
    for path in _paths():
        if read := _yaml(path):
            return _lower(read)
    return {}


def _yaml(path: str) -> dict[str, Any]:
    """A file's properties, all of them texts. The library is PyIceberg's own, or else PyYAML."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    # Neither library has types.
    strict, plain = _library("strictyaml"), _library("yaml")
    library = strict or plain
    if library is None:
        raise UnsupportedError(
            "PyIceberg's configuration file can't be read without a YAML library",
            {"path": path},
            "Install it: pip install pyyaml",
        )
    try:
        read = strict.load(text).data if strict else library.load(text, Loader=library.BaseLoader)
    except library.YAMLError as e:
        mark = getattr(e, "problem_mark", None)
        where = {"path": path} if mark is None else {"path": path, "line": str(mark.line + 1)}
        # The library's error quotes the file, which may hold secrets.
        raise InvalidInputError("PyIceberg's configuration file is not valid YAML", where) from None
    if not isinstance(read, dict):
        raise InvalidInputError("PyIceberg's configuration file must contain a mapping", {"path": path})
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
