cdef class Sighting:
    cdef public object names, place, interface, frame
    cdef public long long number, time_ns
    cdef public bint outgoing


cdef class PsnClock:
    cdef public long long latest

    cpdef long long absolute(self, long long psn)
    cpdef note(self, long long absolute)
