cimport cython

from switch_nodes.switchml.framing cimport _NOT_OURS as NOT_OURS, _UNFINISHED as UNFINISHED, ServiceFraming
from switch_nodes.switchml.pool cimport Pool
from workloads.kernels cimport add_words, bit_of, read_words
from workloads.quick cimport Quick
from workloads.datagrams.arrival cimport Arrival

cdef long long _DATA, _EXPONENTS, _RESULT, _OF_LEAF, _VERSION_FLAG, _EMPTY, _UNWANTED, _SEQUENCES, _CAUSES
cdef long long _FREE, _FILLING, _DONE, _WAITING, _STORE, _STORE_AND_ANSWER, _REPLAY, _STORE_AND_RAISE, _RAISE, _SPREAD
cdef long long _NEW, _COMPLETING, _REPEAT, _MISMATCH, _OVERRUN, _STALE, _MOVED_ON, _LAST_MOVED_ON, _SUM


cdef class Contribution(Arrival):
    cdef public Pool pool
    cdef public long long rank, named, version, cell, place, block


cdef class PoolService(Quick):
    cdef public object _program
    cdef ServiceFraming _framing
    cdef public dict _served
    cdef public bint _traced
    cdef public long long _now, _data_in, _results_out, _replayed, _partials_out, _sums_in
    cdef long long[::1] _after, _actions
    cdef public Contribution _contribution

    @cython.locals(pool=Pool)
    cdef bint _place(self, Py_ssize_t port, Contribution c) except -1
    cdef bint _place_sum(self, Py_ssize_t port, Contribution c, Pool pool) except -1
    cdef _refuse(self, Contribution c, str reason)
    cpdef long long version_of(self, long long flags)
    cdef _aggregate(self, Contribution c)
    cdef _take_sum(self, Contribution c, Pool pool)
    cdef long long _step(self, Contribution c, long long version, long long before, long long event) except -1
    cpdef long long sum_event(self, Contribution c)
    cpdef long long slot_event(self, Contribution c)
    cdef bint _is_as_long(self, Contribution c) except -1
    cpdef bint is_older(self, long long block, long long newest)
    cpdef move_on(self, Contribution c)
    cpdef store(self, Contribution c)
    cpdef bint is_first(self, Contribution c)
    cpdef store_and_answer(self, Contribution c)
    cpdef replay(self, Contribution c)
    cpdef store_and_raise(self, Contribution c)
    cpdef raise_again(self, Contribution c)
    cdef _send_up(self, Contribution c, str reason)
    cpdef spread(self, Contribution c)
    cpdef send_result(self, Contribution c, long long first, long long end)
    cdef _ignore(self, long long job, long long rank, long long block, long long slot, str reason)
    cdef _tell_step(self, Contribution c, long long version, long long state, long long event, long long after)
