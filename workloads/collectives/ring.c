/* See ring.h. The reference is ring.py. */
#include "../rc/native_endpoint.h"

#include "../native/crc.h"
#include "../native/roce.h"
#include "layout.h"

#include <sys/mman.h>

enum { ELEMENT_BYTES = 4, PAGE = 1 << 16 /* or less */, GIVEN_BACK = 1 << 17 };

/* arithmetic.py: every NaN is 0x7fc00000. */
static void add_floats(float *total, const float *one, const float *other, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        float sum = one[i] + other[i];
        total[i] = sum == sum ? sum : __builtin_nanf("");
    }
}

static void add_integers(uint32_t *total, const uint32_t *one, const uint32_t *other, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        total[i] = one[i] + other[i];
}

static void note(struct ring_held *ring, int64_t kind, int64_t message, int64_t b)
{
    ring->log[ring->logged++] = (struct irn_entry){kind, 0, message, b};
}

static const int64_t *span(const struct ring_held *ring, const struct ring_schedule *schedule, int64_t index)
{
    return ring->bounds + 2 * (int64_t)schedule->places[index];
}

/* ring.py: _may_send, for a ring that is pipelined. */
static int may_send(const struct ring_held *ring)
{
    if (ring->posted == ring->sends.count || ring->posted - ring->acked >= ring->window)
        return 0;
    int32_t step = ring->sends.steps[ring->posted];
    if (!step)
        return 1;
    int64_t first = ring->receives.firsts[step - 1], behind = ring->receives.firsts[step];
    return first == behind || ring->consumed > first + ring->posted - ring->sends.firsts[step];
}

static void append(struct rc_endpoint *held, struct irn_message message)
{
    struct ring_held *ring = held->carried;
    if (ring->first + held->message_count == ring->room) {
        memmove(ring->messages, ring->messages + ring->first, (size_t)held->message_count * sizeof *ring->messages);
        ring->first = 0;
    }
    ring->messages[ring->first + held->message_count++] = message;
    held->messages = ring->messages + ring->first;
    held->posted_end = message.end;
    held->oldest_end = held->messages->end;
}

/* ring.py: _post. */
static void post(struct rc_endpoint *held)
{
    struct ring_held *ring = held->carried;
    const int64_t *bounds = span(ring, &ring->sends, ring->posted);
    const uint8_t *source = ring->sends.steps[ring->posted] ? ring->result : ring->gradient;
    int64_t message = ring->send_base + ring->posted;
    const struct ring_template *template = ring->templates;
    while (template->length != bounds[1] - bounds[0])
        template++;
    struct rc_plan *plan = (struct rc_plan *)(void *)(ring->plans + message % ring->window * ring->plan_bytes);
    memcpy(plan, template->plan, (size_t)ring->plan_bytes);
    uint64_t va = (uint64_t)(ring->peer_va + message % ring->slot_count * ring->slot_bytes);
    put32(plan->reth + RETH_VA, (uint32_t)(va >> 32));
    put32(plan->reth + RETH_VA + 4, (uint32_t)va);
    put32(plan->imm, (uint32_t)message);
    plan->segments[0].octets = source + bounds[0];
    append(held, (struct irn_message){held->posted_end, held->posted_end + plan->packets, plan});
    held->sends = 1;
    ring->posted++;
    note(ring, RING_POSTED, message, (ring->receive_base + ring->consumed) << 32 | (ring->send_base + ring->acked));
}

static void advance(struct rc_endpoint *held)
{
    while (may_send(held->carried))
        post(held);
}

/* ring.py: _waits_for_ack. */
static int waits_for_ack(const struct ring_held *ring, int64_t step)
{
    const int32_t *firsts = ring->sends.firsts;
    int64_t sent_in = step + 1 - ring->size;
    if (sent_in < 0 || firsts[sent_in] == firsts[sent_in + 1])
        return 0;
    return ring->acked <= firsts[sent_in] + ring->consumed - ring->receives.firsts[step];
}

/* Give back the memory of slots that were read, piece by piece: they have a thousand times the window of a large ring. */
static void give_back(struct ring_held *ring, int64_t slot)
{
    ring->idle += ring->slot_bytes;
    if (ring->idle < GIVEN_BACK && slot + 1 < ring->slot_count)
        return;
    uintptr_t stop = (uintptr_t)(ring->slots + (slot + 1) * ring->slot_bytes) & -(uintptr_t)PAGE;
    uintptr_t start = ((uintptr_t)(ring->slots + (slot + 1) * ring->slot_bytes - ring->idle) + PAGE - 1) & -(uintptr_t)PAGE;
    if (start < stop)
        madvise((void *)start, stop - start, MADV_DONTNEED);
    ring->idle = 0;
}

