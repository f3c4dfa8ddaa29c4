/* What most packets of a bulk transfer are: requests in order, and the ACKs for them. The reference is requester.py,
 * responder.py, inbound.py and outbound.py beside this file; fast.py calls. Nothing here decides: it stops at whatever is
 * not the plain case. */

#include "emit.h"
#include "layout.h"

/* Whether the WRITE may begin: its range is registered. */
static int find_room(struct rc_qp_context *qp, const uint8_t *reth, const struct rc_region *regions, int count)
{
    uint64_t va = get64(reth + RETH_VA), length = get32(reth + RETH_LENGTH);
    uint32_t rkey = get32(reth + RETH_RKEY);
    for (const struct rc_region *region = regions; region < regions + count; region++) {
        if (region->rkey != rkey)
            continue;
        if (va < region->va || va - region->va > region->bytes || length > region->bytes - (va - region->va))
            return 0;
        qp->destination = region->memory + (va - region->va);
        qp->left = length;
        qp->va = va;
        qp->rkey = rkey;
        qp->length = (uint32_t)length;
        return 1;
    }
    return 0;
}

/* Whether the frame is the request that the queue pair waits for; then its payload is placed. */
static int take_request(struct rc_qp_context *qp, const uint8_t *frame, const struct roce_view *view,
                        const struct rc_region *regions, int region_count)
{
    uint32_t mtu = qp->payload_bytes, extension = 0, rest = view->end - EXT_AT - ICRC_BYTES, flags = 0;
    if (view->psn != qp->psn || qp->answered == RC_ANSWERS)
        return 0;
    switch (view->opcode) {
    case OPCODE_SEND_MIDDLE:
        if (qp->arrival != RC_IN_SEND || rest != mtu || qp->left < mtu)
            return 0;
        break;
    case OPCODE_WRITE_FIRST:
        extension = RETH_BYTES;
        if (qp->arrival != RC_BETWEEN || rest != RETH_BYTES + mtu)
            return 0;
        flags = RC_OPENED;
        break;
    case OPCODE_WRITE_MIDDLE: /* a WRITE's last byte belongs to its LAST */
        if (qp->arrival != RC_IN_WRITE || rest != mtu || qp->left <= mtu)
            return 0;
        break;
    case OPCODE_WRITE_LAST_IMM:
        extension = IMM_BYTES;
        flags = RC_WITH_IMM;
        if (!qp->receives)
            return 0;
        /* fall through */
    case OPCODE_WRITE_LAST:
        if (qp->arrival != RC_IN_WRITE || rest <= extension || rest - extension > mtu || rest - extension != qp->left)
            return 0;
        flags |= RC_CLOSED;
        break;
    case OPCODE_WRITE_ONLY_IMM:
        extension = IMM_BYTES;
        flags = RC_WITH_IMM;
        if (!qp->receives)
            return 0;
        /* fall through */
    case OPCODE_WRITE_ONLY:
        extension += RETH_BYTES;
        if (qp->arrival != RC_BETWEEN || rest <= extension || rest - extension > mtu)
            return 0;
        flags |= RC_OPENED | RC_CLOSED;
        break;
    default:
        return 0;
    }
    if (!roce_icrc_is_valid(frame, view->end))
        return 0;
    size_t size = rest - extension;
    if (flags & RC_OPENED) {
        size_t announced = get32(frame + EXT_AT + RETH_LENGTH);
        if (flags & RC_CLOSED ? announced != size : announced <= size)
            return 0;
        if (!find_room(qp, frame + EXT_AT, regions, region_count))
            return 0;
        qp->arrival = RC_IN_WRITE;
    }
    memcpy(qp->destination, frame + EXT_AT + extension, size);
    qp->destination += size;
    qp->left -= size;
    qp->placed += size;
    qp->taken++;
    if (view->ack_req || qp->unacknowledged + 1 >= qp->ack_every) {
        qp->answers[qp->answered++] = qp->psn;
        qp->unacknowledged = 0;
        if (flags & RC_CLOSED)
            flags |= RC_CLOSE_ANSWERED;
    } else {
        qp->unacknowledged++;
    }
    qp->psn = psn_add(qp->psn, 1);
    qp->flags |= flags;
    if (flags & RC_CLOSED) {
        qp->arrival = RC_BETWEEN;
        if (flags & RC_WITH_IMM) {
            qp->imm = get32(frame + EXT_AT + extension - IMM_BYTES);
            qp->receives--;
        }
    }
    return 1;
}

/* Whether the frame is a positive ACK for something that was sent. A later one says all that an earlier one said. */
static int take_ack(struct rc_qp_context *qp, const uint8_t *frame, const struct roce_view *view)
{
    int32_t distance = psn_diff(view->psn, qp->una);
    if (view->end != EXT_AT + AETH_BYTES + ICRC_BYTES || frame[EXT_AT + AETH_SYNDROME] >> 5 || distance >= qp->in_flight ||
        !roce_icrc_is_valid(frame, view->end))
        return 0;
    if (!qp->acks++ || distance > qp->newest)
        qp->newest = distance;
    return 1;
}

/* Accept rows from `row` on, up to the first one that is not the plain case. Returns that row, or `rows`. Completions keep
 * the order of the rows, so ACKs to a second queue pair end the run too, and a row that closes a message is the last. */
