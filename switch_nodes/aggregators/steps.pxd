cimport cython

from switch_nodes.aggregators.arrival cimport AggregatorArrival
from switch_nodes.aggregators.memory cimport Aggregator, Memory
from workloads.quick cimport Quick


cdef class SlotService(Quick):
    cdef public Memory memory
    cdef public dict _counters
    cdef public long long _now
    cdef bint _traced
    cdef tuple _states
    cdef long long _causes
    cdef long long[::1] _after, _actions
    cdef list _handlers
    cdef AggregatorArrival _arrival

    cpdef long long state_of(self, long long index) except -1
    @cython.locals(before=cython.longlong, step=cython.longlong)
    cpdef _step(self, AggregatorArrival a, object event)
    @cython.locals(slot=Aggregator)
    cpdef Aggregator add(self, AggregatorArrival a)
    cpdef _enter(self, Aggregator slot, AggregatorArrival a)
    cpdef drop_duplicate(self, AggregatorArrival a)
    cpdef drop_mismatch(self, AggregatorArrival a)
    cpdef drop_unforeseen(self, AggregatorArrival a)
    cpdef Aggregator _occupant(self, long long index)
    cpdef _tell_partial(self, Aggregator slot, long long index, str reason)
    cpdef _drop(self, AggregatorArrival a, str reason)
    cdef _ignore(self, object event)
    cdef _count(self, str name)
