cimport cython

from workloads.datagrams.quantisation cimport Tensor
from workloads.datagrams.quick_worker cimport QuickWorker
from workloads.datagrams.slot_window cimport SlotWindow
from workloads.datagrams.arrival cimport Arrival
from workloads.switchml.framing cimport HostFraming
from workloads.wire.inspected cimport nearest_packet

cdef long long _RESULT, _POLICY, _VERSION_FLAG, _SEQUENCES, _EMPTY, _UNWANTED


cdef class SwitchMlWorker(QuickWorker):
    cdef public object _config
    cdef public long long _first_slot
    cdef HostFraming _framing
    cdef Arrival _found
    cdef bint _omits
    cdef long long[::1] _parts

    @cython.locals(window=SlotWindow)
    cpdef take(self, Py_ssize_t port, bytes frame, long long now)
    @cython.locals(window=SlotWindow)
    cpdef bytes give(self, long long now)
    cpdef long long omission(self, long long own) except -1
    cpdef long long packet_of(self, long long sequence)
    @cython.locals(window=SlotWindow)
    cpdef bint is_placed(self, long long packet, long long slot, long long flags)
    @cython.locals(window=SlotWindow)
    cdef bytes _write(self, long long packet)
