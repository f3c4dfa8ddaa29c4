from workloads.kernels cimport get8, get16, get32
from workloads.wire.inspected cimport (
    AT_BITMAP0, AT_BITMAP1, AT_EXPONENT0, AT_EXPONENT1, AT_FAN_IN0, AT_FAN_IN1, AT_FLAGS, AT_JOB, AT_KIND, AT_NELEM,
    AT_NEW_SLOT, AT_NODE, AT_OP, AT_PAYLOAD, AT_PRIORITY, AT_SEQUENCE, AT_SLOT, AT_TENSOR, AT_VERSION, address_of,
    as_signed,
)

cdef long long _TOS, _CE, _ECN


cdef class Arrival:
    cdef public bytes frame
    cdef public Py_ssize_t at
    cdef public long long source, policy, kind, job, sequence, slot, flags
    cdef public object bitmap
    cdef public long long fan_in, op, count, exponent0, exponent1
    cdef public long long tensor, new_slot, bitmap1, fan_in1, priority, node, destination
    cdef public bint congested

    cpdef read(self, bytes frame)
    cpdef know(self, bytes source, object header, bytes payload)
