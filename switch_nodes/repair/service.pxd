cimport cython
from libc.stdint cimport uint8_t

from switch_nodes.repair.pool cimport RepairPool
from workloads.codes.products cimport add_products, write_bytes
from workloads.datagrams.answer cimport acknowledgement_of
from workloads.datagrams.arrival cimport Arrival
from workloads.kernels cimport copy_bytes, finished, new_draft, put8, put16, put32
from workloads.quick cimport Quick
from workloads.wire.inspected cimport (
    AT_BITMAP0, AT_EXPONENT0, AT_KIND, AT_NELEM, AT_OP, AT_PAYLOAD, AT_VERSION, is_sound, seal,
)

cdef long long _POLICY, _SEQUENCES, _OP_XOR, _OP_GF256, _DATA, _RESULT, _REMINDER, _ACK_KIND, _CAUSES
cdef long long _FREE, _FILLING, _SENT, _DONE
cdef long long _NEW, _COMPLETING, _REPEAT, _REPEAT_FIRST, _MISMATCH, _OVERRUN, _STALE
cdef long long _QUESTION, _QUESTION_NEWER, _ACK, _ACK_OTHER
cdef long long _STORE, _STORE_AND_SEND, _SEND_AGAIN, _ASK, _ANSWER, _SPREAD


cdef class RepairArrival(Arrival):
    cdef public RepairPool pool
    cdef public long long port, cell, block, ranks


cdef class RepairService(Quick):
    cdef public object _program
    cdef public dict _served
    cdef public bint _traced
    cdef object _services
    cdef public long long _now, _data_in, _sums_out, _questions_out, _acks_out
    cdef long long[::1] _after, _actions
    cdef const uint8_t[:, ::1] _products
    cdef public RepairArrival _contribution

    cdef _bypass(self, Py_ssize_t port, bytes frame)
    @cython.locals(pool=RepairPool)
    cdef bint _place(self, RepairArrival c) except -1
    cdef bint _is_whole(self, RepairPool pool, RepairArrival c) except -1
    cdef _step(self, RepairArrival c)
    cpdef long long rank_of(self, RepairArrival c) except? -2
    cpdef long long slot_event(self, RepairArrival c) except? -1
    cpdef bint is_inside(self, RepairArrival c) except? -1
    cpdef bint is_newer(self, long long block, long long than) except? -1
    cpdef store(self, RepairArrival c)
    cpdef long long coefficient(self, RepairArrival c) except? -1
    cpdef bint is_first(self, RepairArrival c) except? -1
    cpdef store_and_send(self, RepairArrival c)
    cpdef send_again(self, RepairArrival c)
    cpdef send_sum(self, RepairArrival c)
    cpdef ask(self, RepairArrival c)
    cpdef answer(self, RepairArrival c)
    cpdef spread(self, RepairArrival c)
    cpdef send_up(self, RepairArrival c, long long kind, long long count, long long op, long long coefficient)
    cdef _send_down(self, RepairArrival c, long long port, long long ranks)
    cdef _ignore(self, long long job, long long rank, long long block, long long slot, str reason)
