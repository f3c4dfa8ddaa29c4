from libc.stdint cimport int32_t

from workloads.dlcp.flow cimport SendingFlow
from workloads.kernels cimport copy_bytes, finished, new_draft, put8, put16, put32, write_words
from workloads.wire.inspected cimport AT_FLAGS, AT_NELEM, AT_PAYLOAD, AT_SEQUENCE, seal

cdef long long _TOS, _RESEND


cdef class Outgoing:
    cdef public tuple key
    cdef public long long block
    cdef public SendingFlow flow
    cdef bytes _template, _classes
    cdef const int32_t[::1] _values
    cdef long long _size, _total

    cpdef bytes encode(self, long long packet, bint again)
