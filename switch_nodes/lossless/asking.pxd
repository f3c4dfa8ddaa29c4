cimport cython

from switch_nodes.lossless.buffer cimport Account, SharedBuffer


cdef class Asking:
    cdef public SharedBuffer buffer
    cdef public long long quanta
    cdef public object _send, _remind
    cdef public dict sent, _reminders
    cdef public list _paused

    cpdef after_adding(self, Account account)
    @cython.locals(account=Account)
    cpdef after_release(self)
    cpdef bint is_due(self, tuple key)
    cdef _ask(self, Account account)
