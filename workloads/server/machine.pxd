cimport cython

from workloads.datagrams.arrival cimport Arrival
from workloads.kernels cimport NEVER
from workloads.quick cimport Quick
from workloads.server.job cimport JobServer
from workloads.wire.inspected cimport address_of, is_sound, nearest_packet

cdef long long _FOR_US, _SEQUENCES


cdef class ParameterServer(Quick):
    cdef public dict _jobs
    cdef long long _address, _start_ns
    cdef object _resets
    cdef Arrival _found

    @cython.locals(job=JobServer, near=cython.longlong)
    cpdef take(self, Py_ssize_t port, bytes frame, long long now)
    @cython.locals(job=JobServer, due=cython.longlong)
    cpdef long long due(self) except? -2
    cdef _collect(self, JobServer job)
