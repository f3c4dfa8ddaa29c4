from workloads.datagrams.arrival cimport Arrival
from workloads.datagrams.quantisation cimport Tensor
from workloads.kernels cimport bit_of, copy_bytes, finished, new_draft, put8, put16, put32
from workloads.wire.inspected cimport (
    AT_EXPONENT0, AT_EXPONENT1, AT_FLAGS, AT_KIND, AT_NELEM, AT_PAYLOAD, AT_SEQUENCE, AT_SLOT, AT_TENSOR, address_of,
    is_sound, seal,
)

cdef long long _DATA, _RESULT, _EXPONENTS, _POLICY, _EMPTY


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
