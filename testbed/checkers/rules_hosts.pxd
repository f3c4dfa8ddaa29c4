cimport cython

from workloads.rc.captured cimport RoceFrame
from testbed.checkers.rules cimport PsnClock, Sighting


cdef long _ACK, _RNR, _NAK, _SEQUENCE_NAK


cdef class Sent:
    cdef public long opcode, payload_bytes
    cdef public long long reth_length
    cdef public bint starts
    cdef public bytes extensions
    cdef public object payload


cdef class ConnectionRules:
    cdef public bint _sees_sender, _sees_trims, _in_order
    cdef public object _violations, _msn
    cdef public long _path_mtu, _window
    cdef public PsnClock _clock
    cdef public dict _sent, _naks, _returns, _owed, _unanswered, _whole, _trimmed
    cdef public tuple _message
    cdef public set _left_ahead
    cdef public long long _kept_from, _next_sent, _next_left, _highest_left, _covered

    @cython.locals(psn="long long", in_flight="long long", now=Sent, before=Sent, ordered=Sent)
    cpdef sent(self, RoceFrame frame, object payload, Sighting seen)
    cpdef _compare(self, Sent before, Sent now, Sighting seen)
    @cython.locals(size="long long", mtu="long long", total="long long", announced="long long", least="long long")
    cpdef _grammar(self, Sent packet, Sighting seen)
    @cython.locals(psn="long long")
    cpdef left(self, RoceFrame frame)
    @cython.locals(psn="long long", covers="long long", syndrome=long, kind=long)
    cpdef answered(self, RoceFrame frame, Sighting seen)
    cpdef answer_left(self, RoceFrame frame, Sighting seen)
    cpdef answer_lost(self, RoceFrame frame)
    cpdef _asked_for(self, RoceFrame frame)
    cpdef _asks_for_trimmed(self, object psn)
    cpdef _note_return(self, object psn)
