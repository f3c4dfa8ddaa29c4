cimport cython

from libc.stdint cimport uint8_t, uint32_t

from workloads.kernels cimport copy_bytes, get8, get16, new_draft


cdef extern from "crc.h" nogil:
    uint32_t ina_crc32(uint32_t crc, const uint8_t *octets, size_t size)


cdef inline unsigned long crc_of(bytes frame, Py_ssize_t at, Py_ssize_t end) noexcept:
    return ina_crc32(0, <const uint8_t *><char *>frame + at, end - at)


cdef inline bytes joined(bytes frame, Py_ssize_t at, Py_ssize_t end, Py_ssize_t second, Py_ssize_t second_end,
                         Py_ssize_t third, Py_ssize_t third_end):
    cdef Py_ssize_t one = end - at, two = second_end - second, three = third_end - third
    cdef bytes found = new_draft(one + two + three)
    copy_bytes(found, 0, frame, at, one)
    copy_bytes(found, one, frame, second, two)
    copy_bytes(found, one + two, frame, third, three)
    return found


cdef long _ROCE, _AGGREGATION
cdef bytes _IS_REQUEST, _IS_DATA
cdef Py_ssize_t _LEAST, _DATAGRAM_HEADER_BYTES, _KIND_AT, _BASE_BYTES, _CHANGED_AT, _ICRC_BYTES
cdef Py_ssize_t _TYPE_AT, _AT, _AT6, _SRC_AT, _SRC6_AT, _PORT_BACK, _PORTS_END_BACK


cdef class Frame:
    cdef public long long time, number
    cdef public long size, layer_class
    cdef public bytes key
    cdef public unsigned long content
    cdef public bint is_data, is_lost


cpdef Frame frame_of(
    long long time, long long number, long size, bytes key, unsigned long content, bint is_data, long layer_class,
    bint lost
)


cdef class SeenFrames:
    cdef public dict taken, given


@cython.locals(
    seen=SeenFrames, open_frames=dict, frame=Frame, waiting=list, key=bytes, raw=bytes, number="long long", is_out=bint
)
cdef SeenFrames _read(object capture, object classes)
@cython.locals(
    size=Py_ssize_t, at=Py_ssize_t, begin=Py_ssize_t, ports_end=Py_ssize_t, rest=Py_ssize_t, port=long, kind=long, content="unsigned long",
    key=bytes
)
cdef tuple _identity(bytes frame)
