from switch_nodes.switchml.pool cimport Pool
from workloads.kernels cimport (
    add_words, bit_of, copy_bytes, finished, get8, get16, get32, new_draft, put8, put16, put32, read_words, write_words,
)
from workloads.quick cimport Quick
from workloads.wire.inspected cimport (
    AT_BITMAP0, AT_EXPONENT0, AT_EXPONENT1, AT_FAN_IN0, AT_FLAGS, AT_JOB, AT_KIND, AT_NELEM, AT_OP, AT_PAYLOAD,
    AT_SEQUENCE, AT_SLOT, AT_VERSION, address_of, as_signed, is_sound, seal,
)

cdef long long _DATA, _RESULT, _EXPONENTS, _POLICY, _VERSION_FLAG, _SEQUENCES, _HEADER_AT, _CAUSES
cdef long long _FREE, _FILLING, _DONE, _STORE, _STORE_AND_ANSWER, _REPLAY
cdef long long _NEW, _COMPLETING, _REPEAT, _MISMATCH, _OVERRUN, _STALE, _MOVED_ON, _LAST_MOVED_ON


cdef class Contribution:
    cdef public Pool pool
    cdef public bytes frame
    cdef public object header
    cdef public long long at, rank, version, cell, slot
    cdef public long long source, kind, job, index, block, bitmap, fan_in, op, count, flags, exponent0, exponent1


cdef class SlotService(Quick):
    cdef public object _program, _framing, _services
    cdef public dict _served
    cdef public bint _is_uc, _traced
    cdef public long long _now, _data_in, _results_out, _replayed
    cdef long long[::1] _after, _actions
    cdef public Contribution _contribution

    cdef _take_other(self, Py_ssize_t port, bytes frame)
    cdef _bypass(self, Py_ssize_t port, bytes frame)
    cdef _take_packet(self, Py_ssize_t port, Contribution c)
    cdef bint _place(self, Py_ssize_t port, Contribution c) except -1
    cdef _refuse(self, Contribution c, str reason)
    cpdef long long version_of(self, long long flags)
    cdef _aggregate(self, Contribution c)
    cpdef long long slot_event(self, Contribution c)
    cpdef bint is_older(self, long long block, long long newest)
    cpdef move_on(self, Contribution c)
    cpdef store(self, Contribution c)
    cpdef bint is_first(self, Contribution c)
    cpdef store_and_answer(self, Contribution c)
    cpdef replay(self, Contribution c)
    cpdef send_result(self, Contribution c, long long first, long long end)
    cdef _send_by_framing(self, Contribution c, object asked, Pool pool, long long first, long long end)
    cdef _ignore(self, long long job, long long rank, long long block, long long slot, str reason)
    cdef _tell_step(self, Contribution c, long long version, long long state, long long event, long long after)
