cimport cython
from libc.stdint cimport int32_t

from workloads.datagrams.arrival cimport Arrival
from workloads.datagrams.retransmission cimport BackoffTimer
from workloads.dlcp.base cimport DlcpHost
from workloads.dlcp.flow cimport ReceivedFlow
from workloads.dlcp.outgoing cimport Outgoing
from workloads.kernels cimport NEVER, bit_of, read_words


cdef class DlcpWorker(DlcpHost):
    cdef public BackoffTimer _timer
    cdef public long long _done
    cdef public Outgoing _outgoing
    cdef public ReceivedFlow _result
    cdef int32_t[::1] _sum

    cpdef bytes give(self, long long now)
    @cython.locals(outgoing=Outgoing, result=ReceivedFlow, packet=cython.longlong, done=cython.longlong)
    cpdef take_elements(self, Arrival found, long long now)
