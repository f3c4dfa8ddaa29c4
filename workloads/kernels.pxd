# The compiled bodies of kernels.py, whose docstrings say what each does.
from cpython.array cimport array as array_of_numbers, clone
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy


cdef extern from "kernels.h" nogil:
    uint32_t ina_get16(const uint8_t *at)
    uint32_t ina_get32(const uint8_t *at)
    void ina_put16(uint8_t *at, uint32_t value)
    void ina_put32(uint8_t *at, uint32_t value)
    uint32_t ina_words_sum(const uint8_t *data, int64_t size)
    void ina_swap_words(uint32_t *target, const uint8_t *words, int64_t count)
    void ina_write_words(uint8_t *words, const int32_t *source, int64_t count)
    void ina_add_words(uint32_t *total, const uint8_t *words, int64_t count)
    void ina_quantise(uint8_t *words, const float *values, int64_t count, double scale)
    void ina_dequantise(float *result, const uint8_t *words, int64_t count, double scale)
    void ina_largest_exponents(int64_t *found, int64_t count, const float *values, int64_t size, int64_t half)
    void ina_draw_words(uint32_t *words, int64_t count, uint64_t first, uint64_t key0, uint64_t key1)
    void ina_shape_floats(uint32_t *words, int64_t count)


cdef extern from *:
    """
    #define INA_NEVER 0x7fffffffffffffffLL
    """
    const long long NEVER "INA_NEVER"


cdef inline uint8_t *data_of(bytes frame) noexcept:
    return <uint8_t *><char *>frame


cdef inline bytes new_draft(Py_ssize_t size):
    return PyBytes_FromStringAndSize(NULL, size)


cdef inline bytes finished(bytes draft):
    return draft


cdef inline void copy_bytes(bytes draft, Py_ssize_t at, bytes source, Py_ssize_t start, Py_ssize_t size) noexcept:
    memcpy(data_of(draft) + at, data_of(source) + start, size)


cdef inline long long bit_of(long long rank) noexcept:
    return <long long>1 << rank


cdef inline uint32_t get8(bytes frame, Py_ssize_t at) noexcept:
    return data_of(frame)[at]


cdef inline uint32_t get16(bytes frame, Py_ssize_t at) noexcept:
    return ina_get16(data_of(frame) + at)


cdef inline uint32_t get32(bytes frame, Py_ssize_t at) noexcept:
    return ina_get32(data_of(frame) + at)


cdef inline void put8(bytes draft, Py_ssize_t at, long long value) noexcept:
    data_of(draft)[at] = <uint8_t>value


cdef inline void put16(bytes draft, Py_ssize_t at, long long value) noexcept:
    ina_put16(data_of(draft) + at, <uint32_t>value)


cdef inline void put32(bytes draft, Py_ssize_t at, long long value) noexcept:
    ina_put32(data_of(draft) + at, <uint32_t>value)


cdef inline uint32_t words_sum(bytes frame, Py_ssize_t at, Py_ssize_t end) noexcept:
    return ina_words_sum(data_of(frame) + at, end - at)


cdef inline int32_t[::1] new_words(object template, Py_ssize_t count):
    return clone(<array_of_numbers>template, count, True)


cdef inline void read_words(int32_t[::1] values, Py_ssize_t first, bytes frame, Py_ssize_t at, Py_ssize_t count) noexcept:
    if count:
        ina_swap_words(<uint32_t *>&values[first], data_of(frame) + at, count)


cdef inline void add_words(int32_t[::1] values, Py_ssize_t first, bytes frame, Py_ssize_t at, Py_ssize_t count) noexcept:
    if count:
        ina_add_words(<uint32_t *>&values[first], data_of(frame) + at, count)


cdef inline void write_words(bytes draft, Py_ssize_t at, const int32_t[::1] values, Py_ssize_t first,
                             Py_ssize_t count) noexcept:
    if count:
        ina_write_words(data_of(draft) + at, &values[first], count)


cdef inline void quantise(bytes draft, Py_ssize_t at, const float[::1] values, Py_ssize_t first, Py_ssize_t count,
                          double scale) noexcept:
    if count:
        ina_quantise(data_of(draft) + at, &values[first], count, scale)


cdef inline void dequantise(float[::1] result, Py_ssize_t first, bytes frame, Py_ssize_t at, Py_ssize_t count,
                            double scale) noexcept:
    if count:
        ina_dequantise(&result[first], data_of(frame) + at, count, scale)


cdef inline void largest_exponents(long long[::1] found, const float[::1] values, Py_ssize_t half) noexcept:
    if found.shape[0] and values.shape[0]:
        ina_largest_exponents(<int64_t *>&found[0], found.shape[0], &values[0], values.shape[0], half)


cdef inline void draw_words(uint32_t[::1] words, unsigned long long first, unsigned long long key0,
                            unsigned long long key1) noexcept:
    if words.shape[0]:
        ina_draw_words(&words[0], words.shape[0], first, key0, key1)


cdef inline void shape_floats(uint32_t[::1] words) noexcept:
    if words.shape[0]:
        ina_shape_floats(&words[0], words.shape[0])
