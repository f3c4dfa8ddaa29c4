cdef class Pressure:
    cdef object _rule
    cdef bint _used
    cdef long long _block, _elements, _iterations, _busy, _done, _started, _ended, _communication, _computation
    cdef list _ends
    cdef dict _known

    cpdef start(self, long long now)
    cpdef complete(self, long long now)
    cpdef long long priority(self, long long packet, long long ahead=*) except -1
