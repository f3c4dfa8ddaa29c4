/* The faults of one link direction as a classifier on clsact ingress. One object per interface; everything it knows comes
 * through the maps. The dice, the matching and the identities are those of user space (rules.h).
 *
 * A clone re-enters this hook: its mark names a slot of `clones`, which says where in the rules it goes on. Frames that a
 * packet socket on all protocols reads at this interface were handed to it before this hook: where such a socket receives,
 * the interface is one side of a joint in the link, and `onward` is the other side. */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_helpers.h>

#include "../rules.h"

#define RULES 16
#define LOG_ENTRIES 65536
#define CLONE_SLOTS 4096
#define CLONE_MARK 0x1fa00000u
#define CLONE_MARK_MASK 0xfffff000u

enum counter { STRIKES_OF_RULE_0 = 0, UNCOUNTED = RULES, LOGGED, CLONES_MADE, COUNTERS };

struct settings {
    __u64 start_ns; /* bpf_ktime_get_ns at the start of the traffic; 0: not yet, and nothing is struck or counted */
    __u32 rules;
    __u32 onward; /* index of the interface out of which frames go on; 0: they go up the stack of this one */
    __u64 dilation; /* ns of the kernel's clock in one of the faults' windows and of the log */
    __u8 extension_bytes[256]; /* by opcode */
};

struct strike {
    __u64 at_ns;
    __u32 rule;
    __u32 copy;
    __u32 occurrence;
    __u32 roce;
    __u32 opcode;
    __u32 psn;
    __u32 qpn;
    __u32 version; /* 4 or 6 */
    __u32 src[4];
    __u32 dst[4];
    __u32 ready; /* set last */
    __u32 reserved;
};

struct clone {
    __u32 next_rule;
    __u32 copy;
    __u32 occurrence;
};

#define MAP(kind, keys, values, entries, map_bits)                                                                     \
    struct {                                                                                                           \
        __uint(type, kind);                                                                                            \
        __type(key, keys);                                                                                             \
        __type(value, values);                                                                                         \
        __uint(max_entries, entries);                                                                                  \
        __uint(map_flags, map_bits);                                                                                   \
    }

MAP(BPF_MAP_TYPE_ARRAY, __u32, struct settings, 1, 0) settings SEC(".maps");
MAP(BPF_MAP_TYPE_ARRAY, __u32, struct ina_rule, RULES, 0) rules SEC(".maps");
MAP(BPF_MAP_TYPE_ARRAY, __u32, __u64, COUNTERS, BPF_F_MMAPABLE) counters SEC(".maps");
MAP(BPF_MAP_TYPE_ARRAY, __u32, struct strike, LOG_ENTRIES, BPF_F_MMAPABLE) log_entries SEC(".maps");
MAP(BPF_MAP_TYPE_ARRAY, __u32, struct clone, CLONE_SLOTS, 0) clones SEC(".maps");
MAP(BPF_MAP_TYPE_HASH, __u64, struct ina_connection, 1 << 16, BPF_F_NO_PREALLOC) connections SEC(".maps");
MAP(BPF_MAP_TYPE_HASH, __u64, __u32, 1 << 22, BPF_F_NO_PREALLOC) seen SEC(".maps");

static const __u32 crc_of_nibble[16] = {
    0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
    0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
};

struct crc {
    struct __sk_buff *skb;
    __u32 size;
    __u32 value;
};

static long crc_byte(__u32 at, void *data)
{
    struct crc *crc = data;
    __u8 byte;

    if (at >= crc->size || bpf_skb_load_bytes(crc->skb, at, &byte, 1))
        return 1;
    crc->value = crc_of_nibble[(crc->value ^ byte) & 15] ^ crc->value >> 4;
    crc->value = crc_of_nibble[(crc->value ^ byte >> 4) & 15] ^ crc->value >> 4;
    return 0;
}

/* What the rules are applied to. */
struct state {
    struct __sk_buff *skb;
    struct ina_packet packet;
    struct ina_connection *connection;
    __s64 now;
    __u32 occurrence;
    __u32 copy;
    __u32 first_rule;
    __u32 rules;
    __u32 lost;
};

static __u64 *counter_of(__u32 number)
{
    return bpf_map_lookup_elem(&counters, &number);
}

