from workloads.datagrams.arrival cimport Arrival
from workloads.kernels cimport copy_bytes, finished, new_draft, put8, put16, put32
from workloads.wire.inspected cimport (
    AT_BITMAP0, AT_EXPONENT0, AT_FLAGS, AT_KIND, AT_NELEM, AT_OP, AT_PAYLOAD, AT_VERSION, seal,
)

cdef long long _ACK

cpdef bytes acknowledgement_of(Arrival found, bytes template, long long bitmap, long long flags)
