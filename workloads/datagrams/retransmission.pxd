cdef long long _TIMEOUTS_PER_DOUBLING, _MOST_DOUBLINGS, _ROUND_TRIPS, _MOST_WAITS, _STEPS, _STEADY


cdef class RetransmissionTimer:
    cdef long long _rto_ns, _round_trip_ns
    cdef object _draw

    cpdef long long wait(self, long long attempts)
    cpdef measure(self, long long took_ns)