int rc_accept(const uint8_t *frames, size_t stride, const int32_t *lengths, int row, int rows,
              struct rc_qp_context *contexts, int context_count, const struct rc_region *regions, int region_count)
{
    const struct rc_qp_context *acknowledged = 0;
    struct rc_qp_context *const end = contexts + context_count;
    for (struct rc_qp_context *qp = contexts; qp < end; qp++) {
        qp->acks = qp->taken = qp->flags = qp->answered = 0;
        qp->placed = 0;
    }
    for (; row < rows; row++) {
        const uint8_t *frame = frames + (size_t)row * stride;
        struct roce_view view;
        if ((size_t)lengths[row] > stride || roce_parse(frame, (size_t)lengths[row], &view) != ROCE_PLAIN || view.pad)
            return row;
        struct rc_qp_context *qp = contexts;
        while (qp < end && (view.qpn != qp->qpn || view.src_ip != qp->src_ip || view.dst_ip != qp->dst_ip))
            qp++;
        if (qp == end)
            return row;
        if (view.opcode == OPCODE_ACKNOWLEDGE) {
            if ((acknowledged && acknowledged != qp) || !take_ack(qp, frame, &view))
                return row;
            acknowledged = qp;
        } else if (!take_request(qp, frame, &view, regions, region_count)) {
            return row;
        } else if (qp->flags & RC_CLOSED) {
            return row + 1;
        }
    }
    return row;
}

/* Of the frame that packet `index` makes. */
uint64_t rc_packet_bytes(const struct rc_plan *plan, uint32_t index)
{
    int ends = index + 1 == plan->packets;
    return plan->heads[ends ? 2 : index ? 1 : 0].bytes + RC_WORD_BYTES + (index ? 0 : plan->reth_bytes)
           + (ends ? plan->imm_bytes : 0) + ((rc_payload_bytes(plan, index) + 3) & ~(uint64_t)3) + ICRC_BYTES;
}

/* Write packets `index` .. `index + count - 1` of a message into rows from `row` on, PSNs from `psn` on. `since` packets left
 * after the last one with AckReq: `ack_every` says how many may; the end of the message asks too, and the last packet here
 * if `closes` (the window). Returns the new `since`. */
int rc_emit(uint8_t *frames, size_t stride, int32_t *lengths, int32_t *ports, int row, int count,
            const struct rc_plan *plan, uint32_t index, uint32_t psn, int since, int ack_every, int closes)
{
    struct rc_place place = rc_place_at(plan, (uint64_t)index * plan->payload_bytes);
    for (int i = 0; i < count; i++, index++, row++) {
        int ends = index + 1 == plan->packets;
        const struct rc_packet_head *kind = &plan->heads[ends ? 2 : index ? 1 : 0];
        const struct rc_head head = {kind->octets, kind->bytes, kind->state};
        uint8_t *frame = frames + (size_t)row * stride, *body = frame + head.bytes, *to = body + RC_WORD_BYTES;
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
        to = rc_copy(to, &place, rc_payload_bytes(plan, index));
        lengths[row] = rc_seal(frame, &head, (size_t)(to - body));
        ports[row] = 0;
    }
    return since;
}

/* Write `count` answers into rows from `row` on. `words`: `body_bytes` of each from the PSN word on, as on the wire. */
void rc_answer(uint8_t *frames, size_t stride, int32_t *lengths, int32_t *ports, int row, int count,
               const uint8_t *octets, size_t octets_bytes, uint32_t state, const uint8_t *words, size_t body_bytes)
{
    const struct rc_head head = {octets, octets_bytes, state};
    for (int i = 0; i < count; i++, row++, words += body_bytes) {
        uint8_t *frame = frames + (size_t)row * stride;
        memcpy(frame, octets, octets_bytes);
        memcpy(frame + octets_bytes, words, body_bytes);
        lengths[row] = rc_seal(frame, &head, body_bytes);
        ports[row] = 0;
    }
}

uint32_t rc_crc32(uint32_t crc, const uint8_t *p, size_t size) { return ina_crc32(crc, p, size); }

const struct ina_field rc_region_layout[] = {
    INA_FIELD(rc_region, va), INA_FIELD(rc_region, bytes), INA_FIELD(rc_region, memory), INA_FIELD(rc_region, rkey),
    INA_END(sizeof(struct rc_region))
};

const struct ina_field rc_qp_context_layout[] = {
    INA_FIELD(rc_qp_context, destination), INA_FIELD(rc_qp_context, psn), INA_FIELD(rc_qp_context, unacknowledged),
    INA_FIELD(rc_qp_context, src_ip), INA_FIELD(rc_qp_context, una), INA_FIELD(rc_qp_context, acks),
    INA_FIELD(rc_qp_context, placed), INA_FIELD(rc_qp_context, answers), INA_END(sizeof(struct rc_qp_context))
};

const struct ina_field rc_plan_layout[] = {
    INA_FIELD(rc_plan, length), INA_FIELD(rc_plan, packets), INA_FIELD(rc_plan, payload_bytes),
    INA_FIELD(rc_plan, reth_bytes), INA_FIELD(rc_plan, imm_bytes), INA_FIELD(rc_plan, reth), INA_FIELD(rc_plan, imm),
    INA_FIELD(rc_plan, heads), INA_FIELD(rc_plan, segments), INA_END(sizeof(struct rc_plan))
};
