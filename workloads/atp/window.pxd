from workloads.datagrams.packet_window cimport PacketWindow
from workloads.datagrams.retransmission cimport BackoffTimer

cdef long long _NOTHING


cdef class SendWindow(PacketWindow):
    cdef public bint _aimd, _probes, _marked
    cdef public long long _ways, size, base, next, _probe, _round_end
    cdef public str cause
    cdef long long[::1] _tops, _settled
    cdef public object _again
    cdef public set _asked
    cdef BackoffTimer _timer

    cpdef long long next_leaving(self) except? -1
    cpdef bint has_more(self, bint is_ready) except -1
    cpdef bint may_repeat(self, long long packet, str cause) except -1
    cpdef ask_again(self, long long packet, str cause)
    cpdef mark(self)
    cpdef waited_in_vain(self)
    cdef bint _has_room(self)
    cdef long long _wish(self) except? -1
    cdef _overtook(self, long long packet)
    cdef _adapt(self)
    cdef long long _send_probe(self, list due, list waiting, long long now) except? -1
