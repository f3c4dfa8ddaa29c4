from workloads.datagrams.packet_window cimport PacketWindow
from workloads.datagrams.quantisation cimport Tensor
from workloads.datagrams.quick_host cimport QuickHost


cdef class QuickWorker(QuickHost):
    cdef public object _fixed_scale
    cdef public long long _block
    cdef public PacketWindow _window
    cdef public Tensor _tensor
    cdef public bint _is_layered
    cdef public long long _total

    cpdef bint may_leave(self, long long packet)
    cpdef put(self, long long packet, long long first, long long second, bytes frame, Py_ssize_t at, Py_ssize_t count,
              long long now)
