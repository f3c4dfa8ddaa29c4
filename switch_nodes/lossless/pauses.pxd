cdef class PauseState:
    cdef public long long rate_bps, response_ns, frames_heard
    cdef public bint is_quiet
    cdef public list _since, _until, heard_at, ignored, pauses, _ended, _total

    cpdef hear(self, object times, long long now)
    cpdef bint may_begin(self, long long pfc_class, long long now)
    cpdef object paused_since(self, long long pfc_class, long long now)
    cpdef long long paused_ns(self, long long pfc_class, long long now)
    cpdef tick(self, long long now)
    cpdef list ended(self)
    cdef _end_if_over(self, long long pfc_class, long long now)
    cdef _end(self, long long pfc_class, long long now)
