cimport cython

from switch_nodes.forwarding.macs cimport MacTable
from workloads.quick cimport Quick


cdef class Forwarder(Quick):
    cdef MacTable _macs
    cdef dict _counters

    @cython.locals(ways=tuple, verdict=str)
    cpdef take(self, Py_ssize_t port, bytes frame, long long now)
