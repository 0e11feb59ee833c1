"""The message types of a pprof profile, made from a table of their fields.

The format is public: numbers and types of the fields are all that a reader goes by. Texts stand once in the profile's
`string_table`, whose first is empty, and fields name them by their place in it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PACKAGE = "hakmem.pprof"
FIELD = descriptor_pb2.FieldDescriptorProto
SCALARS = {"int": FIELD.TYPE_INT64, "id": FIELD.TYPE_UINT64, "text": FIELD.TYPE_INT64, "bool": FIELD.TYPE_BOOL}

# message: its fields as (number, name, type); "text" is a place in the table of strings, * one of many
TABLE: dict[str, tuple[tuple[int, str, str], ...]] = {
    "ValueType": ((1, "type", "text"), (2, "unit", "text")),
    "Label": ((1, "key", "text"), (2, "str", "text"), (3, "num", "int"), (4, "num_unit", "text")),
    "Sample": ((1, "location_id", "id*"), (2, "value", "int*"), (3, "label", "Label*")),
    "Mapping": (
        (1, "id", "id"),
        (2, "memory_start", "id"),
        (3, "memory_limit", "id"),
        (4, "file_offset", "id"),
        (5, "filename", "text"),
        (6, "build_id", "text"),
        (7, "has_functions", "bool"),
        (8, "has_filenames", "bool"),
        (9, "has_line_numbers", "bool"),
        (10, "has_inline_frames", "bool"),
    ),
    "Line": ((1, "function_id", "id"), (2, "line", "int")),
    "Location": ((1, "id", "id"), (2, "mapping_id", "id"), (3, "address", "id"), (4, "line", "Line*")),
    "Function": (
        (1, "id", "id"),
        (2, "name", "text"),
        (3, "system_name", "text"),
        (4, "filename", "text"),
        (5, "start_line", "int"),
    ),
    "Profile": (
        (1, "sample_type", "ValueType*"),
        (2, "sample", "Sample*"),
        (3, "mapping", "Mapping*"),
        (4, "location", "Location*"),
        (5, "function", "Function*"),
        (6, "string_table", "string*"),
        (7, "drop_frames", "text"),
        (8, "keep_frames", "text"),
        (9, "time_nanos", "int"),
        (10, "duration_nanos", "int"),
        (11, "period_type", "ValueType"),
        (12, "period", "int"),
        (13, "comment", "text*"),
        (14, "default_sample_type", "text"),
    ),
}


@lru_cache(maxsize=1)
def profile_class() -> Any:
    """The class of a whole profile; the other messages are made through its fields."""
    file = descriptor_pb2.FileDescriptorProto(name="hakmem/pprof.proto", package=PACKAGE, syntax="proto3")
    for message, fields in TABLE.items():
        made = file.message_type.add(name=message)
        for number, name, kind in fields:
            _add(made, number, name, kind)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.Profile"))


def _add(message: Any, number: int, name: str, kind: str) -> None:
    field = message.field.add(name=name, number=number)
    field.label = FIELD.LABEL_REPEATED if kind.endswith("*") else FIELD.LABEL_OPTIONAL
    kind = kind.rstrip("*")
    if kind in SCALARS:
        field.type = SCALARS[kind]
    elif kind == "string":
        field.type = FIELD.TYPE_STRING
    else:
        field.type, field.type_name = FIELD.TYPE_MESSAGE, f".{PACKAGE}.{kind}"
