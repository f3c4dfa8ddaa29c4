from workloads.datagrams.packet_window cimport PacketWindow
from workloads.datagrams.retransmission cimport BackoffTimer
from workloads.kernels cimport NEVER

cdef long long _NOTHING


cdef class ReceivedFlow:
    cdef public long long packets, needed, counted
    cdef public bint closed
    cdef bytearray _inside

    cpdef bint has(self, long long packet) except -1
    cpdef bint take(self, long long packet, bint also_closed=*) except -1


cdef class SendingFlow(PacketWindow):
    cdef long long _most, _under_way
    cdef BackoffTimer _timer
    cdef object _round, _late
    cdef bytearray _settled
    cdef bint _stopped
    cdef public long long departed

    cpdef long long next_leaving(self) except? -1
    cpdef bint has_left(self, long long packet) except -1
    cpdef stop(self)
    cdef bint _is_over(self) except -1
