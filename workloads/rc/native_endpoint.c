/* See native_endpoint.h. The reference is requester.py, responder.py and endpoint.py. */
#include "native_endpoint.h"
#include "layout.h"

#include "roce.h"

/* go_back_n.py: _acknowledge, within the oldest message. */
static void progress(struct rc_endpoint *held, int64_t acknowledged)
{
    held->una = acknowledged;
    held->contexts[held->sender].una = (uint32_t)acknowledged & PSN_MASK;
    held->is_retrying = held->spent = 0;
    held->retries = held->retry_count;
}

/* go_back_n.py: hear, for an ACK about something that was sent. */
static enum rc_endpoint_outcome hear(struct rc_endpoint *held, int32_t index, int32_t distance, int64_t now)
{
    int64_t acknowledged = held->una + distance + 1;
    if (distance < 0) { /* nothing new, whoever hears it */
        held->qps[index].acks++;
        return RC_ENDPOINT_DONE;
    }
    int completes = acknowledged >= held->oldest_end, is_late = !held->sends || acknowledged > held->nxt;
    if (held->carried && completes && !is_late && ring_goes_on(held, acknowledged)) {
        held->deadline = held->rto && acknowledged < held->max_nxt ? now + held->rto : -1;
        progress(held, acknowledged);
        held->qps[index].acks++;
        ring_sent(held, acknowledged);
        return RC_ENDPOINT_DONE;
    }
    if (is_late || (completes && acknowledged > held->quiet)) {
        held->news = RC_NEWS_ACK;
        held->news_qp = index;
        held->news_distance = distance;
        return RC_ENDPOINT_NEWS;
    }
    held->deadline = held->rto && acknowledged < held->max_nxt ? now + held->rto : -1;
    progress(held, acknowledged);
    if (completes) { /* Python counts this ACK, too */
        const struct irn_message *message = held->messages, *behind = message + held->message_count;
        while (message < behind && message->end <= acknowledged)
            message++;
        held->oldest_end = message < behind ? message->end : acknowledged;
        held->note = (struct irn_entry){RC_NOTE_ACKED, index, acknowledged, 0};
    } else {
        held->qps[index].acks++;
    }
    return RC_ENDPOINT_DONE;
}

/* go_back_n.py: hear, of a sequence NAK. */
static enum rc_endpoint_outcome hear_nak(struct rc_endpoint *held, int32_t index, uint32_t psn, int64_t now)
{
    int64_t acknowledged = held->una + psn_diff(psn, (uint32_t)held->una & PSN_MASK);
    int is_new = acknowledged > held->una, is_old = acknowledged < held->una;
    if (index != held->sender || !held->sends || acknowledged >= held->oldest_end || acknowledged > held->nxt
        || acknowledged >= held->max_nxt)
        return RC_ENDPOINT_PYTHON;
    int goes_back = is_new || (!is_old && !held->is_retrying);
    if (goes_back && !held->is_patient && !(is_new ? held->retry_count : held->retries))
        return RC_ENDPOINT_PYTHON;
    held->qps[index].naks++;
    if (is_new)
        progress(held, acknowledged);
    if (goes_back) {
        int64_t behind = held->max_nxt - held->una;
        held->note = (struct irn_entry){RC_NOTE_WENT_BACK, index, (held->una & PSN_MASK) | behind << 24, held->resent};
        held->is_retrying = 1;
        held->retries--;
        held->spent++;
        held->nxt = held->una;
        held->since = 0;
        held->deadline = held->rto ? now + held->rto : -1;
    }
    return RC_ENDPOINT_DONE;
}

static void put_answer(struct rc_endpoint_qp *qp, uint32_t psn, uint32_t aeth)
{
    uint32_t at = (qp->first + qp->waiting++) % RC_ENDPOINT_ANSWERS;
    qp->answers[at] = (struct rc_endpoint_answer){psn, aeth};
}

static void answer(struct rc_endpoint_qp *qp, uint32_t psn)
{
    put_answer(qp, psn, qp->aeth);
    qp->made++;
}

