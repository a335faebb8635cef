"""Java Iceberg's own API, through Spark's gateway: what SQL has no words for, and the oracle of evolution."""

import json
from typing import Any

from java_side import NAMESPACE, Java


class JavaTable:
    """A table loaded by Java."""

    def __init__(self, java: Java, name: str) -> None:
        self.jvm: Any = java.spark._jvm
        self.iceberg = self.jvm.org.apache.iceberg
        session = java.spark._jsparkSession
        self.table = self.iceberg.spark.Spark3Util.loadIcebergTable(session, f"ice.{NAMESPACE}.{name}")

    def metadata(self) -> dict[str, Any]:
        """The table's metadata as Java would write it."""
        current = self.table.operations().refresh()
        parsed: dict[str, Any] = json.loads(self.iceberg.TableMetadataParser.toJson(current))
        return parsed

    def type(self, text: str) -> Any:
        """A primitive type by its name."""
        return self.iceberg.types.Types.fromPrimitiveString(text)

    def literal(self, value: Any, type_: str) -> Any:
        """A default value."""
        literal = self.iceberg.expressions.Literal.of(value)
        return literal.to(self.type(type_))

    def nested(self, json_text: str) -> Any:
        """A type by the specification's JSON: that of the only column of a schema."""
        fields = {
            "type": "struct",
            "schema-id": 0,
            "fields": [{"id": 1, "name": "x", "required": False, "type": json.loads(json_text)}],
        }
        return self.iceberg.SchemaParser.fromJson(json.dumps(fields)).findField("x").type()

    def schema(self, json_text: str) -> Any:
        """A schema by the specification's JSON."""
        return self.iceberg.SchemaParser.fromJson(json_text)

    def term(self, text: str) -> Any:
        """`day(ts)`, `bucket(16, id)` or a column."""
        expressions = self.iceberg.expressions.Expressions
        if "(" not in text:
            return expressions.ref(text)
        name, inside = text.rstrip(")").split("(")
        parts = [part.strip() for part in inside.split(",")]
        if name in ("bucket", "truncate"):
            return getattr(expressions, name)(parts[1], int(parts[0]))
        return getattr(expressions, name)(parts[0])


def refused(error: Exception) -> str | None:
    """Why Java refused, if it did so for the rules of the format."""
    thrown = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    if thrown is None:
        return None
    known = {"IllegalArgumentException", "IllegalStateException", "ValidationException", "NoSuchElementException"}
    return str(thrown.getMessage()) if thrown.getClass().getSimpleName() in known else None
