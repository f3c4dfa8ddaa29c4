from workloads.datagrams.packet_window cimport PacketWindow
from workloads.datagrams.quantisation cimport Tensor
from workloads.kernels cimport NEVER
from workloads.quick cimport Quick


cdef class QuickWorker(Quick):
    cdef public object _share, _training, _fixed_scale
    cdef public long long _job, _rank, _size, _block
    cdef public PacketWindow _window
    cdef public Tensor _tensor
    cdef public bint _failed, _is_layered, _awaits
    cdef public long long _ready, _total, _iteration, _training_due
    cdef public long long _sent, _sent_again, _results, _duplicates, _timeouts, _rejected

    cpdef begin(self, long long now)
    cpdef complete(self, long long now)
    cpdef fail(self, str reason, str detail)
    cdef _follow(self)
    cpdef bint may_leave(self, long long packet)
    cpdef put(self, long long packet, long long first, long long second, bytes frame, Py_ssize_t at, Py_ssize_t count,
              long long now)
    cpdef reject(self, str reason, str detail)
