/* The fast half of LinkFilter: counts identities and tells which frames no fault can touch. A frame that a fault may hit
 * goes to Python, uncounted. One kind of hit is decided here, for those who ask for it: a plain loss of a frame that is
 * not RoCE. */
#include <stdlib.h>
#include <string.h>

#include "crc.h"
#include "link.h"
#include "layout.h"
#include "rules.h"

struct entry {
    __u64 key;
    __u32 count;
    __u32 waiting; /* frames of this identity that went to Python and are not counted yet */
};

struct flow {
    __u64 key;
    struct ina_connection connection;
};

struct filter {
    struct entry *entries; /* in the order in which they came */
    __u32 *numbers;        /* hash table: of the entry, valid where there is a mark */
    __u8 *marks; /* hash table: 0: free; else some bits of the key. It is small, and answers most questions alone. */
    __u64 mask;
    __u32 used;
    struct ina_rule *rules;
    __u32 rule_count;
    const struct ina_rule **active; /* of the rules, those that act now; as long as `rules` */
    __u32 active_count;
    __u32 asks_connection; /* one of them does */
    __u32 all_stay;        /* all rules are active, and stay so */
    struct flow *flows;
    __u64 flow_mask;
};

static __u8 mark_of(__u64 key)
{
    return (__u8)(key >> 56 | 0x80);
}

static __u64 place_of(const struct filter *filter, __u64 key)
{
    __u64 at = key & filter->mask;

    while (filter->marks[at]
           && (filter->marks[at] != mark_of(key) || filter->entries[filter->numbers[at]].key != key))
        at = (at + 1) & filter->mask;
    return at;
}

/* Tables with `size` places, a power of two; false when there is no memory. */
static int resize(struct filter *filter, __u64 size)
{
    struct entry *entries = realloc(filter->entries, size / 2 * sizeof(*entries));
    __u32 *numbers = malloc(size * sizeof(*numbers)), i;
    __u8 *marks = calloc(size, sizeof(*marks));

    if (entries)
        filter->entries = entries;
    if (!entries || !numbers || !marks) {
        free(numbers);
        free(marks);
        return 0;
    }
    for (i = 0; i < filter->used; i++) {
        __u64 at = entries[i].key & (size - 1);

        while (marks[at])
            at = (at + 1) & (size - 1);
        marks[at] = mark_of(entries[i].key);
        numbers[at] = i;
    }
    free(filter->numbers);
    free(filter->marks);
    filter->numbers = numbers;
    filter->marks = marks;
    filter->mask = size - 1;
    return 1;
}

static struct entry *find(struct filter *filter, __u64 key)
{
    __u64 at = place_of(filter, key);

    if (filter->marks[at])
        return &filter->entries[filter->numbers[at]];
    if (filter->used * 2ull > filter->mask) {
        if (!resize(filter, 2 * (filter->mask + 1)))
            return NULL;
        at = place_of(filter, key);
    }
    filter->marks[at] = mark_of(key);
    filter->numbers[at] = filter->used;
    filter->entries[filter->used] = (struct entry){.key = key};
    return &filter->entries[filter->used++];
}

static const struct ina_connection *connection_of(const struct filter *filter, __u64 key)
{
    __u64 at = key & filter->flow_mask;

    for (; filter->flows[at].key; at = (at + 1) & filter->flow_mask)
        if (filter->flows[at].key == key)
            return &filter->flows[at].connection;
    return NULL;
}

void ina_filter_free(struct filter *filter)
{
    if (filter) {
        free(filter->entries);
        free(filter->numbers);
        free(filter->marks);
        free(filter->rules);
        free(filter->active);
        free(filter->flows);
        free(filter);
    }
}

/* NULL when there is no memory. */
struct filter *ina_filter_new(const struct ina_rule *rules, __u32 count, const __u64 *flows,
                              const struct ina_connection *connections, __u32 flow_count)
{
    struct filter *filter = calloc(1, sizeof(*filter));
    __u64 at;
    __u32 i;

    if (!filter)
        return NULL;
    for (filter->flow_mask = 1; filter->flow_mask < 2ull * flow_count; filter->flow_mask = filter->flow_mask * 2 + 1)
        ;
    filter->flows = calloc(filter->flow_mask + 1, sizeof(*filter->flows));
    filter->rules = calloc(count ? count : 1, sizeof(*rules));
    filter->active = calloc(count ? count : 1, sizeof(*filter->active));
    if (!resize(filter, 128) || !filter->rules || !filter->active || !filter->flows)
        goto fail;
    memcpy(filter->rules, rules, count * sizeof(*rules));
    filter->rule_count = count;
    for (i = 0; i < flow_count; i++) {
        for (at = flows[i] & filter->flow_mask; filter->flows[at].key; at = (at + 1) & filter->flow_mask)
            ;
        filter->flows[at].key = flows[i];
        filter->flows[at].connection = connections[i];
    }
    return filter;
fail:
    ina_filter_free(filter);
    return NULL;
}

