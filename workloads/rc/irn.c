/* See irn.h. The reference is irn_receiver.py, irn_sender.py, their kin for irn-held, and endpoint.py beside this file. */
#include "irn_frames.h"
#include "held_window.h"
#include "irn_window.h"
#include "layout.h"

enum { SHORT_OF_LOG = IRN_LOG / 2 /* a batch goes on while more of the log is free */ };

static void log_news(struct irn_end *end, int64_t pair, int64_t kind, int64_t a, int64_t b)
{
    end->log[end->news++] = (struct irn_entry){kind, pair, a, b};
}

static struct irn_pair *touch(struct irn_end *end, int64_t index)
{
    end->touched[index / 64] |= (uint64_t)1 << index % 64;
    return &end->pairs[index];
}

static uint32_t psn_of(int64_t sequence) { return (uint32_t)sequence & PSN_MASK; }

static int64_t upcoming(const struct irn_pair *pair) { return is_held(pair) ? held_upcoming(pair) : irn_upcoming(pair); }

/* irn_sender.py: _arm */
static void arm(struct irn_pair *pair, int64_t now)
{
    pair->armed_at = now;
    pair->is_extended = 0;
    pair->deadline = now + pair->rto_low;
}

/* memory.py: find. NULL: not registered. */
static uint8_t *find(const struct irn_end *end, uint32_t rkey, uint64_t va, uint64_t size)
{
    for (const struct rc_region *region = end->regions; region < end->regions + end->region_count; region++) {
        if (region->rkey != rkey)
            continue;
        if (va < region->va)
            return NULL;
        uint64_t start = va - region->va;
        if (region->endless)
            start %= region->bytes;
        return start > region->bytes || size > region->bytes - start ? NULL : region->memory + start;
    }
    return NULL;
}

/* irn_receiver.py: _deliver, for the expected packet and everything that was kept right behind. Returns how many; 0 when that is
 * not the plain case. Writes completions behind the log's end, and *size and *messages as they are afterwards. */
static int64_t deliver(struct irn_end *end, int64_t index, const struct irn_kept *expected, int64_t *size, int64_t *messages)
{
    const struct irn_pair *pair = &end->pairs[index];
    const struct irn_kept *kept = expected;
    int64_t count = 0;
    *size = pair->size;
    *messages = 0;
    do {
        if (!(kept->flags & IRN_STARTS) == (*size < 0))
            return 0;
        *size = (*size < 0 ? 0 : *size) + kept->size;
        if (*size > kept->length)
            return 0;
        if (kept->flags & IRN_ENDS) {
            if (*size != kept->length || *messages == pair->receives || end->news + *messages == IRN_LOG)
                return 0;
            end->log[end->news + (*messages)++] = (struct irn_entry){IRN_RECEIVED, index, kept->imm, *size};
            *size = -1;
        }
        count++;
        kept = &pair->kept[(pair->expected + count) % IRN_BITS];
    } while (irn_has(&pair->here, count));
    return count;
}

/* irn_receiver.py: _take. Returns whether it is done. */
static int take(struct irn_end *end, int64_t index, const uint8_t *frame, const struct roce_view *view, int64_t distance)
{
    struct irn_pair *pair = &end->pairs[index];
    int ends = view->opcode == OPCODE_WRITE_ONLY_IMM;
    uint32_t extension = RETH_BYTES + (ends ? IMM_BYTES : 0), size = view->end - EXT_AT - ICRC_BYTES - view->pad - extension;
    const uint8_t *reth = frame + EXT_AT, *payload = reth + extension;
    struct irn_kept kept = {size, get32(reth + RETH_LENGTH), ends ? get32(reth + RETH_BYTES) : 0, ends ? IRN_ENDS : 0};
    if (size > pair->payload_bytes || (size < pair->payload_bytes && !ends))
        return 0;
    if (view->opcode == OPCODE_WRITE_FIRST || kept.length <= size)
        kept.flags |= IRN_STARTS;
    uint8_t *memory = size ? find(end, get32(reth + RETH_RKEY), get64(reth + RETH_VA), size) : NULL;
    if ((size && !memory) || !roce_icrc_is_valid(frame, view->end))
        return 0;
    if (distance) {
        if (!pair->here.bits) {
            if (end->news == IRN_LOG)
                return 0;
            log_news(end, index, IRN_GAP, pair->expected, 0);
        }
        pair->kept[view->psn % IRN_BITS] = kept;
        irn_set(&pair->here, distance);
    } else {
        int64_t messages, left, count = deliver(end, index, &kept, &left, &messages);
        if (!count)
            return 0;
        pair->expected = psn_add((uint32_t)pair->expected, (int32_t)count);
        pair->msn = psn_add((uint32_t)pair->msn, (int32_t)messages);
        pair->size = left;
        pair->receives -= messages;
        end->news += messages;
        irn_shift(&pair->here, count);
    }
    if (size)
        memcpy(memory, payload, size);
    pair->packets_received++;
    return 1;
}

