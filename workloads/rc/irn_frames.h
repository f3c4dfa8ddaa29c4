/* The frames of IRN, both kinds. */
#ifndef INA_RC_IRN_FRAMES_H
#define INA_RC_IRN_FRAMES_H

#include "emit.h"
#include "irn.h"

enum { ANSWER_BYTES = AETH_BYTES + SACK_BYTES };

/* Writes the frame of an answer, if it fits. */
static inline enum irn_fate write_answer(
    const struct irn_pair *pair, const struct irn_answer *answer, uint8_t *frame, size_t room, int32_t *length)
{
    const struct rc_head plain = {pair->octets, (size_t)pair->octets_bytes, (uint32_t)pair->state};
    const struct rc_head mapped = {pair->held.octets, (size_t)pair->held.octets_bytes, (uint32_t)pair->held.state};
    const struct rc_head *head = answer->map_bytes ? &mapped : &plain;
    if (head->bytes + RC_WORD_BYTES + ANSWER_BYTES + answer->map_bytes + ICRC_BYTES > room)
        return IRN_NO_ROOM;
    uint8_t *body = frame + head->bytes, *aeth = body + RC_WORD_BYTES, *sack = aeth + AETH_BYTES;
    memcpy(frame, head->octets, head->bytes);
    put32(body, answer->psn);
    put32(aeth, answer->aeth);
    put32(sack + SACK_CUMULATIVE, answer->cumulative);
    put32(sack + SACK_SELECTIVE, answer->psn);
    memcpy(aeth + ANSWER_BYTES, answer->map, answer->map_bytes);
    *length = rc_seal(frame, head, RC_WORD_BYTES + ANSWER_BYTES + answer->map_bytes);
    return IRN_DONE;
}

/* irn_sender.py: irn_packet. Writes the frame of a packet of `plan`, if it fits. */
static inline enum irn_fate write_packet(
    const struct rc_plan *plan, uint32_t index, uint32_t psn, uint8_t *frame, size_t room, int32_t *length)
{
    int ends = index + 1 == plan->packets;
    const struct rc_packet_head *kind = &plan->heads[ends ? 2 : index ? 1 : 0];
    const struct rc_head head = {kind->octets, kind->bytes, kind->state};
    size_t payload = rc_payload_bytes(plan, index);
    if (head.bytes + RC_WORD_BYTES + RETH_BYTES + IMM_BYTES + payload + (-payload & 3) + ICRC_BYTES > room)
        return IRN_NO_ROOM;
    uint8_t *body = frame + head.bytes, *to = body + RC_WORD_BYTES;
    struct rc_place place = rc_place_at(plan, (uint64_t)index * plan->payload_bytes);
    memcpy(frame, head.octets, head.bytes);
    put32(body, psn | 1u << 31);
    memcpy(to, plan->reth, RETH_BYTES);
    put64(to + RETH_VA, get64(plan->reth + RETH_VA) + (uint64_t)index * plan->payload_bytes);
    to += RETH_BYTES;
    if (ends) {
        memcpy(to, plan->imm, IMM_BYTES);
        to += IMM_BYTES;
    }
    to = rc_copy(to, &place, payload);
    *length = rc_seal(frame, &head, (size_t)(to - body));
    return IRN_DONE;
}

#endif
