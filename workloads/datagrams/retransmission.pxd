cdef long long _TIMEOUTS_PER_DOUBLING, _MOST_DOUBLINGS, _ROUND_TRIPS, _MOST_WAITS, _STEPS, _STEADY
cdef long long _SMOOTHING, _MOST_BACKOFF, _LONG_AGO


cdef class RetransmissionTimer:
    cdef long long _rto_ns, _round_trip_ns
    cdef object _draw

    cpdef long long wait(self, long long attempts)
    cpdef measure(self, long long took_ns)


cdef class BackoffTimer:
    cdef long long _rto_ns, _round_trip_ns, _backoff, _hold_until
    cdef object _draw

    cpdef long long wait(self)
    cpdef long long wait_for_copy(self)
    cpdef bint expired(self, long long now)
    cpdef measure(self, long long took_ns)
    cdef long long _drawn(self, long long longest)
    cdef long long _longest(self)
