from workloads.kernels cimport copy_bytes, finished, new_draft, put8, put16, put32, write_words
from workloads.server.block cimport Block
from workloads.wire.inspected cimport (
    AT_EXPONENT0, AT_EXPONENT1, AT_FLAGS, AT_KIND, AT_NELEM, AT_NEW_SLOT, AT_PAYLOAD, AT_PRIORITY, AT_SEQUENCE, AT_SLOT,
    AT_TENSOR, addressed, seal,
)

cdef long long _RESULT, _SEQUENCES, _TO_ALL


cdef class JobSender:
    cdef public object _job, _header, _sets, _everybody
    cdef public bint _saturating
    cdef public list departures
    cdef bytes _template

    cpdef bytes _result_of(self, Block block, long long flags, long long new_slot)
    cdef bytes _about(self, Block block, long long kind)
    cdef _describe(self, bytes draft, Block block, long long kind)
    cpdef long long _send_to_all(self, Block block) except -1
    cpdef _send(self, long long rank, Block block)
    cdef _give(self, long long rank, bytes frame)
