cimport cython

from switch_nodes.aggregators.arrival cimport Arrival
from switch_nodes.aggregators.memory cimport Aggregator, Memory
from switch_nodes.aggregators.packets cimport of_service, with_flags, with_sum
from switch_nodes.aggregators.served cimport ServedJob
from workloads.quick cimport Quick
from workloads.wire.inspected cimport addressed

cdef long long _ECN, _OVERFLOW, _EDGE


cdef class AggregatorSender(Quick):
    cdef public object knobs, _macs
    cdef public Memory memory
    cdef public dict _counters
    cdef public long long _now

    cdef _count(self, str name)
    cpdef Aggregator _occupant(self, long long index)
    @cython.locals(served=ServedJob)
    cpdef _send_slot(self, Arrival a, Aggregator slot, str reason)
    cpdef _send_occupant(self, Arrival a, str reason)
    @cython.locals(served=ServedJob)
    cpdef _send_on(self, Arrival a, long long added)
    @cython.locals(served=ServedJob)
    cpdef _send_sum(self, Arrival a, Aggregator slot)
    @cython.locals(served=ServedJob)
    cpdef _send_copies(self, Arrival a, bytes frame)
    cdef _send_copy(self, object member, bytes frame, bytes ip)
    cpdef _spread(self, Arrival a)
    cpdef _emit_up(self, ServedJob served, long long sequence, bytes frame)
    cpdef _emit_to(self, object member, bytes frame)
    @cython.locals(served=ServedJob)
    cpdef _tell_sum(self, Arrival a, Aggregator slot)
    cpdef _tell_partial(self, Aggregator slot, long long index, str reason)