/* ring.py: on_received. Returns whether the message that closed is one that the ring waits for, and not its last. */
int ring_received(struct rc_endpoint *held, int32_t index)
{
    struct ring_held *ring = held->carried;
    struct rc_qp_context *context = &held->contexts[index];
    struct rc_endpoint_qp *qp = &held->qps[index];
    if (index != ring->from || !(qp->flags & RC_WITH_IMM) || ring->consumed + 1 >= ring->receives.count)
        return 0;
    int64_t message = ring->receive_base + ring->consumed, step = ring->receives.steps[ring->consumed];
    const int64_t *bounds = span(ring, &ring->receives, ring->consumed);
    int64_t length = bounds[1] - bounds[0];
    const uint8_t *slot = ring->slots + message % ring->slot_count * ring->slot_bytes;
    int is_final = step >= ring->size - 1;
    if (context->imm != (uint32_t)message || context->destination != slot + length
        || (qp->flags & RC_OPENED && qp->placed != (uint64_t)length) || (is_final && waits_for_ack(ring, step)))
        return 0;
    uint8_t *target = ring->result + bounds[0];
    const uint8_t *own = ring->gradient + bounds[0];
    if (is_final) {
        memcpy(target, slot, (size_t)length);
    } else if (ring->is_float) {
        add_floats((float *)(void *)target, (const float *)(const void *)own, (const float *)(const void *)slot,
                   length / ELEMENT_BYTES);
    } else {
        add_integers((uint32_t *)(void *)target, (const uint32_t *)(const void *)own,
                     (const uint32_t *)(const void *)slot, length / ELEMENT_BYTES);
    }
    ring->closed++;
    ring->packets += qp->taken;
    qp->taken = qp->flags = 0;
    qp->placed = 0;
    qp->aeth = (qp->aeth & ~(uint32_t)PSN_MASK) | psn_add(qp->aeth & PSN_MASK, 1);
    context->receives++; /* posted again */
    ring->consumed++;
    give_back(ring, message % ring->slot_count);
    note(ring, RING_RECEIVED, message, ina_crc32(0, target, (size_t)length));
    advance(held);
    return 1;
}

/* Whether something is left to do when everything in front of `acknowledged` arrived. */
int ring_goes_on(const struct rc_endpoint *held, int64_t acknowledged)
{
    return held->carried->posted < held->carried->sends.count || acknowledged < held->posted_end;
}

/* ring.py: on_sent, for all messages in front of `acknowledged`. */
void ring_sent(struct rc_endpoint *held, int64_t acknowledged)
{
    struct ring_held *ring = held->carried;
    while (held->message_count && held->messages->end <= acknowledged) {
        held->messages++;
        held->message_count--;
        ring->first++;
        note(ring, RING_ACKED, ring->send_base + ring->acked++, 0);
        advance(held);
    }
    held->oldest_end = held->message_count ? held->messages->end : acknowledged;
}

const struct ina_field ring_held_layout[] = {
    INA_FIELD(ring_held, sends), INA_FIELD(ring_held, receives), INA_FIELD(ring_held, bounds),
    INA_FIELD(ring_held, gradient), INA_FIELD(ring_held, result), INA_FIELD(ring_held, slots),
    INA_FIELD(ring_held, plans), INA_FIELD(ring_held, templates), INA_FIELD(ring_held, template_count),
    INA_FIELD(ring_held, plan_bytes), INA_FIELD(ring_held, slot_bytes), INA_FIELD(ring_held, slot_count),
    INA_FIELD(ring_held, peer_va), INA_FIELD(ring_held, size), INA_FIELD(ring_held, window),
    INA_FIELD(ring_held, is_float), INA_FIELD(ring_held, from), INA_FIELD(ring_held, send_base),
    INA_FIELD(ring_held, receive_base), INA_FIELD(ring_held, posted), INA_FIELD(ring_held, acked),
    INA_FIELD(ring_held, consumed), INA_FIELD(ring_held, closed), INA_FIELD(ring_held, packets), INA_FIELD(ring_held, idle),
    INA_FIELD(ring_held, messages), INA_FIELD(ring_held, room), INA_FIELD(ring_held, first),
    INA_FIELD(ring_held, log), INA_FIELD(ring_held, logged), INA_END(sizeof(struct ring_held))
};
