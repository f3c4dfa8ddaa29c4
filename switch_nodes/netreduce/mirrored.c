/* Where the fields lie that fast.py mirrors. */
#include "layout.h"
#include "state.h"

const struct ina_field netreduce_ring_layout[] = {
    INA_FIELD(netreduce_ring, tag), INA_FIELD(netreduce_ring, bitmap), INA_FIELD(netreduce_ring, released),
    INA_FIELD(netreduce_ring, done), INA_FIELD(netreduce_ring, ce), INA_FIELD(netreduce_ring, length),
    INA_FIELD(netreduce_ring, header), INA_FIELD(netreduce_ring, header_length), INA_FIELD(netreduce_ring, payload),
    INA_FIELD(netreduce_ring, value), INA_FIELD(netreduce_ring, partial), INA_FIELD(netreduce_ring, message),
    INA_FIELD(netreduce_ring, announced), INA_FIELD(netreduce_ring, completed), INA_FIELD(netreduce_ring, entered),
    INA_FIELD(netreduce_ring, qpn), INA_FIELD(netreduce_ring, newest), INA_FIELD(netreduce_ring, plain_from),
    INA_FIELD(netreduce_ring, entry_message), INA_FIELD(netreduce_ring, entry_id), INA_FIELD(netreduce_ring, entry_psn),
    INA_FIELD(netreduce_ring, entry_length), INA_FIELD(netreduce_ring, cursor), INA_FIELD(netreduce_ring, edge),
    INA_FIELD(netreduce_ring, ingress), INA_FIELD(netreduce_ring, egress), INA_FIELD(netreduce_ring, ranks),
    INA_FIELD(netreduce_ring, uplinks), INA_FIELD(netreduce_ring, receive_vas), INA_FIELD(netreduce_ring, sent_order),
    INA_FIELD(netreduce_ring, came), INA_FIELD(netreduce_ring, everyone),
    INA_FIELD(netreduce_ring, row), INA_FIELD(netreduce_ring, header_row), INA_FIELD(netreduce_ring, size),
    INA_FIELD(netreduce_ring, window), INA_FIELD(netreduce_ring, banks), INA_FIELD(netreduce_ring, message_packets),
    INA_FIELD(netreduce_ring, mtu), INA_FIELD(netreduce_ring, entries), INA_FIELD(netreduce_ring, op),
    INA_FIELD(netreduce_ring, dtype), INA_FIELD(netreduce_ring, asap), INA_FIELD(netreduce_ring, id),
    INA_FIELD(netreduce_ring, group), INA_FIELD(netreduce_ring, connections), INA_FIELD(netreduce_ring, uplink_count),
    INA_FIELD(netreduce_ring, leaf), INA_FIELD(netreduce_ring, spine),
    INA_FIELD(netreduce_ring, came_columns), INA_FIELD(netreduce_ring, unused), INA_END(sizeof(struct netreduce_ring))
};

const struct ina_field netreduce_switch_layout[] = {
    INA_FIELD(netreduce_switch, rings), INA_FIELD(netreduce_switch, queue), INA_FIELD(netreduce_switch, macs),
    INA_FIELD(netreduce_switch, counters), INA_FIELD(netreduce_switch, log), INA_FIELD(netreduce_switch, log_rows),
    INA_FIELD(netreduce_switch, log_used), INA_FIELD(netreduce_switch, room_frames),
    INA_FIELD(netreduce_switch, room_bytes), INA_FIELD(netreduce_switch, ring_count),
    INA_FIELD(netreduce_switch, why), INA_FIELD(netreduce_switch, combine_length),
    INA_FIELD(netreduce_switch, combine_op), INA_END(sizeof(struct netreduce_switch))
};
