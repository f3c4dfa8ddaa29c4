cimport cython


cdef class PcapngWriter:
    cdef public object _file
    cdef public dict _tails

    cpdef write_frame(self, long port, object frame, long long time_ns, bint outgoing, str comment=*)
    cpdef _write(self, bytes data)
    cpdef bytes _tail(self, long length, bint outgoing, str comment=*)
