cimport cython

from switch_nodes.aggregators.arrival cimport AggregatorArrival
from switch_nodes.aggregators.served cimport ServedJob

cdef long long _DATA, _EXPONENTS, _RESULT, _REMINDER, _RESEND, _EDGE


cdef class Entrance:
    cdef public dict served
    cdef public long long policy

    @cython.locals(served=ServedJob)
    cpdef str admit(self, AggregatorArrival a)
    @cython.locals(served=ServedJob)
    cdef str _contribution(self, AggregatorArrival a)
    @cython.locals(served=ServedJob)
    cdef bint _is_from_above(self, AggregatorArrival a) except -1
    @cython.locals(served=ServedJob)
    cdef str _from_above(self, AggregatorArrival a)
