from testbed.worlds.simulated.agenda cimport Agenda
from testbed.worlds.simulated.wire cimport Station, Wire
from workloads.kernels cimport NEVER
from workloads.quick cimport Quick

cdef long long _WAKE


cdef class SimulatedNode(Station):
    cdef public str name
    cdef public long long _actor
    cdef public Agenda _agenda
    cdef public object _make, _tell, _machine
    cdef public dict wires
    cdef public long long _armed
    cdef public Quick _quick
    cdef public object _backlog
    cdef public bint alive, paused, _by_verbs
    cdef public long long _frames_in, _bytes_in, _overflows, _told, wakeups
    cdef public long long _most_at_once, _most_told
    cdef object _wakes

    cpdef attach(self, Py_ssize_t port, Wire wire)
    cpdef settle(self)
    cpdef settle_now(self)
    cpdef _take(self, Py_ssize_t port, bytes frame)
    cpdef _let_leave(self)
    cpdef _tell_events(self)
    cpdef _hear(self, object event)
    cpdef long long armed(self)
    cpdef set_armed(self, long long when)
    cpdef long long _due(self) except? -2
    cpdef _arm(self)
    cpdef _wake(self)
