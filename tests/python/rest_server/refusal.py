"""Errors that the server answers, with Iceberg's names for them."""

from __future__ import annotations

from typing import Any


class Refusal(Exception):  # noqa: N818 (the server refuses; nothing is wrong with it)
    """A request that is answered by an error."""

    def __init__(self, status: int, type: str, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.type = type
        self.message = message
        self.headers = headers or {}

    def body(self) -> dict[str, Any]:
        return {"error": {"message": self.message, "type": self.type, "code": self.status}}


def dotted(name: tuple[str, ...]) -> str:
    return ".".join(name)


def bad_request(message: str, type: str = "BadRequestException") -> Refusal:
    return Refusal(400, type, message)


def no_such_namespace(namespace: tuple[str, ...]) -> Refusal:
    return Refusal(404, "NoSuchNamespaceException", f"Namespace does not exist: {dotted(namespace)}")


def no_such_table(name: tuple[str, ...]) -> Refusal:
    return Refusal(404, "NoSuchTableException", f"Table does not exist: {dotted(name)}")


def no_such_view(name: tuple[str, ...]) -> Refusal:
    return Refusal(404, "NoSuchViewException", f"View does not exist: {dotted(name)}")


def already_exists(what: str, name: tuple[str, ...]) -> Refusal:
    return Refusal(409, "AlreadyExistsException", f"{what} already exists: {dotted(name)}")


def commit_failed(message: str) -> Refusal:
    return Refusal(409, "CommitFailedException", message)


def unsupported(message: str) -> Refusal:
    return Refusal(406, "UnsupportedOperationException", message)
