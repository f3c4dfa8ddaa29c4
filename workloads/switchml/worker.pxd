from workloads.datagrams.quantisation cimport Tensor
from workloads.datagrams.quick_worker cimport QuickWorker
from workloads.datagrams.slot_window cimport SlotWindow
from workloads.switchml.framing cimport Arrival, HostFraming
from workloads.wire.inspected cimport nearest_packet

cdef long long _RESULT, _POLICY, _VERSION_FLAG, _SEQUENCES


cdef class SwitchMlWorker(QuickWorker):
    cdef public object _config
    cdef public long long _first_slot
    cdef HostFraming _framing
    cdef Arrival _found

    cpdef long long packet_of(self, long long sequence)
    cpdef bint is_placed(self, long long packet, long long slot, long long flags)
    cdef bytes _write(self, long long packet)
