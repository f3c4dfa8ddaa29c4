from workloads.datagrams.retransmission cimport RetransmissionTimer
from workloads.heap cimport heap_first, heap_free, heap_new, heap_pop, heap_push, heap_tie, ina_heap
from workloads.kernels cimport NEVER

cdef long long _NOTHING


cdef class SlotWindow:
    cdef public long long window, first, end, progress_at
    cdef public RetransmissionTimer _timer
    cdef ina_heap *_timers
    cdef long long _timer_count
    cdef public long long missing
    cdef public long long[::1] _outstanding, _deadline
    cdef long long[::1] _first_at, _tries
    cdef public object _ready
    cdef public list _held

    cpdef long long index_of(self, long long packet)
    cpdef long long version_of(self, long long packet)
    cpdef start(self, long long packets)
    cpdef long long next_ready(self)
    cpdef hold(self, long long packet)
    cpdef release(self)
    cpdef long long left(self, long long packet, long long now)
    cpdef bint is_outstanding(self, long long packet)
    cpdef settle(self, long long packet, long long now)
    cpdef long long due(self)
    cpdef long long expire(self, long long now)
    cdef bint _is_missing(self, long long packet)
    cdef bint _is_armed(self, long long deadline, long long packet)
    cdef _drop(self)
    cdef _let_go(self, long long packet)
