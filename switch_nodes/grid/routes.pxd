cimport cython

from workloads.kernels cimport get8, get16
from workloads.wire.inspected cimport address_of

cdef long long _LEAST, _IPV4, _NO_OPTIONS, _UDP, _PORT, _ANY, _TYPE_AT, _VERSION_AT, _PROTOCOL_AT, _PORT_AT


cdef class RouteTable:
    cdef dict _ways

    @cython.locals(ways=dict, ports=tuple)
    cpdef tuple find(self, bytes frame)
