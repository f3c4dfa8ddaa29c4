from workloads.datagrams.quantisation cimport Tensor
from workloads.datagrams.quick_worker cimport QuickWorker
from workloads.datagrams.slot_window cimport SlotWindow
from workloads.kernels cimport copy_bytes, finished, get8, get16, get32, new_draft, put8, put16, put32
from workloads.wire.inspected cimport (
    AT_EXPONENT0, AT_EXPONENT1, AT_FLAGS, AT_JOB, AT_KIND, AT_NELEM, AT_PAYLOAD, AT_SEQUENCE, AT_SLOT, AT_TENSOR,
    AT_VERSION, address_of, as_signed, is_sound, nearest_packet, seal,
)

cdef long long _DATA, _RESULT, _EXPONENTS, _POLICY, _VERSION_FLAG, _SEQUENCES


cdef class SwitchMlWorker(QuickWorker):
    cdef public object _config, _framing, _leaving
    cdef public long long _first_slot, _address
    cdef public bint _is_uc
    cdef public bytes _template

    cdef _take_other(self, bytes frame, long long now)
    cdef _refuse(self, long long kind, long long job, long long policy)
    cdef _take_result(self, long long sequence, long long slot, long long flags, long long count, long long first,
                      long long second, bytes frame, Py_ssize_t at, long long now)
    cdef bytes _encode(self, long long packet)
    cdef bytes _encode_uc(self, long long own, long long sequence, long long slot, long long flags)
