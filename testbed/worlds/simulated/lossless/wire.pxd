cimport cython

from switch_nodes.lossless.pauses cimport PauseState
from testbed.worlds.simulated.lossless.charge cimport Charge
from testbed.worlds.simulated.lossless.rows cimport ClassRows
from testbed.worlds.simulated.wire cimport Station, Wire

cdef long long _BITS_NS, _END, _ARRIVE, _TICK, _POLL, _HELD
cdef bytes _IPV4
cdef Py_ssize_t _TYPE_AT, _IP_AT, _SRC_AT, _DST_AT, _DST_END


cdef class LosslessWire(Wire):
    cdef public PauseState pauses
    cdef public object watchdog, on_pause_end, on_watchdog
    cdef public long long delay_ns, flight_ns, control_frames
    cdef public Charge offered, _charge
    cdef public list watchdog_dropped, held_up, _dropped_by_watchdog, _before_pull
    cdef public dict flows
    cdef public object _lossless, _control
    cdef public ClassRows _rows
    cdef Station _puller, _station
    cdef Py_ssize_t _station_port
    cdef bint _is_polled

    cpdef long long class_of(self, object frame)
    cpdef leads_to(self, Station station, Py_ssize_t port)
    cpdef fed_by(self, Station station)
    @cython.locals(charge=Charge, layer_class=cython.longlong, pfc_class=cython.longlong, waiting=cython.longlong)
    cpdef str send(self, bytes frame)
    cpdef send_control(self, bytes frame)
    cpdef kick(self)
    cpdef act(self, long long what, object argument)
    cpdef long long _waiting_in(self, long long layer_class)
    @cython.locals(paused_ns=cython.longlong)
    cpdef _put(self, long long layer_class, bytes frame, Charge charge)
    cdef _look(self, long long now)
    cdef _report(self)
    cpdef _begin_next(self)
    @cython.locals(taken=tuple, now=cython.longlong, layer_class=cython.longlong, paused_ns=cython.longlong)
    cdef object _choose(self)
    @cython.locals(now=cython.longlong, layer_class=cython.longlong, pfc_class=cython.longlong, frame=bytes,
                   total=cython.longlong)
    cdef object _pull(self, Station puller)
    @cython.locals(is_open=cython.bint, layer_class=cython.longlong, pfc_class=cython.longlong)
    cdef bint _may_pull(self, long long now)
    cdef _note_wait(self, bytes frame, long long waited)
    @cython.locals(bits=cython.longlong, duration=cython.longlong)
    cdef _begin_control(self, bytes frame)
    @cython.locals(charge=Charge)
    cdef _ended(self, bytes frame)
    cdef _arrive(self, bytes frame)
