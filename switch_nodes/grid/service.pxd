cimport cython

from switch_nodes.aggregators.arrival cimport AggregatorArrival
from switch_nodes.aggregators.memory cimport Aggregator
from switch_nodes.aggregators.packets cimport with_flags
from switch_nodes.aggregators.steps cimport SlotService
from switch_nodes.grid.bucket cimport TokenBucket
from switch_nodes.grid.memory cimport MemoryRefused, slot_index
from switch_nodes.grid.packets cimport from_slot
from switch_nodes.grid.routes cimport RouteTable
from switch_nodes.grid.tally cimport Tally
from workloads.grid.node_shares cimport ShareTable
from workloads.kernels cimport NEVER, bit_of, get8
from workloads.wire.inspected cimport AT_KIND, AT_PAYLOAD, address_of, addressed, is_sound

cdef long long _ADDRESSED, _HALF, _DATA, _EXPONENTS, _RESULT, _RESEND, _COLLISION, _GRID
cdef object _NEW, _COMPLETING, _REPEAT, _REFUSED, _RESULT_OWN, _RESULT_OTHER, _RESEND_OWN, _RESEND_OTHER


cdef class GridService(SlotService):
    cdef public object grid, _to_come
    cdef public Tally tally
    cdef public TokenBucket bucket
    cdef public MemoryRefused refused
    cdef public RouteTable _routes
    cdef public ShareTable _shares
    cdef long long _job, _node, _window, _address, _group, _ports, _slots, _added_bytes
    cdef public long long _next_sample
    cdef long long[::1] _in, _out
    cdef bytes _head
    cdef list _added

    @cython.locals(ports=tuple)
    cpdef take(self, Py_ssize_t port, bytes frame, long long now)
    cpdef forward_plainly(self, long long port, bytes frame)
    @cython.locals(a=AggregatorArrival)
    cdef _hear(self, long long port, bytes frame)
    @cython.locals(slot=Aggregator)
    cpdef bint frees(self, AggregatorArrival a) except -1
    @cython.locals(a=AggregatorArrival)
    cdef _receive(self, long long port, bytes frame)
    @cython.locals(job=Tally)
    cpdef bint admit(self, AggregatorArrival a) except -1
    @cython.locals(slot=Aggregator, own=cython.bint, ahead=cython.longlong)
    cpdef object judge(self, AggregatorArrival a)
    @cython.locals(slot=Aggregator)
    cpdef Aggregator add(self, AggregatorArrival a)
    @cython.locals(slot=Aggregator)
    cpdef send_sum(self, AggregatorArrival a)
    @cython.locals(slot=Aggregator)
    cpdef flush(self, AggregatorArrival a)
    cpdef pass_on(self, AggregatorArrival a)
    cpdef bypass(self, AggregatorArrival a)
    @cython.locals(slot=Aggregator)
    cpdef collide(self, AggregatorArrival a)
    cpdef turn_away(self, AggregatorArrival a)
    cpdef reclaim(self, AggregatorArrival a)
    cpdef free(self, AggregatorArrival a)
    cpdef stay(self, AggregatorArrival a)
    cpdef go_around(self, AggregatorArrival a, long long bitmap)
    cpdef _send_slot(self, AggregatorArrival a, Aggregator slot, str reason, long long flags)
    cdef _send_on(self, AggregatorArrival a, long long flags)
    cdef _route_own(self, bytes frame)
    @cython.locals(port=cython.longlong)
    cdef _leave_by(self, tuple ports, bytes frame)
    cpdef send(self, long long port, bytes frame)
    cdef long long _known(self, long long port) except -1
