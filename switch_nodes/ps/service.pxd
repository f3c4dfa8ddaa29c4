cimport cython

from switch_nodes.aggregators.arrival cimport Arrival
from switch_nodes.aggregators.served cimport ServedJob
from switch_nodes.aggregators.service cimport AggregatorService
from switch_nodes.ps.trees cimport TreeJob
from workloads.wire.inspected cimport addressed


cdef class PsService(AggregatorService):
    cpdef bytes _copy(self, Arrival a, object child, bytes frame)
    cpdef object place(self, ServedJob served, long long sequence)