static void tell_strike(struct state *state, __u32 rule)
{
    __u64 *strikes = counter_of(rule), *logged = counter_of(LOGGED);
    struct strike *strike;
    __u32 at, i;

    if (strikes)
        __sync_fetch_and_add(strikes, 1);
    if (!logged)
        return;
    at = __sync_fetch_and_add(logged, 1);
    strike = bpf_map_lookup_elem(&log_entries, &at); /* null behind the end: counted, not described */
    if (!strike)
        return;
    strike->at_ns = state->now;
    strike->rule = rule;
    strike->copy = state->copy;
    strike->occurrence = state->occurrence;
    strike->roce = state->packet.roce;
    strike->opcode = state->packet.opcode;
    strike->psn = state->packet.psn;
    strike->qpn = state->packet.qpn;
    strike->version = state->packet.transport_at == BTH_AT ? 4 : 6;
    for (i = 0; i < 4; i++) {
        strike->src[i] = state->packet.src[i];
        strike->dst[i] = state->packet.dst[i];
    }
    __sync_lock_test_and_set(&strike->ready, 1); /* an exchange orders the writes before it */
}

static long burst_step(__u32 back, void *walk)
{
    return ina_burst_step(walk, back);
}

static int dice(struct state *state, const struct ina_rule *rule)
{
    struct ina_burst_walk walk;

    if (rule->kind != INA_BURST)
        return ina_rule_strikes(rule, &state->packet, state->occurrence, state->copy);
    ina_burst_begin(&walk, rule->stream, state->packet.flow, state->packet.psn, state->occurrence, state->copy,
                    rule->chance, rule->recover);
    bpf_loop(INA_LOOK_BACK, burst_step, &walk, 0);
    return ina_burst_loses(rule, &state->packet, state->occurrence, state->copy,
                           ina_burst_end(&walk, rule->chance, rule->recover));
}

/* As flip_bit of workloads/wire/damage.py, the iCRC left stale. False when the kernel did not let us. */
static int corrupt(struct state *state, const struct ina_rule *rule)
{
    __u32 zero = 0, at = state->packet.transport_at, end = state->packet.end - ICRC_BYTES;
    __u32 payload_at, payload_end, byte, number;
    struct settings *known = bpf_map_lookup_elem(&settings, &zero);
    __u8 value, flags;

    if (!known || bpf_skb_load_bytes(state->skb, at + BTH_PAD - BTH_AT, &flags, 1))
        return 0;
    payload_at = at + BTH_BYTES + known->extension_bytes[state->packet.opcode & 255];
    payload_end = end - (flags >> BTH_PAD_SHIFT & BTH_PAD_MASK);
    number = rule->bit;
    if (number == INA_BIT_BY_HASH)
        number = ina_draw(rule->stream, state->packet.key, state->occurrence, state->copy, INA_BIT) >> 32;
    if (payload_end > payload_at) {
        number %= (payload_end - payload_at) * 8;
        byte = payload_at + number / 8;
    } else {
        payload_end = payload_at < end ? payload_at : end;
        number %= (payload_end - at - 1) * 8;
        byte = number / 8;
        byte = at + (byte < BTH_RESV6 - BTH_AT ? byte : byte + 1);
    }
    if (bpf_skb_load_bytes(state->skb, byte, &value, 1))
        return 0;
    value ^= 1 << (number & 7);
    return !bpf_skb_store_bytes(state->skb, byte, &value, 1, 0);
}

/* False when the sender is not ECN-capable or the frame is marked already. */
static int mark_ce(struct state *state)
{
    __u8 bytes[2];
    __u16 old, new;
    __u32 codepoint;

    if (bpf_skb_load_bytes(state->skb, IP_AT, bytes, 2))
        return 0;
    codepoint = bytes[0] >> 4 == 4 ? bytes[1] & 3 : bytes[1] >> 4 & 3;
    if (codepoint != 1 && codepoint != 2)
        return 0;
    __builtin_memcpy(&old, bytes, 2);
    bytes[1] |= bytes[0] >> 4 == 4 ? 3 : 3 << 4;
    __builtin_memcpy(&new, bytes, 2);
    bpf_skb_store_bytes(state->skb, IP_AT, bytes, 2, 0);
    if (bytes[0] >> 4 == 4)
        bpf_l3_csum_replace(state->skb, IP_CHECKSUM, old, new, 2);
    return 1;
}

