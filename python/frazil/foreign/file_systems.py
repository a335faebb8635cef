"""File systems of fsspec and pyarrow, as the core asks for files."""

from __future__ import annotations

import _thread
import datetime as dt
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from frazil.exceptions import InvalidInputError, UnsupportedError
from frazil.foreign.carrying import object_of

__all__ = ["Files", "files", "opened"]

# File systems that can make a file only if nobody else has.
_EXCLUSIVE = {"file", "local", "memory"}
# `threading` takes long to load, and importing Frazil loads this module.
_MEMORY = _thread.allocate_lock()
_TIMES = ("mtime", "modified", "last_modified", "LastModified", "created", "updated")

Found: TypeAlias = list[tuple[str, int, int]]
Entries: TypeAlias = list["tuple[str, int | None, int]"]
Names: TypeAlias = list[str]


def files(text: str) -> Files:
    """The file system of a text."""
    return opened(object_of(text, "the file system"))


def opened(filesystem: object) -> Files:
    """A file system of the user, as the core asks for files."""
    if isinstance(filesystem, Files):
        return filesystem
    if hasattr(filesystem, "get_file_info") and hasattr(filesystem, "open_input_file"):
        # One of fsspec may be inside.
        inner = getattr(getattr(filesystem, "handler", None), "fs", None)
        return _Arrow(filesystem) if inner is None else _Fsspec(inner)
    if hasattr(filesystem, "_strip_protocol") and hasattr(filesystem, "cat_file"):
        return _Fsspec(filesystem)
    raise InvalidInputError(
        f"filesystem must be one of fsspec or pyarrow, not a '{type(filesystem).__name__}'",
        hint="Give fsspec.filesystem(…) or an object of pyarrow.fs",
    )


