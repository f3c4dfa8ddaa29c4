cimport cython

from workloads.datagrams.arrival cimport Arrival
from workloads.dlcp.base cimport DlcpHost
from workloads.dlcp.flow cimport ReceivedFlow
from workloads.dlcp.gathering cimport Gathering
from workloads.dlcp.outgoing cimport Outgoing
from workloads.kernels cimport NEVER, bit_of

cdef long long _DATA


cdef class DlcpServer(DlcpHost):
    cdef public long long _summed, _begun, _turn
    cdef long long _senders, _service
    cdef public Gathering _gathered
    cdef public list _timers, _going

    @cython.locals(outgoing=Outgoing, first=cython.longlong, due=cython.longlong)
    cpdef long long packets_due(self) except? -2
    @cython.locals(outgoing=Outgoing, expired=cython.longlong)
    cpdef long long expire(self, long long now) except? -1
    @cython.locals(outgoing=Outgoing, frame=bytes)
    cpdef bytes give(self, long long now)
    @cython.locals(rank=cython.longlong)
    cpdef bint concerns_us(self, Arrival found) except -1
    @cython.locals(
        packet=cython.longlong, bitmap=cython.longlong, rank=cython.longlong, over=cython.bint, stop=cython.bint,
        gathered=Gathering, flow=ReceivedFlow,
    )
    cpdef take_elements(self, Arrival found, long long now)
    cpdef object gather(self)
    @cython.locals(gathered=Gathering)
    cpdef conclude(self, long long now)
    cpdef sum_up(self, Gathering gathered, long long now)
    cpdef acknowledged(self, Arrival found, long long now)
