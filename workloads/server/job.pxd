cimport cython

from workloads.datagrams.slots cimport SlotTable
from workloads.datagrams.arrival cimport Arrival
from workloads.server.block cimport Block
from workloads.server.held cimport HeldBack
from workloads.server.sender cimport JobSender

cdef long long _DATA, _EXPONENTS, _RESULT, _NACK, _REMINDER, _EMPTY, _RESEND, _COLLISION, _EVICTED, _ECN, _OVERFLOW
cdef long long _CAUSES
cdef object _UNKNOWN, _OPEN, _DONE, _LOST, _IS_COPY, _IS_NEW, _IS_COMPLETING, _IS_WHOLE, _IS_ASKED, _IS_STRAY


cdef class JobServer(JobSender):
    cdef public object _broken_at
    cdef dict _counts, _kinds
    cdef public HeldBack _held
    cdef public bint _trace, _asks, _strict
    cdef public long long newest
    cdef long long _window, _policy, _op, _elements, _memory
    cdef public list _blocks, _timers, events
    cdef public dict _open
    cdef public SlotTable _slots
    cdef Arrival _time
    cdef long long[::1] _after, _actions
    cdef list _handlers

    cpdef count(self, str name, long long more)
    cpdef bint fits(self, Arrival a)
    cpdef get_timer(self)
    cdef bint _names_workers(self, Arrival a) except -1
    @cython.locals(block=Block)
    cpdef receive(self, long long number, Arrival a, long long now)
    @cython.locals(found=Block, fresh=Block)
    cpdef Block _find(self, long long number)
    cdef Block _empty(self, long long number)
    cpdef object _classify(self, Block block, long long number, Arrival a)
    @cython.locals(step=cython.longlong, action=cython.longlong)
    cpdef _step(self, Block block, object event, Arrival a, long long now)
    cpdef store(self, Block block, Arrival a, long long now)
    cpdef add(self, Block block, Arrival a, long long now)
    cpdef add_and_send(self, Block block, Arrival a, long long now)
    cpdef swap(self, Block block, Arrival a, long long now)
    cpdef swap_and_send(self, Block block, Arrival a, long long now)
    cpdef replace_and_send(self, Block block, Arrival a, long long now)
    cpdef keep(self, Block block, Arrival a, long long now)
    cpdef replay(self, Block block, Arrival a, long long now)
    cpdef remind(self, Block block, Arrival a, long long now)
    cpdef ask_missing(self, Block block, Arrival a, long long now)
    cpdef _ask_missing(self, Block block)
    cpdef give_up(self, Block block, Arrival a, long long now)
    cpdef tell_lost(self, Block block, Arrival a, long long now)
    cpdef tell_gone(self, Block block, Arrival a, long long now)
    cpdef pass_over(self, Block block, Arrival a, long long now)
    cpdef drop_overlap(self, Block block, Arrival a, long long now)
    cpdef _hold(self, Block block, long long slot)
    cpdef _complete(self, Block block, long long now)
    @cython.locals(other=Block)
    cpdef _seal(self, Block block, long long now)
    cpdef _refuse(self, Block block, object bitmap)
    cpdef _arm(self, Block block, long long deadline)
    cdef str _kind_of(self, Arrival a)
