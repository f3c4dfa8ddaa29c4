/* Octets of the INA header.
 * Made by `python -m tests.support.layouts` from the layouts in Python: change those. */
#ifndef INA_INA_LAYOUT_H
#define INA_INA_LAYOUT_H

enum {
    /* INA header: decided here (docs/netreduce.md) */
    INA_HEADER_MAGIC = 0,
    INA_HEADER_VERSION = 1,
    INA_HEADER_OP = 2,
    INA_HEADER_OP_SHIFT = 4, INA_HEADER_OP_MASK = 0xf,
    INA_HEADER_DTYPE = 2,
    INA_HEADER_DTYPE_SHIFT = 0, INA_HEADER_DTYPE_MASK = 0xf,
    INA_HEADER_FLAGS = 3,
    INA_HEADER_FLAGS_SHIFT = 2, INA_HEADER_FLAGS_MASK = 0x3f,
    INA_HEADER_END = 3,
    INA_HEADER_END_SHIFT = 1, INA_HEADER_END_MASK = 0x1,
    INA_HEADER_AGG = 3,
    INA_HEADER_AGG_SHIFT = 0, INA_HEADER_AGG_MASK = 0x1,
    INA_HEADER_RING_ID = 4,
    INA_HEADER_RANK = 6,
    INA_HEADER_SIZE = 7,
    INA_HEADER_MSG_ID = 8,
    INA_HEADER_MSG_LEN_PKTS = 12,
    INA_HEADER_RANK_HIGH = 14,
    INA_HEADER_SIZE_HIGH = 15,
    INA_HEADER_BYTES = 16,
    INA_HEADER_MAGIC_VALUE = 0xa7, INA_HEADER_VERSION_VALUE = 1
};
enum { OP_SUM = 0, OP_MAX = 1, OP_XOR = 2 };
enum { FLOAT32 = 0, INT32 = 1, INT32SAT = 2 };

#endif
