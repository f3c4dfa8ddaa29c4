from switch_nodes.aggregators.served cimport ServedJob
from workloads.datagrams.arrival cimport Arrival

cdef long long _ECN


cdef class AggregatorArrival(Arrival):
    cdef public ServedJob served
    cdef public long long rank, port, block
    cdef public object wanted
    cdef object _found

    cpdef meet(self, long long port, bytes frame)
    cpdef long long flags_with(self, long long added)
