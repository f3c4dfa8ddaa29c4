cimport cython

from workloads.datagrams.answer cimport acknowledgement_of
from workloads.datagrams.arrival cimport Arrival
from workloads.datagrams.quick_host cimport QuickHost
from workloads.dlcp.flow cimport ReceivedFlow, SendingFlow
from workloads.dlcp.outgoing cimport Outgoing
from workloads.kernels cimport bit_of
from workloads.wire.inspected cimport address_of

cdef long long _DLCP, _ACK, _LAST


cdef class DlcpHost(QuickHost):
    cdef public object _config, _dtype, _leaving
    cdef public long long _packets, _elements, _total, _needed
    cdef long long _understood, _address
    cdef list _peers, _templates
    cdef Arrival _found

    cpdef take(self, Py_ssize_t port, bytes frame, long long now)
    cpdef long long size_of(self, Arrival found) except? -2
    cpdef bint concerns_us(self, Arrival found) except -1
    cpdef acknowledged(self, Arrival found, long long now)
    cpdef take_elements(self, Arrival found, long long now)
    cpdef acknowledge(self, Arrival found, long long peer, long long bitmap, bint stop)
    @cython.locals(flow=SendingFlow)
    cpdef hear_ack(self, Arrival found, Outgoing outgoing, long long now)
    @cython.locals(flow=SendingFlow)
    cpdef bytes next_frame(self, Outgoing outgoing, long long now)
    cpdef tell_closed(self, ReceivedFlow flow, long long iteration, long long sender, long long step=*)
