cimport cython

from testbed.checkers.frames cimport part
from workloads.kernels cimport get8, get16

cdef long _ROCE, _AGGREGATION
cdef bytes _IS_REQUEST, _IS_DATA
cdef Py_ssize_t _LEAST, _DATAGRAM_HEADER_BYTES, _ICRC_BYTES


cdef class Frame:
    cdef public long long time, number
    cdef public long size, layer_class
    cdef public bytes key
    cdef public unsigned long content
    cdef public bint is_data, is_lost


cdef class Seen:
    cdef public dict taken, given


@cython.locals(
    seen=Seen, open_frames=dict, frame=Frame, waiting=list, key=bytes, raw=bytes, number="long long", is_out=bint
)
cdef Seen _read(object capture, object classes)
@cython.locals(
    size=Py_ssize_t, at=Py_ssize_t, begin=Py_ssize_t, flow=bytes, port=long, kind=long, content="unsigned long",
    key=bytes
)
cdef tuple _identity(bytes frame)
