from workloads.rc.attention cimport Attention
from workloads.rc.requester cimport Requester

cdef frozenset _RC_REQUESTS


cdef class QueuePair:
    cdef public object config, counters, responder, writer, notification, reaction
    cdef public Requester requester
    cdef public object _outbox, _answer_opcode, _bit
    cdef public long long _notices
    cdef public Attention _attention

    cpdef touch(self)
    cpdef receive(self, object packet, object now)
    cpdef next_answer(self)
    cpdef bint can_send(self, object now) except -1
    cpdef next_request(self, object now)
    cpdef on_timer(self, object now)
