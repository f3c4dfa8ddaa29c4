from switch_nodes.switchml.pool cimport Pool
from workloads.kernels cimport copy_bytes, finished, get8, new_draft, put8, put16, put32, write_words
from workloads.datagrams.arrival cimport Arrival
from workloads.wire.inspected cimport (
    AT_BITMAP0, AT_EXPONENT0, AT_EXPONENT1, AT_FAN_IN0, AT_FLAGS, AT_KIND, AT_NELEM, AT_PAYLOAD, AT_VERSION, address_of,
    is_sound, seal,
)

cdef long long _NOT_OURS, _OURS, _UNFINISHED, _RESULT, _POLICY, _HEADER_AT, _EMPTY, _UNWANTED


cdef class ServiceFraming:
    cpdef long long read(self, bytes frame, Arrival found) except -1
    cpdef write(self, Arrival asked, Pool pool, long long slot, long long first, long long end, object outbox)
    cpdef write_up(self, Arrival asked, Pool pool, long long slot, object outbox)


cdef class UdpService(ServiceFraming):
    cdef object _services
    cdef long long _first


cdef class UcService(ServiceFraming):
    cdef dict _endpoints, _places