/* queue_pair.py: receive, for a sequence NAK and for requests that have not the expected PSN. */
static enum rc_endpoint_outcome out_of_order(struct rc_endpoint *held, const uint8_t *frame, int32_t length, int64_t now)
{
    struct roce_view view;
    if (roce_parse(frame, (size_t)length, &view) != ROCE_PLAIN)
        return RC_ENDPOINT_PYTHON;
    int is_nak = view.opcode == OPCODE_ACKNOWLEDGE && !view.pad && view.end == EXT_AT + AETH_BYTES + ICRC_BYTES
                 && frame[EXT_AT + AETH_SYNDROME] == SYNDROME_SEQUENCE;
    if (!is_nak && (view.opcode > OPCODE_WRITE_ONLY_IMM
                    || view.end < EXT_AT + (uint32_t)rc_extension_bytes(view.opcode) + view.pad + ICRC_BYTES))
        return RC_ENDPOINT_PYTHON;
    for (int32_t i = 0; i < held->qp_count; i++) {
        struct rc_qp_context *context = &held->contexts[i];
        struct rc_endpoint_qp *qp = &held->qps[i];
        if (view.qpn != context->qpn || view.src_ip != context->src_ip || view.dst_ip != context->dst_ip)
            continue;
        int32_t distance = psn_diff(view.psn, context->psn);
        if (!roce_icrc_is_valid(frame, view.end))
            return RC_ENDPOINT_PYTHON;
        if (is_nak)
            return hear_nak(held, i, view.psn, now);
        if (!distance || qp->order == RC_REFUSES)
            return RC_ENDPOINT_PYTHON;
        if (distance < 0) {
            qp->duplicates++;
            context->unacknowledged = 0;
            answer(qp, psn_add(context->psn, -1));
        } else if (qp->order != RC_GAP) {
            qp->order = RC_GAP;
            qp->gaps++;
            context->unacknowledged = 0;
            put_answer(qp, context->psn, (uint32_t)SYNDROME_SEQUENCE << 24 | (qp->aeth & PSN_MASK));
            held->note = (struct irn_entry){RC_NOTE_GAP, i, context->psn, 0};
        }
        return RC_ENDPOINT_DONE;
    }
    return RC_ENDPOINT_PYTHON;
}

enum rc_endpoint_outcome rc_endpoint_receive(struct rc_endpoint *held, const uint8_t *frame, int32_t length, int64_t now)
{
    if (held->irn)
        return (enum rc_endpoint_outcome)irn_receive(held->irn, frame, length, now);
    held->news = RC_NEWS_NONE;
    held->note.kind = RC_NOTE_NONE;
    for (int32_t i = 0; i < held->qp_count; i++)
        if (held->qps[i].waiting == RC_ENDPOINT_ANSWERS)
            return RC_ENDPOINT_PYTHON;
    if (held->sender >= 0)
        held->contexts[held->sender].in_flight = (int32_t)(held->max_nxt - held->una);
    if (!rc_accept(frame, (size_t)length, &length, 0, 1, held->contexts, held->qp_count, held->regions,
                   held->region_count))
        return out_of_order(held, frame, length, now);
    for (int32_t i = 0; i < held->qp_count; i++) {
        struct rc_qp_context *context = &held->contexts[i];
        struct rc_endpoint_qp *qp = &held->qps[i];
        if (context->acks)
            return hear(held, i, context->newest, now);
        if (!context->taken)
            continue;
        qp->taken++;
        qp->placed += context->placed;
        qp->flags |= context->flags;
        qp->order = RC_IN_ORDER;
        if (context->flags & RC_CLOSED && held->carried && ring_received(held, i)) {
            if (context->answered)
                answer(qp, context->answers[0]);
            return RC_ENDPOINT_DONE;
        }
        if (context->flags & RC_CLOSED) { /* its answer has a new MSN */
            held->news = RC_NEWS_CLOSED;
            held->news_qp = i;
            return RC_ENDPOINT_NEWS;
        }
        if (context->answered)
            answer(qp, context->answers[0]);
        return RC_ENDPOINT_DONE;
    }
    return RC_ENDPOINT_DONE;
}

