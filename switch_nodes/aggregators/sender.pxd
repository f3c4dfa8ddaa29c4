cimport cython

from switch_nodes.aggregators.arrival cimport AggregatorArrival
from switch_nodes.aggregators.memory cimport Aggregator
from switch_nodes.aggregators.packets cimport of_service, with_flags, with_sum
from switch_nodes.aggregators.served cimport ServedJob
from switch_nodes.aggregators.steps cimport SlotService
from switch_nodes.forwarding.macs cimport MacTable
from workloads.wire.inspected cimport addressed

cdef long long _ECN, _OVERFLOW, _EDGE


cdef class AggregatorSender(SlotService):
    cdef public object knobs
    cdef public MacTable _macs

    @cython.locals(served=ServedJob)
    cpdef _send_slot(self, AggregatorArrival a, Aggregator slot, str reason)
    cpdef _send_occupant(self, AggregatorArrival a, str reason)
    @cython.locals(served=ServedJob)
    cpdef _send_on(self, AggregatorArrival a, long long added)
    @cython.locals(served=ServedJob)
    cpdef _send_sum(self, AggregatorArrival a, Aggregator slot)
    @cython.locals(served=ServedJob)
    cpdef _send_copies(self, AggregatorArrival a, bytes frame)
    cdef _send_copy(self, object member, bytes frame, bytes ip)
    cpdef _spread(self, AggregatorArrival a)
    cpdef _emit_up(self, ServedJob served, long long sequence, bytes frame)
    cpdef _emit_to(self, object member, bytes frame)
    @cython.locals(served=ServedJob)
    cpdef _tell_sum(self, AggregatorArrival a, Aggregator slot)
