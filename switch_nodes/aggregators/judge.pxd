cimport cython

from switch_nodes.aggregators.arrival cimport AggregatorArrival
from switch_nodes.aggregators.memory cimport Aggregator, Memory
from switch_nodes.aggregators.served cimport ServedJob

cdef long long _HALF, _RESEND, _OVERFLOW, _EDGE, _MARKED
cdef object _NEW, _COMPLETING, _REPEAT, _BYPASS, _OTHER, _RESULT_OWN, _RESULT_OTHER, _RESEND_OWN, _RESEND_OTHER


cdef class SlotJudge:
    cdef public Memory memory
    cdef public object knobs
    cdef bint _reclaims

    @cython.locals(slot=Aggregator)
    cpdef object of_contribution(self, AggregatorArrival a)
    cpdef object of_resend(self, AggregatorArrival a, Aggregator slot)
    cpdef object of_result(self, AggregatorArrival a)
    cpdef object of_reminder(self, AggregatorArrival a)
    @cython.locals(slot=Aggregator)
    cpdef bint is_owner(self, AggregatorArrival a) except -1
    @cython.locals(served=ServedJob)
    cpdef bint belongs_here(self, AggregatorArrival a) except -1
    cpdef bint completes(self, Aggregator slot, AggregatorArrival a) except -1
    cpdef bint is_successor(self, Aggregator slot, AggregatorArrival a) except -1
    cpdef bint is_preferred(self, Aggregator slot, AggregatorArrival a) except -1
