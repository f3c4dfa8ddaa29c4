from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Flags(_message.Message):
    __slots__ = ("values",)
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedScalarFieldContainer[bool]
    def __init__(self, values: _Optional[_Iterable[bool]] = ...) -> None: ...

class Attribute(_message.Message):
    __slots__ = ("name", "as_double", "as_float", "as_int32", "as_int64", "as_uint32", "as_uint64", "as_sint32", "as_sint64", "as_fixed32", "as_fixed64", "as_sfixed32", "as_sfixed64", "as_bool", "as_flags", "as_text")
    NAME_FIELD_NUMBER: _ClassVar[int]
    AS_DOUBLE_FIELD_NUMBER: _ClassVar[int]
    AS_FLOAT_FIELD_NUMBER: _ClassVar[int]
    AS_INT32_FIELD_NUMBER: _ClassVar[int]
    AS_INT64_FIELD_NUMBER: _ClassVar[int]
    AS_UINT32_FIELD_NUMBER: _ClassVar[int]
    AS_UINT64_FIELD_NUMBER: _ClassVar[int]
    AS_SINT32_FIELD_NUMBER: _ClassVar[int]
    AS_SINT64_FIELD_NUMBER: _ClassVar[int]
    AS_FIXED32_FIELD_NUMBER: _ClassVar[int]
    AS_FIXED64_FIELD_NUMBER: _ClassVar[int]
    AS_SFIXED32_FIELD_NUMBER: _ClassVar[int]
    AS_SFIXED64_FIELD_NUMBER: _ClassVar[int]
    AS_BOOL_FIELD_NUMBER: _ClassVar[int]
    AS_FLAGS_FIELD_NUMBER: _ClassVar[int]
    AS_TEXT_FIELD_NUMBER: _ClassVar[int]
    name: str
    as_double: float
    as_float: float
    as_int32: int
    as_int64: int
    as_uint32: int
    as_uint64: int
    as_sint32: int
    as_sint64: int
    as_fixed32: int
    as_fixed64: int
    as_sfixed32: int
    as_sfixed64: int
    as_bool: bool
    as_flags: Flags
    as_text: str
    def __init__(self, name: _Optional[str] = ..., as_double: _Optional[float] = ..., as_float: _Optional[float] = ..., as_int32: _Optional[int] = ..., as_int64: _Optional[int] = ..., as_uint32: _Optional[int] = ..., as_uint64: _Optional[int] = ..., as_sint32: _Optional[int] = ..., as_sint64: _Optional[int] = ..., as_fixed32: _Optional[int] = ..., as_fixed64: _Optional[int] = ..., as_sfixed32: _Optional[int] = ..., as_sfixed64: _Optional[int] = ..., as_bool: _Optional[bool] = ..., as_flags: _Optional[_Union[Flags, _Mapping]] = ..., as_text: _Optional[str] = ...) -> None: ...

class Header(_message.Message):
    __slots__ = ("version",)
    VERSION_FIELD_NUMBER: _ClassVar[int]
    version: str
    def __init__(self, version: _Optional[str] = ...) -> None: ...

class Tensors(_message.Message):
    __slots__ = ("values",)
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: str
    def __init__(self, values: _Optional[str] = ...) -> None: ...

class Node(_message.Message):
    __slots__ = ("id", "name", "type", "control", "data", "duration_us", "inputs", "attributes")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    CONTROL_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    DURATION_US_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    id: int
    name: str
    type: int
    control: _containers.RepeatedScalarFieldContainer[int]
    data: _containers.RepeatedScalarFieldContainer[int]
    duration_us: int
    inputs: Tensors
    attributes: _containers.RepeatedCompositeFieldContainer[Attribute]
    def __init__(self, id: _Optional[int] = ..., name: _Optional[str] = ..., type: _Optional[int] = ..., control: _Optional[_Iterable[int]] = ..., data: _Optional[_Iterable[int]] = ..., duration_us: _Optional[int] = ..., inputs: _Optional[_Union[Tensors, _Mapping]] = ..., attributes: _Optional[_Iterable[_Union[Attribute, _Mapping]]] = ...) -> None: ...
