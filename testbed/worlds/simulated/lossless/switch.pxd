cimport cython

from switch_nodes.lossless.asking cimport Asking
from switch_nodes.lossless.buffer cimport Account, SharedBuffer
from testbed.worlds.simulated.lossless.charge cimport Charge
from testbed.worlds.simulated.lossless.wire cimport LosslessWire
from testbed.worlds.simulated.nodes cimport SwitchNode

cdef long long _REMIND
cdef Py_ssize_t _SRC_AT, _SRC_END
cdef bytes _SOURCE


cdef class LosslessSwitch(SwitchNode):
    cdef public object hooks
    cdef public bint charges_slots, _is_quiet
    cdef public SharedBuffer buffer
    cdef public Asking asking
    cdef public dict links, _held, _in_slots, _port_of, released_at
    cdef public tuple _hand
    cdef public Charge _offered

    cpdef act(self, long long what, object argument)
    cpdef arrive(self, Py_ssize_t port, bytes frame)
    @cython.locals(buffer=SharedBuffer, asking=Asking, wire=LosslessWire, pfc_class=cython.longlong, account=Account,
                   missing=cython.longlong, was_paused=cython.bint, hand=Charge)
    cpdef _enter(self, Py_ssize_t port, bytes frame)
    @cython.locals(charge=Charge)
    cpdef _depart(self, Py_ssize_t port, bytes frame)
    @cython.locals(hand=tuple, charge=Charge, wire=LosslessWire, account=Account)
    cdef Charge _charge_of(self, bytes frame)
    cpdef _hold(self, long long until, Py_ssize_t port, bytes frame, bint outgoing)
    @cython.locals(wire=LosslessWire, charge=Charge)
    cpdef _leave(self, Py_ssize_t port, bytes frame)
    cpdef _released(self, Charge charge)
