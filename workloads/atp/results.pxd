cdef class KeptResults:
    cdef long long _size
    cdef long long[::1] _packets
    cdef list _frames

    cpdef keep(self, long long packet, bytes frame)
    cpdef bytes find(self, long long packet)
