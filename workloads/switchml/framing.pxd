from workloads.datagrams.quantisation cimport Tensor
from workloads.kernels cimport bit_of, copy_bytes, finished, get8, get16, get32, new_draft, put8, put16, put32
from workloads.wire.inspected cimport (
    AT_BITMAP0, AT_EXPONENT0, AT_EXPONENT1, AT_FAN_IN0, AT_FLAGS, AT_JOB, AT_KIND, AT_NELEM, AT_OP, AT_PAYLOAD,
    AT_SEQUENCE, AT_SLOT, AT_TENSOR, AT_VERSION, address_of, as_signed, is_sound, seal,
)

cdef long long _DATA, _RESULT, _EXPONENTS, _POLICY


cdef class Arrival:
    cdef public bytes frame
    cdef public Py_ssize_t at
    cdef public long long source, policy, kind, job, sequence, slot, flags
    cdef public long long bitmap, fan_in, op, count, exponent0, exponent1

    cdef read(self, bytes frame)
    cpdef know(self, bytes source, object header, bytes payload)


cdef class HostFraming:
    cdef public object leaving

    cpdef bint read(self, bytes frame, Arrival found) except -1
    cpdef bytes write(self, Tensor tensor, long long own, long long sequence, long long slot, long long flags,
                      long long number)


cdef class UdpFraming(HostFraming):
    cdef long long _address
    cdef bytes _template


cdef class UcFraming(HostFraming):
    cdef object _config, _pairs, _endpoint
