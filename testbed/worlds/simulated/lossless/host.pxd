cimport cython

from testbed.worlds.simulated.lossless.wire cimport LosslessWire
from testbed.worlds.simulated.nodes cimport HostNode

cdef long long _REMIND, _TAKE, _STORM, _BITS_NS


cdef class LosslessHost(HostNode):
    cdef public object hooks, held_up
    cdef public bytes mac
    cdef public dict links, _storms
    cdef long long _rate_bps, _quanta
    cdef object _buffer, _asking, _queue

    cpdef act(self, long long what, object argument)
    @cython.locals(wire=LosslessWire)
    cpdef arrive(self, Py_ssize_t port, bytes frame)
