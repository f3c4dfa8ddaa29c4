cimport cython
from libc.stdint cimport int32_t

from workloads.datagrams.arrival cimport Arrival
from workloads.dlcp.flow cimport ReceivedFlow
from workloads.kernels cimport bit_of, read_words


cdef class Gathering:
    cdef public object _config, _dtype
    cdef public long long _elements
    cdef public list flows
    cdef long long[:, ::1] _entered

    @cython.locals(flow=ReceivedFlow, closed=cython.longlong)
    cpdef bint has_enough(self) except -1
    cpdef object take(self, Arrival found)
    cpdef object entered(self)
    cpdef object parts(self)
    cpdef object total(self, object own)


cdef class RowGathering(Gathering):
    cdef public object rows
    cdef int32_t[::1] _words
    cdef long long _total

    @cython.locals(flow=ReceivedFlow, rank=cython.longlong, packet=cython.longlong)
    cpdef object take(self, Arrival found)
    cpdef enter(self, long long rank, long long packet, Arrival found)


cdef class PartGathering(Gathering):
    cdef public object late
    cdef public list _parts

    @cython.locals(flow=ReceivedFlow, rank=cython.longlong, packet=cython.longlong, is_wanted=cython.bint)
    cpdef object take(self, Arrival found)
    cpdef enter(self, long long packet, Arrival found)
    cpdef object ordered(self, long long packet)
