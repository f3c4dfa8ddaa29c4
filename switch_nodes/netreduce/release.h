/* Results and when they leave: results.py and release.py. */
#ifndef INA_NETREDUCE_RELEASE_H
#define INA_NETREDUCE_RELEASE_H

#include "state.h"

/* ring.py: note_sent */
static void note_sent(const struct netreduce_ring *ring, int32_t row, int64_t slot)
{
    if (ring->sent_order)
        ring->sent_order[slot * ring->connections + row] = ++ring->cursor[ORDERS];
}

/* results.py: the header in a row of the header buffer, a value of the slot, a new iCRC. `value_crc` is the CRC-32 of the
 * value alone. */
static void send_value(struct netreduce_switch *sw, const struct netreduce_ring *ring, int32_t row, int64_t slot,
                       const uint8_t *values, uint32_t value_crc, int32_t port)
{
    int64_t at = slot * ring->connections + row;
    int32_t head = ring->header_length[at], size = ring->length[slot];
    uint8_t *frame = queue_tail(sw->queue);
    memcpy(frame, ring->header + at * ring->header_row, (size_t)head);
    memcpy(frame + head, values + slot * ring->row, (size_t)size);
    if (ring->ce[slot] && frame[IP_TOS] & 3) {
        frame[IP_TOS] |= 3;
        put16(frame + IP_CHECKSUM, ipv4_checksum(frame + IP_AT));
    }
    put16(frame + UDP_CHECKSUM, 0);
    uint32_t crc = ina_crc32(roce_icrc_headers(frame), frame + EXT_AT, (size_t)(head - EXT_AT));
    if (size) {
        if (sw->combine_length != size) {
            sw->combine_op = crc32_combine_gen(size);
            sw->combine_length = size;
        }
        crc = (uint32_t)crc32_combine_op(crc, value_crc, sw->combine_op);
    }
    put32le(frame + head + size, crc);
    queue_push(sw->queue, port, head + size + ICRC_BYTES);
    note_sent(ring, row, slot);
}

/* slot_actions.py: send_result */
static void send_result(
    struct netreduce_switch *sw, const struct netreduce_ring *ring, int32_t rank, int64_t slot, uint32_t value_crc)
{
    int32_t row = ring->leaf && rank == boundary_of(ring) ? inbound_of(ring) : rank;
    send_value(sw, ring, row, slot, ring->value, value_crc, ring->egress[rank]);
    sw->counters[RESULTS_OUT]++;
}

/* slot_actions.py: _send_up */
static void send_up(struct netreduce_switch *sw, const struct netreduce_ring *ring, int64_t message, int64_t slot)
{
    uint32_t crc = ina_crc32(0, ring->partial + slot * ring->row, (size_t)ring->length[slot]);
    send_value(sw, ring, boundary_of(ring), slot, ring->partial, crc, uplink_of(ring, message));
    sw->counters[SENT_UP]++;
}

/* release.py */

static void release(struct netreduce_switch *sw, struct netreduce_ring *ring, int64_t slot, uint64_t mask)
{
    uint64_t todo = mask & ~ring->released[slot];
    if (!todo)
        return;
    ring->released[slot] |= todo;
    uint32_t value_crc = ina_crc32(0, ring->value + slot * ring->row, (size_t)ring->length[slot]);
    for (; todo; todo &= todo - 1)
        send_result(sw, ring, __builtin_ctzll(todo), slot, value_crc);
}

/* ring.py and fabric.py: early, for a slot of message `later` */
static uint64_t early(const struct netreduce_ring *ring, int64_t later)
{
    if (ring->asap)
        return ring->everyone;
    int64_t message = ring->cursor[HEAD_MESSAGE], slot = slot_of(ring, message, ring->cursor[HEAD_OFFSET]);
    uint64_t missing = ring->tag[slot] == message ? ring->everyone & ~ring->bitmap[slot] : ring->everyone;
    if (ring->spine)
        return missing | missing >> 1 | (missing & 1) << (ring->size - 1);
    if (!ring->leaf)
        return missing;
    uint64_t boundary = (uint64_t)1 << boundary_of(ring);
    if (missing)
        return missing & ~boundary;
    return uplink_of(ring, later) == uplink_of(ring, message) ? boundary : 0;
}

static void advance(struct netreduce_switch *sw, struct netreduce_ring *ring)
{
    int64_t message = ring->cursor[HEAD_MESSAGE], offset = ring->cursor[HEAD_OFFSET], passed = 0;
    for (;;) {
        int64_t slot = slot_of(ring, message, offset);
        if (!ring->done[slot] || ring->tag[slot] != message)
            break;
        release(sw, ring, slot, ring->everyone);
        passed++;
        offset++;
        if (offset >= packets_of(ring, message)) {
            message++;
            offset = 0;
        }
    }
    ring->cursor[HEAD_MESSAGE] = message;
    ring->cursor[HEAD_OFFSET] = offset;
    ring->cursor[WAITING] -= passed - 1;
}

static void release_behind_head(struct netreduce_switch *sw, struct netreduce_ring *ring)
{
    int64_t message = ring->cursor[HEAD_MESSAGE], offset = ring->cursor[HEAD_OFFSET] + 1;
    for (int64_t later = message; later < message + ring->banks; later++, offset = 0) {
        int64_t base = slot_of(ring, later, 0), packets = packets_of(ring, later);
        uint64_t mask = early(ring, later);
        for (; offset < packets; offset++)
            if (ring->done[base + offset] && ring->tag[base + offset] == later)
                release(sw, ring, base + offset, mask);
    }
}

static void release_completed(struct netreduce_switch *sw, struct netreduce_ring *ring, int64_t message, int64_t offset)
{
    if (message != ring->cursor[HEAD_MESSAGE] || offset != ring->cursor[HEAD_OFFSET]) {
        ring->cursor[WAITING]++;
        release(sw, ring, slot_of(ring, message, offset), early(ring, message));
        return;
    }
    advance(sw, ring);
    if (ring->cursor[WAITING])
        release_behind_head(sw, ring);
}

#endif
