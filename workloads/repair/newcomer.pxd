cimport cython

from workloads.datagrams.answer cimport acknowledgement_of
from workloads.datagrams.arrival cimport Arrival
from workloads.kernels cimport bit_of
from workloads.repair.base cimport RepairHost
from workloads.wire.inspected cimport nearest_packet

cdef long long _DATA, _RESULT, _REMINDER


cdef class Newcomer(RepairHost):
    cdef public object _block, _leaving
    cdef public list _inside, _entered
    cdef public dict _early
    cdef public long long _first_block
    cdef object _columns
    cdef bint _combined
    cdef long long _everyone, _blocks, _missing, _elements, _symbol_words
    cdef dict _ranks
    cdef list _templates

    cpdef take_packet(self, Arrival found, long long now)
    cpdef bytes give(self, long long now)
    cdef bint _can_be(self, Arrival found) except -1
    cpdef bint has(self, long long packet, long long bitmap) except -1
    @cython.locals(own=cython.longlong, bitmap=cython.longlong)
    cpdef take_symbols(self, Arrival found, long long packet, long long now)
    cdef bint _is_ahead(self, long long own) except -1
    cdef long long _words_in(self, long long own) except? -1
    @cython.locals(bitmap=cython.longlong, rank=cython.longlong, entered=list)
    cdef _add(self, Arrival found, long long own)
    cpdef acknowledge(self, Arrival found, long long bitmap)
    cdef _complete_block(self, long long packet, long long own, long long slot, long long now)
