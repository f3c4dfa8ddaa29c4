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

#ifdef __SSE2__
/* Four words in the other byte order. */
static inline __m128i ina_swapped_four(__m128i words)
{
    words = _mm_or_si128(_mm_slli_epi16(words, 8), _mm_srli_epi16(words, 8));
    return _mm_shufflehi_epi16(_mm_shufflelo_epi16(words, _MM_SHUFFLE(2, 3, 0, 1)), _MM_SHUFFLE(2, 3, 0, 1));
}
#endif

/* RFC 1071: the sum of 16-bit words modulo 0xffff; an odd byte at the end counts as the upper half of a word. */
static inline uint32_t ina_words_sum(const uint8_t *data, int64_t size)
{
    uint64_t total = 0;
    int64_t i = 0;
#ifdef __SSE2__
    const __m128i zero = _mm_setzero_si128();
    __m128i sums[4] = {zero, zero, zero, zero};
    uint64_t halves[2];

    for (; i + 32 <= size; i += 32) {
        __m128i four = _mm_loadu_si128((const __m128i *)(data + i));
        __m128i next = _mm_loadu_si128((const __m128i *)(data + i + 16));

        sums[0] = _mm_add_epi64(sums[0], _mm_unpacklo_epi32(four, zero));
        sums[1] = _mm_add_epi64(sums[1], _mm_unpackhi_epi32(four, zero));
        sums[2] = _mm_add_epi64(sums[2], _mm_unpacklo_epi32(next, zero));
        sums[3] = _mm_add_epi64(sums[3], _mm_unpackhi_epi32(next, zero));
    }
    sums[0] = _mm_add_epi64(_mm_add_epi64(sums[0], sums[1]), _mm_add_epi64(sums[2], sums[3]));
    _mm_storeu_si128((__m128i *)halves, sums[0]);
    total = halves[0] + halves[1];
#endif
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
    int64_t i = 0;
#ifdef __SSE2__
    for (; i + 4 <= count; i += 4) {
        __m128i four = ina_swapped_four(_mm_loadu_si128((const __m128i *)(words + 4 * i)));

        four = _mm_add_epi32(four, _mm_loadu_si128((const __m128i *)(total + i)));
        _mm_storeu_si128((__m128i *)(total + i), four);
    }
#endif
    for (; i < count; i++) {
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

        _mm_storeu_si128((__m128i *)(words + 4 * i), ina_swapped_four(_mm_unpacklo_epi64(low, high)));
    }
#endif
    for (; i < count; i++)
        ina_put32(words + 4 * i, (uint32_t)(int32_t)rint((double)values[i] * scale));
}

static inline void ina_dequantise(float *result, const uint8_t *words, int64_t count, double scale)
{
    int64_t i = 0;
#ifdef __SSE2__
    const __m128d divisor = _mm_set1_pd(scale);

    for (; i + 4 <= count; i += 4) {
        __m128i four = ina_swapped_four(_mm_loadu_si128((const __m128i *)(words + 4 * i)));
        __m128d low = _mm_div_pd(_mm_cvtepi32_pd(four), divisor);
        __m128d high = _mm_div_pd(_mm_cvtepi32_pd(_mm_unpackhi_epi64(four, four)), divisor);

        _mm_storeu_ps(result + i, _mm_movelh_ps(_mm_cvtpd_ps(low), _mm_cvtpd_ps(high)));
    }
#endif
    for (; i < count; i++)
        result[i] = (float)((double)(int32_t)ina_get32(words + 4 * i) / scale);
}

/* found[k]: the largest biased exponent among the `half` values from k * half on; missing values are zeros. */
static inline void ina_largest_exponents(int64_t *found, int64_t count, const float *values, int64_t size, int64_t half)
{
    const int32_t *bits = (const int32_t *)values;

    for (int64_t k = 0, first = 0; k < count; k++, first += half) {
        int64_t end = first + half < size ? first + half : size;
        int32_t largest = 0;

        for (int64_t i = first; i < end; i++) {
            int32_t magnitude = bits[i] & 0x7fffffff;

            largest = magnitude > largest ? magnitude : largest;
        }
        found[k] = largest >> 23;
    }
}

/* Philox4x64-10 (Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, SC 2011), as NumPy's: eight words for each
 * step of the counter, the first step is 1. */
static inline void ina_philox(uint32_t *words, uint64_t step, uint64_t key0, uint64_t key1)
{
    uint64_t c0 = step + 1, c1 = 0, c2 = 0, c3 = 0;
    uint64_t found[4];

    for (int round = 0; round < 10; round++) {
        unsigned __int128 low = (unsigned __int128)0xd2e7470ee14c6c93ull * c0;
        unsigned __int128 high = (unsigned __int128)0xca5a826395121157ull * c2;

        c0 = (uint64_t)(high >> 64) ^ c1 ^ key0;
        c1 = (uint64_t)high;
        c2 = (uint64_t)(low >> 64) ^ c3 ^ key1;
        c3 = (uint64_t)low;
        key0 += 0x9e3779b97f4a7c15ull;
        key1 += 0xbb67ae8584caa73bull;
    }
    found[0] = c0;
    found[1] = c1;
    found[2] = c2;
    found[3] = c3;
    memcpy(words, found, sizeof(found));
}

/* `count` words of the stream from word `first` on. */
static inline void ina_draw_words(uint32_t *words, int64_t count, uint64_t first, uint64_t key0, uint64_t key1)
{
    uint32_t block[8];
    uint64_t step = first / 8, skipped = first % 8;
    int64_t done = 0;

    if (skipped && count > 0) {
        ina_philox(block, step++, key0, key1);
        done = count < (int64_t)(8 - skipped) ? count : (int64_t)(8 - skipped);
        memcpy(words, block + skipped, 4 * done);
    }
    for (; done + 8 <= count; done += 8)
        ina_philox(words + done, step++, key0, key1);
    if (done < count) {
        ina_philox(block, step, key0, key1);
        memcpy(words + done, block, 4 * (count - done));
    }
}

/* As `shape_floats` of kernels.py says. */
static inline void ina_shape_floats(uint32_t *words, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        uint32_t word = words[i], kind = word >> 23 & 0xff, exponent = (kind & 0x1f) + 107;
        uint32_t shaped = (word & 0x807fffff) | exponent << 23;

        shaped = kind < 2 ? word & 0x807fffff : shaped;
        words[i] = (kind & 0xfe) == 2 ? 0x80000000 : shaped;
    }
}

#endif
