/* The dice of the faults in C, for user space and eBPF; `decide.py` is the reference and says where the constants come
 * from. Integers only. Both must give the same numbers for the same packet, so change neither without the other. */
#ifndef INA_DECIDE_H
#define INA_DECIDE_H

#include <linux/types.h>

#include "../../workloads/native/wire_layout.h"

#define INA_CHANCE_BITS 53
#define INA_LOOK_BACK 1024

enum ina_purpose {
    INA_STRIKE = 0,
    INA_BIT = 1,
    INA_JITTER = 2,
    INA_BURST_STEP = 3,
    INA_BURST_LOSS = 4,
    INA_BURST_START = 5,
};

#define INA_INLINE static inline __attribute__((always_inline))

INA_INLINE __u64 ina_absorb(__u64 state, __u64 word)
{
    __u64 value = (state ^ word) + 0x9e3779b97f4a7c15ull;

    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ull;
    value = (value ^ value >> 27) * 0x94d049bb133111ebull;
    return value ^ value >> 31;
}

INA_INLINE __u64 ina_flow_v4(__u32 src, __u32 dst, __u32 qpn)
{
    return ina_absorb(ina_absorb(4, (__u64)src << 32 | dst), qpn);
}

/* The address halves in host order, most significant first. */
INA_INLINE __u64 ina_flow_v6(__u64 src_high, __u64 src_low, __u64 dst_high, __u64 dst_low, __u32 qpn)
{
    __u64 state = ina_absorb(ina_absorb(6, src_high), src_low);

    return ina_absorb(ina_absorb(ina_absorb(state, dst_high), dst_low), qpn);
}

INA_INLINE __u64 ina_frame_key(__u32 crc32, __u32 length)
{
    return ina_absorb(ina_absorb(0, crc32), length);
}

INA_INLINE __u64 ina_packet_word(__u32 opcode, __u32 psn, __u32 syndrome)
{
    return (__u64)psn | (__u64)opcode << 24 | (__u64)syndrome << 32;
}

INA_INLINE __u64 ina_question(__u32 occurrence, __u32 copy, __u32 purpose)
{
    return (__u64)occurrence | (__u64)copy << 32 | (__u64)purpose << 48;
}

INA_INLINE __u64 ina_draw(__u64 stream, __u64 identity, __u32 occurrence, __u32 copy, __u32 purpose)
{
    return ina_absorb(ina_absorb(stream, identity), ina_question(occurrence, copy, purpose));
}

INA_INLINE int ina_below(__u64 number, __u64 threshold)
{
    return number >> (64 - INA_CHANCE_BITS) < threshold;
}

/* One walk along the PSN line, backwards; see burst_is_bad in decide.py. */
struct ina_burst_walk {
    __u64 chain;
    __u64 low, high;
    __u32 psn;
    __u32 flips;
    __u32 odd;
    __u32 decided;
    __u32 bad;
};

INA_INLINE void ina_burst_begin(struct ina_burst_walk *walk, __u64 stream, __u64 flow, __u32 psn, __u32 occurrence,
                                __u32 copy, __u64 enter, __u64 recover)
{
    __u64 stay = (1ull << INA_CHANCE_BITS) - recover;

    walk->chain = ina_absorb(ina_absorb(stream, flow), ina_question(occurrence, copy, INA_BURST_STEP));
    walk->low = enter < stay ? enter : stay;
    walk->high = enter < stay ? stay : enter;
    walk->flips = stay < enter;
    walk->psn = psn;
    walk->odd = 0;
    walk->decided = 0;
    walk->bad = 0;
}

/* True when the state is known and no further step is needed. */
INA_INLINE int ina_burst_step(struct ina_burst_walk *walk, __u32 back)
{
    __u64 step = ina_absorb(walk->chain, (walk->psn - back) & PSN_MASK) >> (64 - INA_CHANCE_BITS);

    if (step < walk->low)
        walk->bad = !walk->odd;
    else if (step >= walk->high)
        walk->bad = walk->odd;
    else {
        walk->odd ^= walk->flips;
        return 0;
    }
    walk->decided = 1;
    return 1;
}

INA_INLINE int ina_burst_end(const struct ina_burst_walk *walk, __u64 enter, __u64 recover)
{
    __u64 start;

    if (walk->decided)
        return walk->bad;
    start = ina_absorb(walk->chain,
                       (__u64)((walk->psn - INA_LOOK_BACK) & PSN_MASK) | (__u64)INA_BURST_START << 48) >> 32;
    return (start * ((enter >> 22) + (recover >> 22)) >> 32 < enter >> 22) ^ walk->odd;
}

#endif
