cimport cython

cdef long long _SECOND_BITS


cdef class TokenBucket:
    cdef double _rate_bps, _busy_until
    cdef long long _depth_ns

    @cython.locals(begin=cython.double, until=cython.double)
    cpdef bint take(self, long long size, long long now) except -1
