/* The compiled bodies of kernels.py: what touches each byte of a payload. Every step is the IEEE 754 or integer
 * operation that NumPy does, in the same order per element. */
#ifndef INA_KERNELS_H
#define INA_KERNELS_H

#include <stdint.h>
#include <string.h>
#include <math.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

static inline uint32_t ina_swapped(uint32_t word)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return __builtin_bswap32(word);
#else
    return word;
#endif
}

static inline uint32_t ina_get32(const uint8_t *at)
{
    uint32_t word;

    memcpy(&word, at, 4);
    return ina_swapped(word);
}

static inline uint32_t ina_get16(const uint8_t *at)
{
    return (uint32_t)at[0] << 8 | at[1];
}

static inline void ina_put32(uint8_t *at, uint32_t value)
{
    value = ina_swapped(value);
    memcpy(at, &value, 4);
}

static inline void ina_put16(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

/* RFC 1071: the sum of 16-bit words modulo 0xffff; an odd byte at the end counts as the upper half of a word. */
static inline uint32_t ina_words_sum(const uint8_t *data, int64_t size)
{
    uint64_t total = 0;
    int64_t i = 0;

    for (; i + 4 <= size; i += 4) {
        uint32_t word;

        memcpy(&word, data + i, 4);
        total += word;
    }
    total %= 0xffff;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    total = total * 256 % 0xffff;
#endif
    if (i + 2 <= size) {
        total += ina_get16(data + i);
        i += 2;
    }
    if (i < size)
        total += (uint32_t)data[i] << 8;
    return (uint32_t)(total % 0xffff);
}

static inline void ina_swap_words(uint32_t *target, const uint8_t *words, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        uint32_t word;

        memcpy(&word, words + 4 * i, 4);
        target[i] = ina_swapped(word);
    }
}

static inline void ina_write_words(uint8_t *words, const int32_t *source, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        uint32_t word = ina_swapped((uint32_t)source[i]);

        memcpy(words + 4 * i, &word, 4);
    }
}

static inline void ina_add_words(uint32_t *total, const uint8_t *words, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        uint32_t word;

        memcpy(&word, words + 4 * i, 4);
        total[i] += ina_swapped(word);
    }
}

static inline void ina_quantise(uint8_t *words, const float *values, int64_t count, double scale)
{
    int64_t i = 0;
#ifdef __SSE2__
    const __m128d factor = _mm_set1_pd(scale);

    for (; i + 4 <= count; i += 4) { /* to nearest, ties to even: the mode of the processor */
        __m128 four = _mm_loadu_ps(values + i);
        __m128i low = _mm_cvtpd_epi32(_mm_mul_pd(_mm_cvtps_pd(four), factor));
        __m128i high = _mm_cvtpd_epi32(_mm_mul_pd(_mm_cvtps_pd(_mm_movehl_ps(four, four)), factor));
        __m128i all = _mm_unpacklo_epi64(low, high);

        all = _mm_or_si128(_mm_slli_epi16(all, 8), _mm_srli_epi16(all, 8));
        all = _mm_shufflehi_epi16(_mm_shufflelo_epi16(all, _MM_SHUFFLE(2, 3, 0, 1)), _MM_SHUFFLE(2, 3, 0, 1));
        _mm_storeu_si128((__m128i *)(words + 4 * i), all);
    }
#endif
    for (; i < count; i++)
        ina_put32(words + 4 * i, (uint32_t)(int32_t)rint((double)values[i] * scale));
}

static inline void ina_dequantise(float *result, const uint8_t *words, int64_t count, double scale)
{
    for (int64_t i = 0; i < count; i++)
        result[i] = (float)((double)(int32_t)ina_get32(words + 4 * i) / scale);
}

#endif
