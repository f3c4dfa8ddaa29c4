cimport cython


cdef class MacTable:
    cdef public long long ports, max_learnt
    cdef public dict static, groups, learnt
    cdef public tuple flood_ports
    cdef public object salt, sprayed
    cdef public str verdict
    cdef bint _hairpin

    cpdef learn(self, bytes source, long long port)
    cpdef object lookup(self, bytes destination, object frame)
    @cython.locals(destination=bytes, source=bytes)
    cpdef tuple ways(self, long long port, object frame)
