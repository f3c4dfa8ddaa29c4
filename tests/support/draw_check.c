/* Draws for identities that a test put into an array map, with the header that the fault program uses. */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_helpers.h>

#include "rules.h"

#define ENTRIES 1000000

struct question {
    __u64 flow, word, occurrence, copy, purpose, number, bad, reserved;
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __type(key, __u32);
    __type(value, struct question);
    __uint(max_entries, ENTRIES);
    __uint(map_flags, BPF_F_MMAPABLE);
} questions SEC(".maps");

struct plan {
    __u64 stream, enter, recover, count;
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __type(key, __u32);
    __type(value, struct plan);
    __uint(max_entries, 1);
} plan SEC(".maps");

static long step(__u32 back, void *walk)
{
    return ina_burst_step(walk, back);
}

static long answer(__u32 index, void *data)
{
    struct plan *asked = data;
    struct question *q = bpf_map_lookup_elem(&questions, &index);
    struct ina_burst_walk walk;

    if (!q || index >= asked->count)
        return 1;
    q->number = ina_draw(asked->stream, ina_absorb(q->flow, q->word), q->occurrence, q->copy, q->purpose);
    ina_burst_begin(&walk, asked->stream, q->flow, q->word & PSN_MASK, q->occurrence, q->copy, asked->enter,
                    asked->recover);
    bpf_loop(INA_LOOK_BACK, step, &walk, 0);
    q->bad = ina_burst_end(&walk, asked->enter, asked->recover);
    return 0;
}

SEC("tc")
int draw_all(struct __sk_buff *skb)
{
    __u32 zero = 0;
    struct plan *asked = bpf_map_lookup_elem(&plan, &zero), copy;

    if (!asked)
        return TC_ACT_SHOT;
    copy = *asked;
    bpf_loop(ENTRIES, answer, &copy, 0);
    return TC_ACT_OK;
}

char program_license[] SEC("license") = "Apache-2.0";
