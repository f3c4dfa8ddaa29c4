/* What most packets of a bulk transfer are: MIDDLE packets, and the ACKs for them. The reference is requester.py,
 * responder.py, inbound.py and outbound.py beside this file; fast.py calls. Nothing here decides: it stops at whatever is
 * not the plain case. */

#include "crc.h"
#include "roce.h"

enum {
    OPCODE_ACKNOWLEDGE = 0x11,
    AETH_BYTES = 4,
    WORD_BYTES = 4, /* AckReq and PSN */
    RC_ASKS = 16,
    RC_HEAD_BYTES = 72 /* Ethernet, IPv6, UDP, BTH to byte 7: 70 */
};

/* One queue pair: what plain packets to it look like, and what came of them. */
struct rc_lane {
    uint8_t *destination;   /* where the next payload goes */
    uint32_t src_ip;
    uint32_t dst_ip;
    uint32_t qpn;
    uint32_t psn;           /* expected */
    uint32_t opcode;        /* MIDDLE of the message that is arriving */
    uint32_t payload_bytes; /* path MTU */
    uint32_t room;          /* how many MIDDLE packets fit; 0: no message is arriving */
    uint32_t taken;         /* out: how many were accepted */
    uint32_t asked;         /* out: how many of them had AckReq */
    uint32_t asks[RC_ASKS]; /* out: which ones, counted from 1 */
    uint32_t una;           /* oldest unacknowledged PSN of what we send */
    int32_t in_flight;      /* PSNs from there on that were sent */
    uint32_t acks;          /* out: how many ACKs came */
    int32_t newest;         /* out: the PSN that reaches furthest, as a distance from una */
};

size_t rc_lane_bytes(void) { return sizeof(struct rc_lane); }

/* Whether the frame is the MIDDLE packet that the lane waits for; then its payload is copied. */
static int take_middle(struct rc_lane *lane, const uint8_t *frame, const struct roce_view *view)
{
    if (!lane->room || view->psn != lane->psn || view->end != EXT_AT + lane->payload_bytes + ICRC_BYTES ||
        (view->ack_req && lane->asked == RC_ASKS))
        return 0;
    uint32_t icrc = ina_crc32(roce_icrc_headers(frame), frame + EXT_AT, lane->payload_bytes);
    if (icrc != get32le(frame + EXT_AT + lane->payload_bytes))
        return 0;
    memcpy(lane->destination, frame + EXT_AT, lane->payload_bytes);
    lane->destination += lane->payload_bytes;
    lane->psn = psn_add(lane->psn, 1);
    lane->room--;
    lane->taken++;
    if (view->ack_req)
        lane->asks[lane->asked++] = lane->taken;
    return 1;
}

/* Whether the frame is a positive ACK for something that was sent. A later one says all that an earlier one said. */
static int take_ack(struct rc_lane *lane, const uint8_t *frame, const struct roce_view *view)
{
    int32_t distance = psn_diff(view->psn, lane->una);
    if (view->end != EXT_AT + AETH_BYTES + ICRC_BYTES || frame[EXT_AT] >> 5 || distance >= lane->in_flight ||
        !roce_icrc_is_valid(frame, view->end))
        return 0;
    if (!lane->acks++ || distance > lane->newest)
        lane->newest = distance;
    return 1;
}

/* Accept rows from `row` on, up to the first one that is neither an in-order MIDDLE packet nor a plain ACK. Returns that
 * row, or `rows`. ACKs to a second queue pair end the run too: completions keep the order of the rows. */
int rc_accept(const uint8_t *frames, size_t stride, const int32_t *lengths, int row, int rows, struct rc_lane *lanes,
              int lane_count)
{
    const struct rc_lane *acknowledged = 0;
    for (; row < rows; row++) {
        const uint8_t *frame = frames + (size_t)row * stride;
        struct roce_view view;
        if ((size_t)lengths[row] > stride || roce_parse(frame, (size_t)lengths[row], &view) != ROCE_PLAIN || view.pad)
            return row;
        struct rc_lane *lane = lanes, *end = lanes + lane_count;
        while (lane < end && (view.qpn != lane->qpn || view.src_ip != lane->src_ip || view.dst_ip != lane->dst_ip))
            lane++;
        if (lane == end)
            return row;
        if (view.opcode == OPCODE_ACKNOWLEDGE) {
            if ((acknowledged && acknowledged != lane) || !take_ack(lane, frame, &view))
                return row;
            acknowledged = lane;
        } else if (view.opcode != lane->opcode || !take_middle(lane, frame, &view)) {
            return row;
        }
    }
    return row;
}

/* The frame that begins with `head`, Ethernet header to BTH byte 7; `state` is the iCRC's CRC-32 behind it. */
struct rc_head {
    const uint8_t *octets;
    size_t bytes;
    uint32_t state;
};