/* The occurrence of a frame that Python decides; 0 when there is no memory. */
__u32 ina_filter_count(struct filter *filter, __u64 key)
{
    struct entry *entry = find(filter, key);

    if (!entry)
        return 0;
    if (entry->waiting)
        entry->waiting--;
    return ++entry->count;
}

static int may_strike(const struct ina_rule *rule, const struct ina_packet *packet, __u32 occurrence,
                      const struct ina_connection *connection)
{
    struct ina_burst_walk walk;
    __u32 back;
    int bad;

    if (!ina_rule_means(rule, packet, occurrence, connection))
        return 0;
    if (rule->kind != INA_BURST)
        return ina_rule_strikes(rule, packet, occurrence, 0);
    ina_burst_begin(&walk, rule->stream, packet->flow, packet->psn, occurrence, 0, rule->chance, rule->recover);
    for (back = 0; back < INA_LOOK_BACK && !ina_burst_step(&walk, back); back++)
        ;
    bad = ina_burst_end(&walk, rule->chance, rule->recover);
    return ina_burst_loses(rule, packet, occurrence, 0, bad);
}

static void find_active(struct filter *filter, __s64 now)
{
    __u32 i, staying = 0;

    if (filter->all_stay)
        return;
    filter->active_count = filter->asks_connection = 0;
    for (i = 0; i < filter->rule_count; i++)
        if (ina_rule_acts(&filter->rules[i], now)) {
            filter->active[filter->active_count++] = &filter->rules[i];
            filter->asks_connection |= filter->rules[i].conditions & (INA_IF_OFFSET | INA_IF_RANK);
            staying += filter->rules[i].stop_ns == INA_FOREVER;
        }
    filter->all_stay = staying == filter->rule_count;
}

/* Whether a rule that may strike a frame takes it away for certain. Where it is the first that may, it does. */
static int loses(const struct ina_rule *rule, const struct ina_packet *packet)
{
    return rule->kind == INA_LOSS && !rule->conditions && !packet->roce;
}

/* What becomes of the frame, after find_active. One that waits for Python is not counted. `lost`: the rule that takes it
 * away; NULL: Python decides on that, too. */
static int decide(struct filter *filter, const __u8 *frame, __u32 size, struct ina_packet *packet, __u32 *occurrence,
                  const struct ina_rule **lost)
{
    const struct ina_connection *connection;
    __u8 head[INA_HEAD_V6];
    struct entry *entry;
    int touched;
    __u32 i;

    if (size >= INA_HEAD_V6) {
        touched = !ina_parse(frame, size, packet);
    } else {
        memset(head, 0, sizeof(head));
        memcpy(head, frame, size);
        touched = !ina_parse(head, size, packet);
    }
    if (touched)
        ina_not_roce(packet, ina_crc32(0, frame, size), size);
    entry = find(filter, packet->key);
    touched = !entry || entry->waiting;
    connection = filter->asks_connection ? connection_of(filter, packet->flow) : NULL;
    if (!entry)
        return INA_ASKS;
    for (i = 0; i < filter->active_count && !touched; i++)
        if (may_strike(filter->active[i], packet, entry->count + 1, connection)) {
            if (lost && loses(filter->active[i], packet)) {
                *lost = filter->active[i];
                *occurrence = ++entry->count;
                return INA_LOST;
            }
            touched = 1;
        }
    if (touched) {
        entry->waiting++;
        return INA_ASKS;
    }
    *occurrence = ++entry->count;
    return INA_PASSES;
}

/* passes[i] for rows start .. count-1 of `frames` (rows of `stride` bytes); a row that passes is counted. */
void ina_filter_screen(struct filter *filter, const __u8 *frames, __u64 stride, const __s32 *lengths, __u32 start,
                       __u32 count, __s64 now, __u8 *passes)
{
    struct ina_packet packet;
    __u32 row, occurrence;

    find_active(filter, now);
    for (row = start; row < count; row++)
        passes[row - start] =
            decide(filter, frames + row * stride, lengths[row], &packet, &occurrence, NULL) == INA_PASSES;
}

