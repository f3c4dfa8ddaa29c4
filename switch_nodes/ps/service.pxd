cimport cython

from switch_nodes.aggregators.arrival cimport AggregatorArrival
from switch_nodes.aggregators.served cimport ServedJob
from switch_nodes.aggregators.service cimport AggregatorService
from switch_nodes.ps.trees cimport TreeJob
from workloads.wire.inspected cimport addressed


cdef class PsService(AggregatorService):
    # A program may have several bases. CPython lets the base with most fields make its instances: were there none here,
    # it could be AggregatorService, whose table of methods lacks those below.
    cdef bint _in_trees

    cpdef object place(self, ServedJob served, long long sequence)
