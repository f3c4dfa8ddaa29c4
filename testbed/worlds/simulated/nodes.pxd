cimport cython

from testbed.faults.gate cimport Gate
from testbed.worlds.simulated.agenda cimport Agenda
from testbed.worlds.simulated.wire cimport Station, Wire
from workloads.kernels cimport NEVER
from workloads.quick cimport Quick

cdef long long _WAKE, _ENTER


cdef class Node(Station):
    cdef public str name
    cdef public long long _actor
    cdef public Agenda _agenda
    cdef public object _make, _tell, _machine
    cdef public dict wires
    cdef public long long _armed
    cdef public Quick _quick
    cdef public object _backlog
    cdef public bint alive, paused
    cdef public long long _frames_in, _bytes_in, _overflows

    cpdef attach(self, Py_ssize_t port, Wire wire)
    cpdef settle(self)
    cpdef settle_now(self)
    cpdef _take(self, Py_ssize_t port, bytes frame)
    cpdef _let_leave(self)
    cpdef _tell_events(self)
    cpdef long long armed(self)
    cpdef set_armed(self, long long when)
    cpdef long long _due(self) except? -2
    cpdef _arm(self)
    cpdef _wake(self)


cdef class HostNode(Node):
    @cython.locals(wire=Wire)
    cpdef _let_leave(self)


cdef class SwitchNode(Node):
    cdef public object _ingress, _egress, _tap, _queue_drops
    cdef list _gates, _ports
    cdef public long long[::1] _appointed

    cdef _know(self, Py_ssize_t port)
    @cython.locals(gate=Gate)
    cpdef _pass(self, Py_ssize_t port, bytes frame, bint outgoing)
    cpdef _admit(self, Py_ssize_t port, bytes frame, bint outgoing)
    cpdef _go_on(self, Py_ssize_t port, bytes frame, bint outgoing, long long at)
    cpdef _hold(self, long long until, Py_ssize_t port, bytes frame, bint outgoing)
    cpdef _enter(self, Py_ssize_t port, bytes frame)
    @cython.locals(wire=Wire)
    cpdef _leave(self, Py_ssize_t port, bytes frame)
    cpdef _depart(self, Py_ssize_t port, bytes frame)
    cpdef _tell_own(self, object event)
