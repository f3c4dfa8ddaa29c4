cimport cython

from testbed.faults.gate cimport Gate
from testbed.worlds.simulated.node cimport SimulatedNode
from testbed.worlds.simulated.wire cimport Wire

cdef long long _LOST, _WAKE, _ENTER


cdef class HostNode(SimulatedNode):
    @cython.locals(wire=Wire)
    cpdef _let_leave(self)


cdef class SwitchNode(SimulatedNode):
    cdef public object _ingress, _egress, _tap, _queue_drops
    cdef public list _gates, _ports
    cdef public long long[::1] _appointed

    cdef _know(self, Py_ssize_t port)
    @cython.locals(gate=Gate)
    cpdef _pass(self, Py_ssize_t port, bytes frame, bint outgoing)
    cdef _tell_gone(self, Py_ssize_t port, bytes frame, bint outgoing)
    cpdef _admit(self, Py_ssize_t port, bytes frame, bint outgoing)
    cpdef _go_on(self, Py_ssize_t port, bytes frame, bint outgoing, long long at)
    cpdef _hold(self, long long until, Py_ssize_t port, bytes frame, bint outgoing)
    cpdef _enter(self, Py_ssize_t port, bytes frame)
    @cython.locals(wire=Wire)
    cpdef _leave(self, Py_ssize_t port, bytes frame)
    cpdef _depart(self, Py_ssize_t port, bytes frame)
