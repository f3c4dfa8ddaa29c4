from workloads.atp.window cimport SendWindow

cdef long long _MOST_REFUSALS


cdef class GridWindow(SendWindow):
    cdef bint _controlled
    cdef public long long threshold
    cdef long long _grown, _halved_before
    cdef public dict _refusals

    cpdef refuse(self, long long packet)
    cdef _halve(self)
