cimport cython

from workloads.datagrams.arrival cimport Arrival
from workloads.datagrams.slot_window cimport SlotWindow
from workloads.kernels cimport copy_bytes, finished, new_draft, put16, put32
from workloads.repair.base cimport RepairHost
from workloads.wire.inspected cimport AT_NELEM, AT_PAYLOAD, AT_SEQUENCE, AT_SLOT, nearest_packet, seal

cdef long long _ACK, _SEQUENCES


cdef class Donor(RepairHost):
    cdef public SlotWindow _window
    cdef public long long _coefficient
    cdef bytes _symbol, _template
    cdef long long _full, _first_slot

    @cython.locals(window=SlotWindow)
    cpdef take_packet(self, Arrival found, long long now)
    @cython.locals(window=SlotWindow)
    cpdef bytes give(self, long long now)
    @cython.locals(start=cython.longlong, size=cython.longlong)
    cdef bytes _encode(self, long long packet)
