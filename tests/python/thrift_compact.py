"""Thrift's compact protocol, as far as Parquet's footers and page indexes need it: structs as lists of fields."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

TRUE, FALSE, BYTE, DOUBLE, BINARY, LIST, SET, STRUCT = 1, 2, 3, 7, 8, 9, 10, 12


@dataclass
class Fields:
    """A struct: its fields' types and values by number."""

    types: dict[int, int] = field(default_factory=dict)
    values: dict[int, Any] = field(default_factory=dict)

    def __getitem__(self, number: int) -> Any:
        return self.values[number]

    def get(self, number: int) -> Any:
        return self.values.get(number)

    def __setitem__(self, number: int, value: Any) -> None:
        assert number in self.types, "only fields that are there change"
        self.values[number] = value


@dataclass
class Items:
    """A list, with the type of its items."""

    type: int
    items: list[Any]


class Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def varint(self) -> int:
        out = shift = 0
        while True:
            byte = self.byte()
            out |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return out

    def number(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def take(self, length: int) -> bytes:
        self.at += length
        return self.data[self.at - length : self.at]

    def value(self, kind: int, in_list: bool = False) -> Any:
        match kind:
            case 1 | 2:
                return self.byte() == 1 if in_list else kind == TRUE
            case 3:
                return self.take(1)
            case 4 | 5 | 6:
                return self.number()
            case 7:
                return struct.unpack("<d", self.take(8))[0]
            case 8:
                return self.take(self.varint())
            case 9 | 10:
                head = self.byte()
                count = head >> 4 if head >> 4 != 15 else self.varint()
                return Items(head & 15, [self.value(head & 15, True) for _ in range(count)])
            case 12:
                return self.fields()
        raise ValueError(f"Parquet has no values of type {kind}")

    def fields(self) -> Fields:
        out, number = Fields(), 0
        while head := self.byte():
            number = number + (head >> 4) if head >> 4 else self.number()
            out.types[number] = head & 15
            out.values[number] = self.value(head & 15)
        return out


def read(data: bytes) -> Fields:
    """The struct at the beginning of some bytes."""
    return Reader(data).fields()


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _value(kind: int, value: Any, in_list: bool = False) -> bytes:
    match kind:
        case 1 | 2:
            return (b"\1" if value else b"\2") if in_list else b""
        case 3:
            return bytes(value)
        case 4 | 5 | 6:
            return _varint((value << 1) ^ (value >> 63) if value < 0 else value << 1)
        case 7:
            return struct.pack("<d", value)
        case 8:
            return _varint(len(value)) + value
        case 9 | 10:
            count = len(value.items)
            head = bytes([count << 4 | value.type]) if count < 15 else bytes([15 << 4 | value.type]) + _varint(count)
            return head + b"".join(_value(value.type, item, True) for item in value.items)
    return written(value)


def written(fields: Fields) -> bytes:
    """A struct as bytes."""
    out, last = b"", 0
    for number, kind in sorted(fields.types.items()):
        value = fields.values[number]
        kind = (TRUE if value else FALSE) if kind in (TRUE, FALSE) else kind
        step = number - last
        out += bytes([step << 4 | kind]) if 0 < step < 16 else bytes([kind]) + _value(4, number)
        out, last = out + _value(kind, value), number
    return out + b"\0"