/* acts.py: jittered */
static __s64 jittered(__s64 delay, __s64 jitter, __u64 number)
{
    __s64 moved = delay - jitter + (__s64)((unsigned __int128)number * (__u64)(2 * jitter + 1) >> 64);

    return moved > 0 ? moved : 0;
}

int ina_link_pass(struct ina_link *link, const uint8_t *frame, int32_t length, int64_t now, int64_t *at)
{
    return ina_link_decide(link, frame, length, now, at, NULL) == INA_PASSES;
}

int ina_link_decide(struct ina_link *link, const uint8_t *frame, int32_t length, int64_t now, int64_t *at,
                    struct ina_loss *loss)
{
    struct filter *filter = link->filter;
    const struct ina_rule *lost = NULL;
    struct ina_packet packet;
    __s64 late = link->delay_ns;
    __u32 occurrence;
    int found;

    if (now >= link->heals_at)
        return INA_ASKS;
    find_active(filter, now);
    found = decide(filter, frame, (__u32)length, &packet, &occurrence, loss ? &lost : NULL);
    if (found == INA_LOST)
        *loss = (struct ina_loss){lost - filter->rules, packet.key, occurrence};
    if (found != INA_PASSES)
        return found;
    if (link->jitter_ns)
        late = jittered(late, link->jitter_ns, ina_draw(link->stream, packet.key, occurrence, 0, INA_JITTER));
    *at = now + late > link->horizon ? now + late : link->horizon;
    link->horizon = *at;
    if (link->overtaken_at < 0)
        link->overtaken_at = *at;
    return INA_PASSES;
}

/* For the test that compares Python, C and eBPF. `at` has five words for each identity: flow, packet word, occurrence, copy,
 * purpose. */
void ina_draw_many(__u64 stream, const __u64 *at, __u64 count, __u64 *numbers)
{
    __u64 i;

    for (i = 0; i < count; i++, at += 5)
        numbers[i] = ina_draw(stream, ina_absorb(at[0], at[1]), at[2], at[3], at[4]);
}

__u32 ina_burst_state(__u64 stream, __u64 flow, __u32 psn, __u32 occurrence, __u32 copy, __u64 enter, __u64 recover)
{
    struct ina_burst_walk walk;
    __u32 back;

    ina_burst_begin(&walk, stream, flow, psn, occurrence, copy, enter, recover);
    for (back = 0; back < INA_LOOK_BACK && !ina_burst_step(&walk, back); back++)
        ;
    return ina_burst_end(&walk, enter, recover);
}

const struct ina_field ina_rule_layout[] = {
    INA_FIELD(ina_rule, stream), INA_FIELD(ina_rule, chance), INA_FIELD(ina_rule, recover),
    INA_FIELD(ina_rule, loss_bad), INA_FIELD(ina_rule, loss_good), INA_FIELD(ina_rule, opcodes),
    INA_FIELD(ina_rule, start_ns), INA_FIELD(ina_rule, stop_ns), INA_FIELD(ina_rule, period_ns),
    INA_FIELD(ina_rule, kind), INA_FIELD(ina_rule, conditions), INA_FIELD(ina_rule, flaps),
    INA_FIELD(ina_rule, attempt), INA_FIELD(ina_rule, psn_offset), INA_FIELD(ina_rule, syndrome),
    INA_FIELD(ina_rule, source_rank), INA_FIELD(ina_rule, bit), INA_FIELD(ina_rule, copy_bit),
    INA_FIELD(ina_rule, udp_port), INA_END(sizeof(struct ina_rule))
};

const struct ina_field ina_link_layout[] = {
    INA_FIELD(ina_link, filter), INA_FIELD(ina_link, stream), INA_FIELD(ina_link, delay_ns),
    INA_FIELD(ina_link, jitter_ns), INA_FIELD(ina_link, horizon), INA_FIELD(ina_link, heals_at),
    INA_FIELD(ina_link, overtaken_at),
    INA_END(sizeof(struct ina_link))
};

const struct ina_field ina_connection_layout[] = {
    INA_FIELD(ina_connection, rank), INA_FIELD(ina_connection, first_psn), INA_END(sizeof(struct ina_connection))
};
