cimport cython
from libc.stdint cimport int32_t

from workloads.datagrams.arrival cimport Arrival
from workloads.datagrams.retransmission cimport BackoffTimer
from workloads.dlcp.base cimport DlcpHost
from workloads.dlcp.flow cimport ReceivedFlow, SendingFlow
from workloads.dlcp.outgoing cimport Outgoing
from workloads.kernels cimport NEVER, bit_of, read_words

cdef long long _ACK


cdef class ArrivingVector:
    cdef public ReceivedFlow flow
    cdef public object values
    cdef int32_t[::1] words


cdef class DlcpRing(DlcpHost):
    cdef public long long _steps, _before, _most, _done, _step
    cdef public BackoffTimer _timer
    cdef public object _values
    cdef public dict _incoming, _outgoing
    cdef list _lengths

    @cython.locals(outgoing=Outgoing, first=cython.longlong, due=cython.longlong)
    cpdef long long packets_due(self) except? -2
    @cython.locals(outgoing=Outgoing, expired=cython.longlong)
    cpdef long long expire(self, long long now) except? -1
    @cython.locals(outgoing=Outgoing, frame=bytes)
    cpdef bytes give(self, long long now)
    @cython.locals(left=cython.longlong)
    cpdef long long size_of(self, Arrival found) except? -2
    cpdef object span(self, long long rank, long long step)
    @cython.locals(vector=ArrivingVector)
    cpdef ArrivingVector arriving(self, long long iteration, long long step)
    @cython.locals(
        iteration=cython.longlong, step=cython.longlong, packet=cython.longlong, vector=ArrivingVector,
        flow=ReceivedFlow,
    )
    cpdef take_elements(self, Arrival found, long long now)
    @cython.locals(outgoing=Outgoing, own=cython.longlong, flow=SendingFlow)
    cpdef bint can_exist(self, long long iteration, long long step) except -1
    @cython.locals(vector=ArrivingVector)
    cpdef advance(self, long long now)
    cdef _tell_summed(self, ReceivedFlow flow)
    cpdef send_step(self)
    cdef long long _block(self, long long step) except? -1
    cdef _finish_iteration(self, long long now)
    @cython.locals(outgoing=Outgoing)
    cpdef acknowledged(self, Arrival found, long long now)
