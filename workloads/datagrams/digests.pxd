from cpython.bytes cimport PyBytes_AS_STRING
from libc.string cimport memcmp


cdef inline bint same_bytes(const unsigned char[::1] one, bytes other) noexcept:
    if one.shape[0] != len(other):
        return False
    return not one.shape[0] or not memcmp(&one[0], PyBytes_AS_STRING(other), one.shape[0])


cdef class ResultDigests:
    cdef long long _worker
    cdef bint _has_several
    cdef bytes _kept
    cdef str _digest
    cdef public long long hashed
