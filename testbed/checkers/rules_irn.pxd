cimport cython

from testbed.checkers.frames cimport RoceFrame
from testbed.checkers.rules cimport Sighting
from testbed.checkers.rules_hosts cimport ConnectionRules


cdef class IrnConnectionRules(ConnectionRules):
    cpdef _grammar(self, object packet, Sighting seen)
    cpdef left(self, RoceFrame frame)
    @cython.locals(psn="long long")
    cpdef _await_answer(self, RoceFrame frame)
    @cython.locals(cumulative="long long", selective="long long")
    cpdef answered(self, RoceFrame frame, Sighting seen)
    cpdef _count(self, object psn, Sighting seen)
    cpdef _asked_for(self, RoceFrame frame)
