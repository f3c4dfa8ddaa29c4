cimport cython

from workloads.atp.window cimport SendWindow
from workloads.atp.worker cimport AtpWorker
from workloads.grid.node_shares cimport ShareTable
from workloads.grid.pace cimport Pace
from workloads.grid.window cimport GridWindow
from workloads.kernels cimport NEVER

cdef long long _RESEND, _SERVER


cdef class GridWorker(AtpWorker):
    cdef public object _plan, _to_come
    cdef public dict _templates
    cdef public ShareTable _shares
    cdef public Pace _pace
    cdef long long _start_ns, _seen

    @cython.locals(due=cython.longlong, window=SendWindow, paced=cython.longlong)
    cpdef long long due(self) except? -2
    @cython.locals(window=SendWindow, packet=cython.longlong)
    cpdef wake(self, long long now)
    @cython.locals(window=GridWindow)
    cpdef collided(self, long long packet, long long now)
    @cython.locals(node=cython.longlong, together=cython.longlong)
    cpdef bytes encode(self, long long packet, str cause)
