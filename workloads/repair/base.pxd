from workloads.datagrams.arrival cimport Arrival
from workloads.datagrams.quick_host cimport QuickHost
from workloads.wire.inspected cimport address_of

cdef long long _REPAIR


cdef class RepairHost(QuickHost):
    cdef public object _config, _code
    cdef long long _donors, _address
    cdef Arrival _found

    cpdef take(self, Py_ssize_t port, bytes frame, long long now)
    cpdef take_packet(self, Arrival found, long long now)
