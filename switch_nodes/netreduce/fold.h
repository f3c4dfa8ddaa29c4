/* The sum of a slot: workloads/collectives/arithmetic.py, to the bit. */
#ifndef INA_NETREDUCE_FOLD_H
#define INA_NETREDUCE_FOLD_H

#include "state.h"

/* `ranks` payloads of `count` elements, `stride` bytes apart. */

static void canonical_nans(float *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, values + i, 4);
        bits = (bits & 0x7FFFFFFF) > 0x7F800000 ? 0x7FC00000 : bits;
        memcpy(values + i, &bits, 4);
    }
}

static void sum_float32(float *restrict total, const uint8_t *rows, int64_t stride, int32_t ranks, int64_t count)
{
    memcpy(total, rows, (size_t)count * ELEMENT_BYTES);
    for (int32_t rank = 1; rank < ranks; rank++) {
        const float *restrict row = (const float *)(const void *)(rows + rank * stride);
        for (int64_t i = 0; i < count; i++)
            total[i] += row[i];
    }
    canonical_nans(total, count);
}

/* A float's bits, with all but the sign flipped when negative, order as integers: -0 below +0. */
static inline int32_t float_key(int32_t bits) { return bits ^ ((bits >> 31) & INT32_MAX); }

static void max_float32(int32_t *restrict top, const uint8_t *rows, int64_t stride, int32_t ranks, int64_t count)
{
    memcpy(top, rows, (size_t)count * ELEMENT_BYTES);
    for (int32_t rank = 1; rank < ranks; rank++) {
        const int32_t *restrict row = (const int32_t *)(const void *)(rows + rank * stride);
        for (int64_t i = 0; i < count; i++) {
            int nan = (top[i] & INT32_MAX) > 0x7F800000 || (row[i] & INT32_MAX) > 0x7F800000;
            int32_t larger = float_key(top[i]) >= float_key(row[i]) ? top[i] : row[i];
            top[i] = nan ? 0x7FC00000 : larger;
        }
    }
    canonical_nans((float *)(void *)top, count);
}

static void fold_integers(
    const struct netreduce_ring *ring, uint32_t *restrict total, const uint8_t *rows, int64_t stride, int64_t count)
{
    memcpy(total, rows, (size_t)count * ELEMENT_BYTES);
    for (int32_t rank = 1; rank < ring->size; rank++) {
        const uint32_t *restrict row = (const uint32_t *)(const void *)(rows + rank * stride);
        if (ring->op == OP_XOR)
            for (int64_t i = 0; i < count; i++)
                total[i] ^= row[i];
        else if (ring->op == OP_MAX)
            for (int64_t i = 0; i < count; i++)
                total[i] = (int32_t)total[i] > (int32_t)row[i] ? total[i] : row[i];
        else
            for (int64_t i = 0; i < count; i++)
                total[i] += row[i];
    }
}

static void sum_saturating(int32_t *total, const uint8_t *rows, int64_t stride, int32_t ranks, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t exact = 0;
        for (int32_t rank = 0; rank < ranks; rank++) {
            int32_t term;
            memcpy(&term, rows + rank * stride + i * ELEMENT_BYTES, 4);
            exact += term;
        }
        total[i] = exact > INT32_MAX ? INT32_MAX : exact < INT32_MIN ? INT32_MIN : (int32_t)exact;
    }
}

/* Into the same row of `into`: ring->value, or a leaf's ring->partial. */
static void fold(const struct netreduce_ring *ring, int64_t slot, uint8_t *into)
{
    uint8_t *value = into + slot * ring->row;
    const uint8_t *rows = ring->payload + slot * ring->size * ring->row;
    int64_t count = ring->length[slot] / ELEMENT_BYTES;
    if (ring->op != OP_XOR && ring->dtype == FLOAT32) {
        if (ring->op == OP_SUM)
            sum_float32((float *)(void *)value, rows, ring->row, ring->size, count);
        else
            max_float32((int32_t *)(void *)value, rows, ring->row, ring->size, count);
    } else if (ring->op == OP_SUM && ring->dtype == INT32SAT) {
        sum_saturating((int32_t *)(void *)value, rows, ring->row, ring->size, count);
    } else {
        fold_integers(ring, (uint32_t *)(void *)value, rows, ring->row, count);
    }
}

#endif
