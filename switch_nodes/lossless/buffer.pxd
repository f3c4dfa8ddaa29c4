cimport cython

cdef long long _FIXED


cdef class Account:
    cdef public tuple key
    cdef public object limits
    cdef public long long used, headroom_used, most_headroom, dropped
    cdef public long long headroom, reserve, share_num, share_den, fixed
    cdef public bint is_paused, is_lossless


cdef inline long long shared_of(Account account) noexcept:
    return account.used - account.reserve if account.used > account.reserve else 0


cdef class SharedBuffer:
    cdef public long long shared_bytes, resume_below, shared_used
    cdef public dict accounts

    cpdef long long threshold(self, Account account)
    cpdef long long threshold_at(self, Account account, long long free, long long own)
    cpdef long long admit(self, Account account, long long size)
    cpdef take_back(self, Account account, long long size)
    @cython.locals(of_headroom=cython.longlong, before=cython.longlong)
    cpdef release(self, Account account, long long size)
    @cython.locals(threshold=cython.longlong)
    cpdef bint should_pause(self, Account account)
    cpdef bint should_resume(self, Account account)
    cpdef bint may_resume(self, long long shared_used, long long threshold)
    @cython.locals(new=cython.longlong, over=cython.longlong, added=cython.longlong)
    cdef bint _add(self, Account account, long long size)
    cdef long long _missing(self, Account account, long long size)
