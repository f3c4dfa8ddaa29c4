cimport cython

from workloads.datagrams.arrival cimport Arrival
from workloads.heap cimport heap_first, heap_free, heap_new, heap_pop, heap_push, heap_tie, ina_heap
from workloads.kernels cimport NEVER, bit_of

cdef long long _LOW


cdef class Slot:
    cdef public long long index, iteration, sequence, count, deadline, opened, bitmap, tos
    cdef public dict rows
    cdef public bytes first


cdef class SlotPool:
    cdef public object config
    cdef public long long job, elements, everyone, server, peak, busy_ns, useful_ns
    cdef public dict ranks, open
    cdef public bytes template
    cdef long long _wait_ns, _timer_count
    cdef list _free
    cdef ina_heap *_timers

    cpdef Slot slot_of(self, Arrival a)
    @cython.locals(slot=Slot, key=cython.longlong)
    cpdef Slot begin(self, Arrival a, long long now)
    cpdef end(self, Slot slot, long long now, bint whole)
    @cython.locals(slot=Slot, deadline=cython.longlong)
    cpdef long long due(self) except? -2
    cpdef Slot first_slot(self)