/* endpoint.py: _next_frame. */
enum rc_endpoint_outcome rc_endpoint_pull(struct rc_endpoint *held, uint8_t *frame, size_t room, int32_t *length, int64_t now)
{
    int32_t port;
    if (held->irn)
        return (enum rc_endpoint_outcome)irn_pull(held->irn, frame, room, length, now);
    for (int32_t i = 0; i < held->qp_count; i++) {
        struct rc_endpoint_qp *qp = &held->qps[i];
        if (!qp->waiting)
            continue;
        uint8_t words[RC_WORD_BYTES + AETH_BYTES];
        if (qp->octets_bytes + sizeof words + ICRC_BYTES > room)
            return RC_ENDPOINT_NO_ROOM;
        put32(words, qp->answers[qp->first].psn);
        put32(words + RC_WORD_BYTES, qp->answers[qp->first].aeth);
        rc_answer(frame, room, length, &port, 0, 1, qp->octets, qp->octets_bytes, qp->state, words, sizeof words);
        qp->first = (qp->first + 1) % RC_ENDPOINT_ANSWERS;
        qp->waiting--;
        qp->left++;
        return RC_ENDPOINT_DONE;
    }
    if (held->sender < 0 || !held->sends || held->nxt >= held->posted_end || held->nxt - held->una >= held->window)
        return RC_ENDPOINT_NONE;
    const struct irn_message *message = held->messages, *behind = message + held->message_count;
    while (message < behind && held->nxt >= message->end)
        message++;
    if (message == behind || held->nxt < message->first)
        return RC_ENDPOINT_PYTHON;
    uint32_t packet = (uint32_t)(held->nxt - message->first);
    if (rc_packet_bytes(message->plan, packet) > room)
        return RC_ENDPOINT_NO_ROOM;
    if (held->turn != held->sender || held->turn_packets >= held->turn_limit) {
        held->turn = held->sender;
        held->turn_packets = 0;
    }
    held->turn_packets++;
    held->since = rc_emit(frame, room, length, &port, 0, 1, message->plan, packet,
                          (uint32_t)held->nxt & PSN_MASK, held->since, held->ack_every,
                          held->nxt - held->una + 1 >= held->window);
    held->sent++;
    held->resent += held->nxt < held->max_nxt;
    held->nxt++;
    if (held->nxt > held->max_nxt)
        held->max_nxt = held->nxt;
    if (held->deadline < 0 && held->rto)
        held->deadline = now + held->rto;
    return RC_ENDPOINT_DONE;
}

const struct ina_field rc_endpoint_qp_layout[] = {
    INA_FIELD(rc_endpoint_qp, octets), INA_FIELD(rc_endpoint_qp, octets_bytes), INA_FIELD(rc_endpoint_qp, state),
    INA_FIELD(rc_endpoint_qp, aeth), INA_FIELD(rc_endpoint_qp, order), INA_FIELD(rc_endpoint_qp, acks),
    INA_FIELD(rc_endpoint_qp, taken), INA_FIELD(rc_endpoint_qp, flags), INA_FIELD(rc_endpoint_qp, made),
    INA_FIELD(rc_endpoint_qp, first), INA_FIELD(rc_endpoint_qp, waiting), INA_FIELD(rc_endpoint_qp, left),
    INA_FIELD(rc_endpoint_qp, duplicates), INA_FIELD(rc_endpoint_qp, gaps), INA_FIELD(rc_endpoint_qp, naks), INA_FIELD(rc_endpoint_qp, placed), INA_FIELD(rc_endpoint_qp, answers),
    INA_END(sizeof(struct rc_endpoint_qp))
};

const struct ina_field rc_endpoint_layout[] = {
    INA_FIELD(rc_endpoint, contexts), INA_FIELD(rc_endpoint, qps), INA_FIELD(rc_endpoint, regions),
    INA_FIELD(rc_endpoint, qp_count), INA_FIELD(rc_endpoint, region_count), INA_FIELD(rc_endpoint, messages),
    INA_FIELD(rc_endpoint, una), INA_FIELD(rc_endpoint, nxt),
    INA_FIELD(rc_endpoint, max_nxt), INA_FIELD(rc_endpoint, posted_end), INA_FIELD(rc_endpoint, oldest_end),
    INA_FIELD(rc_endpoint, window), INA_FIELD(rc_endpoint, rto),
    INA_FIELD(rc_endpoint, deadline), INA_FIELD(rc_endpoint, sent), INA_FIELD(rc_endpoint, others), INA_FIELD(rc_endpoint, resent),
    INA_FIELD(rc_endpoint, quiet),
    INA_FIELD(rc_endpoint, since),
    INA_FIELD(rc_endpoint, ack_every), INA_FIELD(rc_endpoint, sends), INA_FIELD(rc_endpoint, sender), INA_FIELD(rc_endpoint, turn),
    INA_FIELD(rc_endpoint, turn_packets), INA_FIELD(rc_endpoint, turn_limit),
    INA_FIELD(rc_endpoint, message_count), INA_FIELD(rc_endpoint, is_retrying), INA_FIELD(rc_endpoint, retries),
    INA_FIELD(rc_endpoint, retry_count), INA_FIELD(rc_endpoint, is_patient), INA_FIELD(rc_endpoint, spent), INA_FIELD(rc_endpoint, news),
    INA_FIELD(rc_endpoint, news_qp), INA_FIELD(rc_endpoint, news_distance),
    INA_FIELD(rc_endpoint, note), INA_FIELD(rc_endpoint, irn),
    INA_FIELD(rc_endpoint, carried), INA_END(sizeof(struct rc_endpoint))
};
