cimport cython

from workloads.rc.passing cimport PassingData, PassingFrame, read_passing


cdef class DataPacket:
    cdef public object frame
    cdef public Py_ssize_t port, payload_at
    cdef public PassingData data
    cdef public tuple edges
    cdef public long long qpn, psn


cdef object _WHOLE, _OTHER, _NOT_DATA, _FOREIGN, _DATA
cdef dict _DAMAGE

@cython.locals(found=PassingFrame, edges=tuple, here=list, data=PassingData)
cdef tuple _read(dict known, Py_ssize_t port, object frame)