/* irn_receiver.py: on_request */
static enum irn_fate request(struct irn_end *end, int64_t index, const uint8_t *frame, const struct roce_view *view)
{
    struct irn_pair *pair = touch(end, index);
    int64_t distance = psn_diff(view->psn, (uint32_t)pair->expected);
    uint32_t extension = RETH_BYTES + (view->opcode == OPCODE_WRITE_ONLY_IMM ? IMM_BYTES : 0);
    if (view->end < EXT_AT + extension + view->pad + ICRC_BYTES || distance >= IRN_BITS || pair->answers_waiting == IRN_ANSWERS)
        return IRN_PYTHON;
    if (distance < 0 || irn_has(&pair->here, distance)) {
        if (!roce_icrc_is_valid(frame, view->end))
            return IRN_PYTHON;
        pair->duplicates++;
    } else if (!take(end, index, frame, view, distance)) {
        return IRN_PYTHON;
    }
    int is_gap = distance > 0;
    *(is_gap ? &pair->naks_sent : &pair->acks_sent) += 1;
    struct irn_answer *made = &pair->answer[(pair->first_answer + pair->answers_waiting++) % IRN_ANSWERS];
    made->psn = view->psn;
    made->aeth = (is_gap ? (uint32_t)SYNDROME_SEQUENCE << 24 : 0) | (uint32_t)pair->msn;
    made->cumulative = (uint32_t)pair->expected;
    made->map_bytes = is_gap && is_held(pair) ? held_map(pair, view->psn, made->map) : 0;
    return end->news ? IRN_NEWS : IRN_DONE;
}

/* irn_sender.py: on_answer */
static enum irn_fate hear(struct irn_end *end, int64_t index, const uint8_t *frame, const struct roce_view *view, int64_t now)
{
    struct irn_pair *pair = touch(end, index);
    uint32_t map_bytes = view->end - EXT_AT - ANSWER_BYTES - ICRC_BYTES;
    if ((map_bytes && !(map_bytes == IRN_MAP_BYTES && is_held(pair))) || view->pad || end->news == IRN_LOG)
        return IRN_PYTHON;
    uint32_t oldest = psn_of(pair->una), syndrome = frame[EXT_AT + AETH_SYNDROME];
    const uint8_t *sack = frame + EXT_AT + AETH_BYTES;
    int64_t cumulative = pair->una + psn_diff(get32(sack + SACK_CUMULATIVE), oldest);
    int64_t selective = pair->una + psn_diff(get32(sack + SACK_SELECTIVE), oldest);
    int is_gap = syndrome == SYNDROME_SEQUENCE;
    if (!(is_gap || syndrome >> 5 == 0) || cumulative > pair->nxt || selective >= pair->nxt ||
        is_gap != (selective >= cumulative) || !roce_icrc_is_valid(frame, view->end))
        return IRN_PYTHON;
    *(is_gap ? &pair->naks_received : &pair->acks_received) += 1;
    int is_new = is_held(pair) ? held_heard(pair, is_gap, cumulative, selective)
                               : irn_heard(pair, is_gap, cumulative, selective);
    if (is_new) {
        pair->timed_out = 0;
        pair->progress_at = now;
        if (pair->nxt > pair->una)
            arm(pair, now);
        else
            pair->deadline = -1;
        if (pair->messages && pair->una >= pair->message[0].end) {
            int64_t gone = 1;
            while (gone < pair->messages && pair->una >= pair->message[gone].end)
                gone++;
            pair->messages -= gone;
            memmove(pair->message, pair->message + gone, (size_t)pair->messages * sizeof *pair->message);
            log_news(end, index, IRN_ACKNOWLEDGED, pair->una, 0);
        }
    }
    if (map_bytes)
        held_told(pair, frame + EXT_AT + ANSWER_BYTES);
    return end->news ? IRN_NEWS : IRN_DONE;
}

enum irn_fate irn_receive(struct irn_end *end, const uint8_t *frame, int32_t length, int64_t now)
{
    struct roce_view view;
    if (roce_parse(frame, (size_t)length, &view) != ROCE_PLAIN)
        return IRN_PYTHON;
    int64_t index = 0;
    const struct irn_pair *pair = end->pairs;
    while (index < end->pair_count && (view.qpn != pair->qpn || view.src_ip != pair->src_ip || view.dst_ip != pair->dst_ip))
        index++, pair++;
    if (index == end->pair_count || pair->failed)
        return IRN_PYTHON;
    switch (view.opcode) {
    case OPCODE_WRITE_FIRST:
    case OPCODE_WRITE_ONLY:
    case OPCODE_WRITE_ONLY_IMM:
        return request(end, index, frame, &view);
    case OPCODE_IRN_ANSWER:
        return hear(end, index, frame, &view, now);
    default:
        return IRN_PYTHON;
    }
}

/* Accept rows from `row` on, up to the first one that is not the plain case, or that finds the log too full. Returns that row,
 * or `rows`. */