/* False when the kernel had no room for the copy. */
static int duplicate(struct state *state, const struct ina_rule *rule, __u32 index)
{
    struct clone clone = {.next_rule = index + 1, .copy = state->copy | rule->copy_bit, .occurrence = state->occurrence};
    __u64 *made = counter_of(CLONES_MADE);
    __u32 slot, mark = state->skb->mark;
    long refused;

    if (!made)
        return 0;
    slot = __sync_fetch_and_add(made, 1) & (CLONE_SLOTS - 1);
    bpf_map_update_elem(&clones, &slot, &clone, BPF_ANY);
    state->skb->mark = CLONE_MARK | slot;
    refused = bpf_clone_redirect(state->skb, state->skb->ifindex, BPF_F_INGRESS);
    state->skb->mark = mark;
    return !refused;
}

static long apply_rule(__u32 index, void *data)
{
    struct state *state = data;
    const struct ina_rule *rule;
    int struck;

    if (index >= state->rules)
        return 1;
    if (index < state->first_rule)
        return 0;
    rule = bpf_map_lookup_elem(&rules, &index);
    if (!rule)
        return 1;
    if (!ina_rule_acts(rule, state->now) ||
        !ina_rule_means(rule, &state->packet, state->occurrence, state->connection) || !dice(state, rule))
        return 0;
    if (rule->kind == INA_ECN_MARK)
        struck = mark_ce(state);
    else if (rule->kind == INA_CORRUPT)
        struck = corrupt(state, rule);
    else if (rule->kind == INA_DUPLICATE)
        struck = duplicate(state, rule, index);
    else
        state->lost = struck = 1;
    if (struck)
        tell_strike(state, index);
    return state->lost;
}

/* Which occurrence it is, from 1; 0 when the table is full. */
static __u32 count(__u64 key)
{
    __u32 none = 0, *found = bpf_map_lookup_elem(&seen, &key);

    if (!found) {
        bpf_map_update_elem(&seen, &key, &none, BPF_NOEXIST);
        found = bpf_map_lookup_elem(&seen, &key);
    }
    return found ? __sync_fetch_and_add(found, 1) + 1 : 0;
}

static int go_on(const struct settings *known)
{
    return known->onward ? bpf_redirect(known->onward, 0) : TC_ACT_OK;
}

SEC("tc")
int faults(struct __sk_buff *skb)
{
    __u32 zero = 0, size = skb->len, take = size, slot;
    struct settings *known = bpf_map_lookup_elem(&settings, &zero);
    __u8 head[INA_HEAD_V6 + 2] = {};
    struct state state = {.skb = skb};
    struct clone *clone = 0;
    __u64 *uncounted;

    if ((skb->mark & CLONE_MARK_MASK) == CLONE_MARK) {
        slot = skb->mark & (CLONE_SLOTS - 1);
        skb->mark = 0;
        clone = bpf_map_lookup_elem(&clones, &slot);
    }
    if (!known)
        return TC_ACT_OK;
    state.now = bpf_ktime_get_ns() - known->start_ns;
    state.rules = known->rules;
    if (!known->start_ns || state.now < 0)
        return go_on(known);
    state.now = (__u64)state.now / known->dilation;
    if (take > INA_HEAD_V6)
        take = INA_HEAD_V6;
    if (take < 1 || bpf_skb_load_bytes(skb, 0, head, take))
        return go_on(known);
    if (!ina_parse(head, size, &state.packet)) {
        struct crc crc = {.skb = skb, .size = size, .value = 0xffffffff};

        bpf_loop(1 << 16, crc_byte, &crc, 0);
        ina_not_roce(&state.packet, ~crc.value, size);
    }
    if (clone) {
        state.first_rule = clone->next_rule;
        state.copy = clone->copy;
        state.occurrence = clone->occurrence;
    } else {
        state.occurrence = count(state.packet.key);
        if (!state.occurrence) {
            uncounted = counter_of(UNCOUNTED);
            if (uncounted)
                __sync_fetch_and_add(uncounted, 1);
            return go_on(known);
        }
    }
    state.connection = bpf_map_lookup_elem(&connections, &state.packet.flow);
    bpf_loop(RULES, apply_rule, &state, 0);
    return state.lost ? TC_ACT_SHOT : go_on(known);
}

char program_license[] SEC("license") = "Apache-2.0";
