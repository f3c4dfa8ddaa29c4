/* Runs of MIDDLE packets, the bulk of every message. The reference is requester.py, responder.py, inbound.py and
 * outbound.py beside this file; fast.py calls. Nothing here decides: it stops at whatever is not the plain case. */

#include "crc32.h"
#include "roce.h"

/* A message that is arriving: what its next MIDDLE packet looks like, and where the payload goes. */
struct rc_lane {
    uint8_t *destination;
    uint32_t src_ip;
    uint32_t dst_ip;
    uint32_t qpn;
    uint32_t psn;           /* expected */
    uint32_t opcode;
    uint32_t payload_bytes; /* path MTU */
    uint32_t room;          /* how many MIDDLE packets fit; 0: the lane is closed */
    uint32_t taken;         /* how many were accepted */
};

size_t rc_lane_bytes(void) { return sizeof(struct rc_lane); }

/* Whether the frame is the packet that `lane` waits for; then its payload is copied. Reads what the reference reads. */
static int take(struct rc_lane *lane, const uint8_t *frame, const struct roce_view *view)
{
    if (view->psn != lane->psn || view->end != EXT_AT + lane->payload_bytes + ICRC_BYTES)
        return 0;
    uint32_t icrc = crc32_fast(roce_icrc_headers(frame), frame + EXT_AT, lane->payload_bytes);
    if (icrc != get32le(frame + EXT_AT + lane->payload_bytes))
        return 0;
    memcpy(lane->destination, frame + EXT_AT, lane->payload_bytes);
    lane->destination += lane->payload_bytes;
    lane->psn = psn_add(lane->psn, 1);
    lane->room--;
    lane->taken++;
    return 1;
}

/* Accept rows from `row` on, up to the first one that is no in-order MIDDLE packet without AckReq of an open lane.
 * Returns that row, or `rows`. */
int rc_accept(const uint8_t *frames, size_t stride, const int32_t *lengths, int row, int rows, struct rc_lane *lanes,
              int lane_count)
{
    for (; row < rows; row++) {
        const uint8_t *frame = frames + (size_t)row * stride;
        struct roce_view view;
        if ((size_t)lengths[row] > stride || roce_parse(frame, (size_t)lengths[row], &view) != ROCE_PLAIN || view.ack_req || view.pad)
            return row;
        struct rc_lane *lane = lanes, *end = lanes + lane_count;
        while (lane < end && !(lane->room && view.opcode == lane->opcode && view.qpn == lane->qpn &&
                               view.src_ip == lane->src_ip && view.dst_ip == lane->dst_ip))
            lane++;
        if (lane == end || !take(lane, frame, &view))
            return row;
    }
    return row;
}

/* Write `count` MIDDLE frames into rows from `row` on, for port 0. `head` is what they begin with, Ethernet header to BTH
 * byte 7; `state` is the iCRC's CRC-32 behind it. The packet `until_ack` (from 0) asks for an ACK, and every
 * `ack_every`-th one after it; the last one does if `last_asks`. */
void rc_emit(uint8_t *frames, size_t stride, int32_t *lengths, int32_t *ports, int row, int count, const uint8_t *head,
             size_t head_bytes, uint32_t state, const uint8_t *payload, size_t payload_bytes, uint32_t psn, int until_ack,
             int ack_every, int last_asks)
{
    size_t size = head_bytes + 4 + payload_bytes + ICRC_BYTES;
    for (int i = 0; i < count; i++, row++, payload += payload_bytes) {
        uint8_t *frame = frames + (size_t)row * stride, *word = frame + head_bytes;
        int asks = (i >= until_ack && (i - until_ack) % ack_every == 0) || (last_asks && i == count - 1);
        memcpy(frame, head, head_bytes);
        put32(word, psn_add(psn, i) | (asks ? 1u << 31 : 0));
        memcpy(word + 4, payload, payload_bytes);
        put32le(word + 4 + payload_bytes, crc32_fast(state, word, 4 + payload_bytes));
        lengths[row] = (int32_t)size;
        ports[row] = 0;
    }
}

uint32_t rc_crc32(uint32_t crc, const uint8_t *p, size_t size) { return crc32_fast(crc, p, size); }