int irn_accept(struct irn_end *end, const uint8_t *frames, size_t stride, const int32_t *lengths, int row, int rows, int64_t now)
{
    while (row < rows && end->news < SHORT_OF_LOG && lengths[row] >= 0 && (size_t)lengths[row] <= stride &&
           irn_receive(end, frames + (size_t)row * stride, lengths[row], now) != IRN_PYTHON)
        row++;
    return row;
}

/* The oldest answer of a pair. */
static enum irn_fate answer(struct irn_end *end, int64_t index, uint8_t *frame, size_t room, int32_t *length)
{
    struct irn_pair *pair = touch(end, index);
    enum irn_fate fate = write_answer(pair, &pair->answer[pair->first_answer], frame, room, length);
    if (fate == IRN_DONE) {
        pair->first_answer = (pair->first_answer + 1) % IRN_ANSWERS;
        pair->answers_waiting--;
    }
    return fate;
}

/* irn_sender.py: next_packet */
static enum irn_fate next_request(
    struct irn_end *end, int64_t index, uint8_t *frame, size_t room, int32_t *length, int64_t now)
{
    struct irn_pair *pair = touch(end, index);
    int64_t sequence = upcoming(pair);
    int is_again = sequence < pair->nxt;
    const struct irn_message *message = pair->message, *behind = message + pair->messages;
    while (message < behind && sequence >= message->end)
        message++;
    if (message == behind || (is_again && end->news == IRN_LOG))
        return IRN_PYTHON;
    enum irn_fate fate =
        write_packet(message->plan, (uint32_t)(sequence - message->first), psn_of(sequence), frame, room, length);
    if (fate != IRN_DONE)
        return fate;
    pair->packets_sent++;
    if (is_again) {
        pair->packets_retransmitted++;
        log_news(end, index, IRN_SENT_AGAIN, psn_of(sequence), pair->timed_out);
        pair->timed_out = 0;
    }
    if (is_held(pair))
        held_left(pair, sequence);
    else
        irn_left(pair, sequence);
    if (pair->deadline < 0) {
        pair->progress_at = now;
        arm(pair, now);
    }
    return IRN_DONE;
}

static int can_send(const struct irn_pair *pair) { return !pair->failed && upcoming(pair) >= 0; }

/* endpoint.py: _next_frame */
enum irn_fate irn_pull(struct irn_end *end, uint8_t *frame, size_t room, int32_t *length, int64_t now)
{
    for (int64_t i = 0; i < end->pair_count; i++)
        if (end->pairs[i].answers_waiting)
            return answer(end, i, frame, room, length);
    int64_t turn = end->turn, packets = end->turn_packets, tries = 0;
    if (packets >= end->turn_limit || !can_send(&end->pairs[turn])) {
        packets = 0;
        do
            turn = (turn + 1) % end->pair_count;
        while (!can_send(&end->pairs[turn]) && ++tries < end->pair_count);
        if (tries == end->pair_count)
            return IRN_NONE;
    }
    enum irn_fate fate = next_request(end, turn, frame, room, length, now);
    if (fate == IRN_DONE) {
        end->turn = turn;
        end->turn_packets = packets + 1;
    }
    return fate;
}

/* Requests of one pair into rows from `row` on, `count` at most. Returns the row behind the last one. */
int irn_emit(struct irn_end *end, uint8_t *frames, size_t stride, int32_t *lengths, int32_t *ports, int row, int count,
             int index, int64_t now)
{
    for (; count-- && can_send(&end->pairs[index]); row++) {
        if (next_request(end, index, frames + (size_t)row * stride, stride, lengths + row, now) != IRN_DONE)
            break;
        ports[row] = 0;
    }
    return row;
}

const struct ina_field irn_end_layout[] = {
    INA_FIELD(irn_end, pairs), INA_FIELD(irn_end, regions), INA_FIELD(irn_end, touched), INA_FIELD(irn_end, turn), INA_FIELD(irn_end, others),
    INA_FIELD(irn_end, news), INA_FIELD(irn_end, log), INA_END(sizeof(struct irn_end))
};

const struct ina_field irn_pair_layout[] = {
    INA_FIELD(irn_pair, octets), INA_FIELD(irn_pair, cap), INA_FIELD(irn_pair, failed), INA_FIELD(irn_pair, una),
    INA_FIELD(irn_pair, deadline), INA_FIELD(irn_pair, expected), INA_FIELD(irn_pair, first_answer),
    INA_FIELD(irn_pair, packets_sent), INA_FIELD(irn_pair, arrived), INA_FIELD(irn_pair, here),
    INA_FIELD(irn_pair, message), INA_FIELD(irn_pair, answer), INA_FIELD(irn_pair, kept), INA_FIELD(irn_pair, held),
    INA_END(sizeof(struct irn_pair))
};

const struct ina_field irn_held_layout[] = {
    INA_FIELD(irn_held, places), INA_FIELD(irn_held, octets), INA_FIELD(irn_held, copies), INA_FIELD(irn_held, lost),
    INA_END(sizeof(struct irn_held))
};
