from workloads.heap cimport heap_first, heap_free, heap_new, heap_pop, heap_push, heap_tie, ina_heap
from workloads.kernels cimport NEVER

cdef long long _NOTHING


cdef class PacketWindow:
    cdef public long long window, first, end, missing, progress_at
    cdef ina_heap *_timers
    cdef long long _timer_count
    cdef public long long[::1] _deadline
    cdef long long[::1] _first_at, _tries

    cpdef start(self, long long packets)
    cpdef release(self)
    cpdef long long left(self, long long packet, long long now) except? -1
    cpdef bint is_outstanding(self, long long packet) except -1
    cpdef settle(self, long long packet, long long now)
    cpdef long long expire(self, long long now) except? -1
    cpdef long long due(self) except? -2
    cdef _wait(self, long long packet, long long deadline)
    cdef long long _expired(self) except? -1
    cdef _drop(self)
    cdef bint _is_armed(self, long long deadline, long long packet) except -1
    cdef bint _is_missing(self, long long packet) except -1
