cimport cython
from libc.stdint cimport int32_t

from switch_nodes.aggregators.arrival cimport AggregatorArrival
from switch_nodes.aggregators.served cimport ServedJob
from workloads.datagrams.entries cimport enter
from workloads.kernels cimport add_words, new_words, read_words

cdef object _WORDS
cdef long long _SATURATING, _EMPTY, _FILLING, _DONE


cdef class Aggregator:
    cdef public ServedJob served
    cdef public long long job, sequence, tensor, size, exponent0, exponent1, priority, opened
    cdef public object target, bitmap
    cdef public bytes frame
    cdef public list entered
    cdef public int32_t[::1] values
    cdef public bint congested, overflow

    cpdef bint is_of(self, AggregatorArrival a)
    cpdef tuple names(self)
    @cython.locals(rank=cython.longlong, entered=list)
    cpdef add(self, AggregatorArrival a)


cdef class Memory:
    cdef public list slots

    cpdef Aggregator occupant(self, long long index)
    @cython.locals(slot=Aggregator)
    cpdef long long state_of(self, long long index) except -1
    cpdef Aggregator take(self, AggregatorArrival a, long long now)
    @cython.locals(slot=Aggregator)
    cpdef free(self, long long index, long long now)
