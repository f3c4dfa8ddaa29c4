from workloads.datagrams.packet_window cimport PacketWindow
from workloads.datagrams.retransmission cimport RetransmissionTimer

cdef long long _NOTHING


cdef class SlotWindow(PacketWindow):
    cdef public RetransmissionTimer _timer
    cdef public long long[::1] _outstanding
    cdef public object _ready
    cdef public list _held

    cpdef long long index_of(self, long long packet)
    cpdef long long version_of(self, long long packet)
    cpdef long long next_ready(self)
    cpdef hold(self, long long packet)
    cdef _let_go(self, long long packet)
