/* What makes a frame of a posted message, whatever its recovery: the bytes that equal packets begin with, a piece of the
 * gather list, the iCRC. */
#ifndef INA_RC_EMIT_H
#define INA_RC_EMIT_H

#include "crc.h"
#include "fast.h"
#include "roce.h"

/* The frame that begins with `head`, Ethernet header to BTH byte 7; `state` is the iCRC's CRC-32 behind it. */
struct rc_head {
    const uint8_t *octets;
    size_t bytes;
    uint32_t state;
};

/* The iCRC of the frame whose first bytes and `body_bytes` behind them are there. Returns its length. */
static inline int32_t rc_seal(uint8_t *frame, const struct rc_head *head, size_t body_bytes)
{
    uint8_t *body = frame + head->bytes;
    put32le(body + body_bytes, ina_crc32(head->state, body, body_bytes));
    return (int32_t)(head->bytes + body_bytes + ICRC_BYTES);
}

/* A place in the gather list. */
struct rc_place {
    const struct rc_segment *segment;
    uint64_t at;
};

/* Byte `start` of the message. */
static inline struct rc_place rc_place_at(const struct rc_plan *plan, uint64_t start)
{
    struct rc_place place = {plan->segments, start};
    while (start < plan->length && place.at >= place.segment->bytes)
        place.at -= place.segment++->bytes;
    return place;
}

/* Of packet `index`. */
static inline size_t rc_payload_bytes(const struct rc_plan *plan, uint32_t index)
{
    uint64_t start = (uint64_t)index * plan->payload_bytes;
    return start + plan->payload_bytes < plan->length ? plan->payload_bytes : (size_t)(plan->length - start);
}

/* `left` bytes from `place` on, which moves, and their pad. Returns where they end. */
static inline uint8_t *rc_copy(uint8_t *to, struct rc_place *place, size_t left)
{
    size_t pad = -left & 3;
    while (left) {
        uint64_t rest = place->segment->bytes - place->at;
        size_t piece = rest < left ? (size_t)rest : left;
        memcpy(to, place->segment->octets + place->at, piece);
        to += piece, left -= piece, place->at += piece;
        if (place->at == place->segment->bytes)
            place->at = 0, place->segment++;
    }
    memset(to, 0, pad);
    return to + pad;
}

#endif
