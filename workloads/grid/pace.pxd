cdef extern from "<math.h>" nogil:
    long long ceil "(long long)ceil"(double number)

cdef long long _SECOND_BITS, _AT_ONCE


cdef class Pace:
    cdef public double rate_bps
    cdef long long _catch_up_ns
    cdef bint _begun
    cdef double _due

    cpdef set_rate(self, double rate_bps, long long now)
    cpdef long long due(self) except? -1
    cpdef start(self, long long now)
    cpdef charge(self, long long frame_bytes, long long now)
    cdef _since(self, double first, double least)
