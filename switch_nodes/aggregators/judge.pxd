cimport cython

from switch_nodes.aggregators.arrival cimport Arrival
from switch_nodes.aggregators.memory cimport Aggregator, Memory
from switch_nodes.aggregators.served cimport ServedJob

cdef long long _HALF, _RESEND, _OVERFLOW, _EDGE, _MARKED
cdef object _NEW, _COMPLETING, _REPEAT, _BYPASS


cdef class SlotJudge:
    cdef public Memory memory
    cdef public object knobs
    cdef bint _reclaims

    @cython.locals(slot=Aggregator)
    cpdef object of_contribution(self, Arrival a)
    cpdef object of_resend(self, Arrival a, Aggregator slot)
    cpdef object of_result(self, Arrival a)
    cpdef object of_reminder(self, Arrival a)
    @cython.locals(slot=Aggregator)
    cpdef bint is_owner(self, Arrival a) except -1
    @cython.locals(served=ServedJob)
    cpdef bint belongs_here(self, Arrival a) except -1
    cpdef bint completes(self, Aggregator slot, Arrival a) except -1
    cpdef bint is_successor(self, Aggregator slot, Arrival a) except -1
    cpdef bint is_preferred(self, Aggregator slot, Arrival a) except -1
