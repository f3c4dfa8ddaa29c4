cimport cython

from workloads.atp.window cimport SendWindow
from workloads.grid.node_shares cimport ShareTable

cdef long long _MOST_REFUSALS


cdef class GridWindow(SendWindow):
    cdef bint _controlled
    cdef public long long threshold
    cdef long long _grown, _halved_before
    cdef public dict _refusals
    cdef ShareTable _shares
    cdef dict _top

    cpdef refuse(self, long long packet)
    cpdef follow(self, ShareTable shares)
    @cython.locals(before=cython.longlong, missing=cython.longlong, way=cython.longlong)
    cdef _overtook(self, long long packet)
    cdef _halve(self)