class Files:
    """Files as the core asks for them. Paths are those that tables record."""

    kind: str

    def check_writable(self) -> None:
        """Raises an error if tables can only be read."""
        if self.kind not in _EXCLUSIVE:
            raise UnsupportedError(
                f"tables in the file system '{self.kind}' can only be read: it can't make a file only once",
                hint="Write with a location that Frazil opens itself: a path, s3:, gs: or abfss:",
            )

    def put_if_absent(self, path: str, content: bytes) -> None:
        """Makes a complete file only if nobody else has made it."""
        self.check_writable()
        plain = self.plain(path)
        if self.kind == "memory":
            with _MEMORY:
                if self.exists(plain):
                    raise FileExistsError(path)
                self.replace(plain, content)
            return
        file = Path(plain)
        file.parent.mkdir(parents=True, exist_ok=True)
        hidden = file.parent / f".{file.name}.{os.urandom(16).hex()}"
        with hidden.open("xb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        try:
            os.link(hidden, file)
        finally:
            hidden.unlink()

    def put(self, path: str, content: bytes) -> None:
        """Makes or replaces a file."""
        self.check_writable()
        self.replace(self.plain(path), content)

    def list(self, folder: str) -> Found:
        """Path, size and time of the files directly in a folder."""
        entries = self.entries(self.plain(folder))
        return [(_join(folder, name), size, changed) for name, size, changed in entries if size is not None]

    def list_folders(self, folder: str) -> Names:
        """The names of the folders directly in a folder."""
        return sorted(name for name, size, _ in self.entries(self.plain(folder)) if size is None)

    def plain(self, path: str) -> str:
        """A path as the file system wants it."""
        raise NotImplementedError

    def exists(self, plain: str) -> bool:
        """Whether there is a file."""
        raise NotImplementedError

    def replace(self, plain: str, content: bytes) -> None:
        """Makes or replaces a file, and its folder."""
        raise NotImplementedError

    def entries(self, plain: str) -> Entries:
        """Name, size and time of what a folder has. Folders have no size."""
        raise NotImplementedError


class _Fsspec(Files):
    def __init__(self, fs: Any) -> None:
        self._fs = fs
        protocol = getattr(fs, "protocol", "")
        self.kind = protocol if isinstance(protocol, str) else protocol[0]

    def plain(self, path: str) -> str:
        return str(self._fs._strip_protocol(path))

    def exists(self, plain: str) -> bool:
        return bool(self._fs.exists(plain))

    def get(self, path: str) -> bytes:
        return bytes(self._fs.cat_file(self.plain(path)))

    def get_range(self, path: str, offset: int, length: int) -> bytes:
        return bytes(self._fs.cat_file(self.plain(path), start=offset, end=offset + length)) if length else b""

    def size(self, path: str) -> int:
        info = self._fs.info(self.plain(path))
        if info.get("type") == "directory":
            raise FileNotFoundError(path)
        return int(info["size"])

    def replace(self, plain: str, content: bytes) -> None:
        self._fs.makedirs(self._fs._parent(plain), exist_ok=True)
        self._fs.pipe_file(plain, content)

    def entries(self, plain: str) -> Entries:
        self._fs.invalidate_cache(plain)
        try:
            found = self._fs.ls(plain, detail=True)
        except (FileNotFoundError, NotADirectoryError):
            return []
        out = []
        for info in found:
            name = str(info["name"]).rstrip("/")
            if name != plain.rstrip("/"):
                size = None if info["type"] == "directory" else int(info["size"])
                out.append((name.rsplit("/", 1)[-1], size, _changed(info)))
        return out

    def make_folder(self, folder: str) -> None:
        self.check_writable()
        self._fs.makedirs(self.plain(folder), exist_ok=True)

    def delete(self, path: str) -> None:
        self.check_writable()
        self._fs.rm_file(self.plain(path))

    def delete_folder(self, folder: str) -> None:
        self.check_writable()
        self._fs.rmdir(self.plain(folder))


class _Arrow(Files):
    def __init__(self, fs: Any) -> None:
        self._fs = fs
        self.kind = str(fs.type_name)

    def plain(self, path: str) -> str:
        scheme, mark, rest = path.partition(":")
        if not mark or "/" in scheme or len(scheme) < 2:
            return path
        if not rest.startswith("//"):
            return rest
        host, slash, key = rest[2:].partition("/")
        return f"/{key}" if self.kind in ("local", "hdfs") else f"{host}{slash}{key}"

    def exists(self, plain: str) -> bool:
        return self._info(plain) is not None

    def _info(self, plain: str) -> Any | None:
        info = self._fs.get_file_info(plain)
        return info if info.is_file else None

    def get(self, path: str) -> bytes:
        with self._fs.open_input_file(self.plain(path)) as file:
            return bytes(file.read())

    def get_range(self, path: str, offset: int, length: int) -> bytes:
        with self._fs.open_input_file(self.plain(path)) as file:
            return bytes(file.read_at(length, offset))

    def size(self, path: str) -> int:
        info = self._info(self.plain(path))
        if info is None:
            raise FileNotFoundError(path)
        return int(info.size)

    def replace(self, plain: str, content: bytes) -> None:
        self._fs.create_dir(plain.rpartition("/")[0], recursive=True)
        with self._fs.open_output_stream(plain) as out:
            out.write(content)

    def entries(self, plain: str) -> Entries:
        from pyarrow import fs

        found = self._fs.get_file_info(fs.FileSelector(plain, allow_not_found=True))
        return [(info.base_name, int(info.size) if info.is_file else None, _changed(info)) for info in found]

    def make_folder(self, folder: str) -> None:
        self.check_writable()
        self._fs.create_dir(self.plain(folder), recursive=True)

    def delete(self, path: str) -> None:
        self.check_writable()
        self._fs.delete_file(self.plain(path))

    def delete_folder(self, folder: str) -> None:
        self.check_writable()
        Path(self.plain(folder)).rmdir()


def _join(folder: str, name: str) -> str:
    return f"{folder.rstrip('/')}/{name}"


def _changed(info: Any) -> int:
    """When a file was changed, in milliseconds. A file without a time counts as new."""
    if not isinstance(info, Mapping):
        return int(info.mtime_ns // 1_000_000) if info.mtime_ns else int(time.time() * 1000)
    for name in _TIMES:
        value = info.get(name)
        if isinstance(value, dt.datetime):
            return int((value if value.tzinfo else value.replace(tzinfo=dt.timezone.utc)).timestamp() * 1000)
        if isinstance(value, (int, float)):
            return int(value * 1000)
    return int(time.time() * 1000)
