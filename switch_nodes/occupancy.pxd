cdef class Occupancy:
    cdef public long long occupied, peak, busy_ns, useful_ns
    cdef public long long _since, _all_ns

    cpdef occupy(self, long long amount, long long now)
    cpdef touch(self, long long now)