static void seal(uint8_t *frame, const struct rc_head *head, size_t body_bytes, int32_t *length, int32_t *port)
{
    uint8_t *body = frame + head->bytes;
    put32le(body + body_bytes, ina_crc32(head->state, body, body_bytes));
    *length = (int32_t)(head->bytes + body_bytes + ICRC_BYTES);
    *port = 0;
}

/* The packets of one opcode of a message, all of one size. */
struct rc_packet_head {
    uint32_t bytes;
    uint32_t state;
    uint8_t octets[RC_HEAD_BYTES];
};

struct rc_segment {
    const uint8_t *octets;
    uint64_t bytes; /* not 0 */
};

/* A posted message: everything that its packets are made of. */
struct rc_plan {
    uint64_t length;
    uint32_t packets;
    uint32_t payload_bytes; /* path MTU */
    uint32_t reth_bytes;    /* 16 for a WRITE, in the first packet */
    uint32_t imm_bytes;     /* 4 with immediate data, in the last packet */
    uint32_t reserved[2];
    uint8_t reth[16];
    uint8_t imm[4];
    uint8_t unused[4];
    struct rc_packet_head heads[3]; /* FIRST, MIDDLE, LAST; or the last one is ONLY */
    struct rc_segment segments[];   /* the gather list */
};

size_t rc_plan_bytes(void) { return sizeof(struct rc_plan); }

/* Write packets `index` .. `index + count - 1` of a message into rows from `row` on, PSNs from `psn` on. `since` packets left
 * after the last one with AckReq: `ack_every` says how many may; the end of the message asks too, and the last packet here
 * if `closes` (the window). Returns the new `since`. */
int rc_emit(uint8_t *frames, size_t stride, int32_t *lengths, int32_t *ports, int row, int count,
            const struct rc_plan *plan, uint32_t index, uint32_t psn, int since, int ack_every, int closes)
{
    const struct rc_segment *segment = plan->segments;
    uint64_t start = (uint64_t)index * plan->payload_bytes, at = start; /* in the message, in the segment */
    while (start < plan->length && at >= segment->bytes)
        at -= segment++->bytes;
    for (int i = 0; i < count; i++, index++, row++, start += plan->payload_bytes) {
        int ends = index + 1 == plan->packets;
        const struct rc_packet_head *kind = &plan->heads[ends ? 2 : index ? 1 : 0];
        const struct rc_head head = {kind->octets, kind->bytes, kind->state};
        uint8_t *frame = frames + (size_t)row * stride, *body = frame + head.bytes, *to = body + WORD_BYTES;
        int asks = ends || since + 1 >= ack_every || (closes && i == count - 1);
        since = asks ? 0 : since + 1;
        memcpy(frame, head.octets, head.bytes);
        put32(body, psn_add(psn, i) | (asks ? 1u << 31 : 0));
        if (!index && plan->reth_bytes) {
            memcpy(to, plan->reth, sizeof plan->reth);
            to += sizeof plan->reth;
        }
        if (ends && plan->imm_bytes) {
            memcpy(to, plan->imm, sizeof plan->imm);
            to += sizeof plan->imm;
        }
        size_t left = start + plan->payload_bytes < plan->length ? plan->payload_bytes : (size_t)(plan->length - start);
        size_t pad = -left & 3;
        while (left) {
            size_t piece = segment->bytes - at < left ? (size_t)(segment->bytes - at) : left;
            memcpy(to, segment->octets + at, piece);
            to += piece, left -= piece, at += piece;
            if (at == segment->bytes)
                at = 0, segment++;
        }
        memset(to, 0, pad);
        seal(frame, &head, (size_t)(to - body) + pad, lengths + row, ports + row);
    }
    return since;
}

/* Write `count` ACKNOWLEDGE frames into rows from `row` on. `words`: the PSN word and the AETH of each, as on the wire. */
void rc_answer(uint8_t *frames, size_t stride, int32_t *lengths, int32_t *ports, int row, int count,
               const uint8_t *octets, size_t octets_bytes, uint32_t state, const uint8_t *words)
{
    const struct rc_head head = {octets, octets_bytes, state};
    for (int i = 0; i < count; i++, row++, words += WORD_BYTES + AETH_BYTES) {
        uint8_t *frame = frames + (size_t)row * stride;
        memcpy(frame, octets, octets_bytes);
        memcpy(frame + octets_bytes, words, WORD_BYTES + AETH_BYTES);
        seal(frame, &head, WORD_BYTES + AETH_BYTES, lengths + row, ports + row);
    }
}

uint32_t rc_crc32(uint32_t crc, const uint8_t *p, size_t size) { return ina_crc32(crc, p, size); }
