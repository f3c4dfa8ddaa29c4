cimport cython

from switch_nodes.aggregators.arrival cimport Arrival
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

    @cython.locals(a=Arrival, entrance=Entrance, problem=str)
    cpdef take(self, Py_ssize_t port, bytes frame, long long now)
    @cython.locals(served=ServedJob)
    cdef _handle(self, Arrival a)
    @cython.locals(slot=Aggregator)
    cpdef send_sum(self, Arrival a)
    @cython.locals(slot=Aggregator, served=ServedJob)
    cpdef release(self, Arrival a)
    @cython.locals(slot=Aggregator)
    cpdef repeat_sum(self, Arrival a)
    cpdef pass_on(self, Arrival a)
    @cython.locals(slot=Aggregator)
    cpdef collide(self, Arrival a)
    @cython.locals(occupant=Aggregator)
    cpdef evict(self, Arrival a)
    cpdef reclaim(self, Arrival a)
    @cython.locals(slot=Aggregator)
    cpdef flush(self, Arrival a)
    cpdef free_and_deliver(self, Arrival a)
    cpdef deliver(self, Arrival a)
    cpdef send_reminded(self, Arrival a)
    cpdef answer_empty(self, Arrival a)
    @cython.locals(slot=Aggregator)
    cpdef Aggregator _note(self, Arrival a)
    cdef _complete(self, Aggregator slot)
