cimport cython

from switch_nodes.aggregators.arrival cimport AggregatorArrival
from switch_nodes.aggregators.entrance cimport Entrance
from switch_nodes.aggregators.judge cimport SlotJudge
from switch_nodes.aggregators.memory cimport Aggregator
from switch_nodes.aggregators.packets cimport with_flags
from switch_nodes.aggregators.sender cimport AggregatorSender
from switch_nodes.aggregators.served cimport ServedJob
from workloads.wire.inspected cimport is_sound

cdef long long _DATA, _EXPONENTS, _RESULT, _COLLISION


cdef class AggregatorService(AggregatorSender):
    cdef public SlotJudge judge
    cdef public Entrance _entrance
    cdef public object _age

    @cython.locals(a=AggregatorArrival, entrance=Entrance, problem=str)
    cpdef take(self, Py_ssize_t port, bytes frame, long long now)
    @cython.locals(served=ServedJob)
    cdef _handle(self, AggregatorArrival a)
    @cython.locals(slot=Aggregator)
    cpdef send_sum(self, AggregatorArrival a)
    @cython.locals(slot=Aggregator, served=ServedJob)
    cpdef release(self, AggregatorArrival a)
    @cython.locals(slot=Aggregator)
    cpdef repeat_sum(self, AggregatorArrival a)
    cpdef pass_on(self, AggregatorArrival a)
    @cython.locals(slot=Aggregator)
    cpdef collide(self, AggregatorArrival a)
    @cython.locals(occupant=Aggregator)
    cpdef evict(self, AggregatorArrival a)
    cpdef reclaim(self, AggregatorArrival a)
    @cython.locals(slot=Aggregator)
    cpdef flush(self, AggregatorArrival a)
    cpdef free_and_deliver(self, AggregatorArrival a)
    cpdef deliver(self, AggregatorArrival a)
    cpdef send_reminded(self, AggregatorArrival a)
    cpdef answer_empty(self, AggregatorArrival a)
    @cython.locals(slot=Aggregator)
    cpdef Aggregator _note(self, AggregatorArrival a)
    cdef _complete(self, Aggregator slot)
