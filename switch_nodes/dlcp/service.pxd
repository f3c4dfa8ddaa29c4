cimport cython

from switch_nodes.dlcp.slots cimport Slot, SlotPool
from switch_nodes.forwarding.macs cimport MacTable
from workloads.datagrams.arrival cimport Arrival
from workloads.kernels cimport NEVER, bit_of, copy_bytes, finished, get8, new_draft, put8, put32
from workloads.quick cimport Quick
from workloads.wire.inspected cimport AT_BITMAP0, AT_PAYLOAD, AT_VERSION, is_sound, seal

cdef long long _DLCP, _DATA, _RESEND, _TOS


cdef class DlcpService(Quick):
    cdef public dict served, _counters
    cdef public long long _now
    cdef MacTable _macs
    cdef Arrival _found

    @cython.locals(a=Arrival, pool=SlotPool, rank=cython.longlong)
    cpdef take(self, Py_ssize_t port, bytes frame, long long now)
    cdef long long _sender(self, SlotPool pool, Arrival a) except? -2
    @cython.locals(slot=Slot)
    cpdef add(self, SlotPool pool, Arrival a, long long rank, long long port)
    @cython.locals(end=cython.longlong, contributions=list, total=bytes, frame=bytes)
    cpdef send(self, SlotPool pool, Slot slot, str reason)
    @cython.locals(pool=SlotPool, first=cython.longlong, due=cython.longlong)
    cpdef long long due(self) except? -2
    @cython.locals(pool=SlotPool, slot=Slot)
    cpdef wake(self, long long now)
    cdef _pass_time(self, long long now)
    cdef _ignore(self, object event)
    cdef _count(self, str name)
