/* The plain switch on batches, and how queued frames get into a batch. See switch_nodes/forwarding/fast.py. */
#include <stddef.h>

#include "frame_queue.h"
#include "layout.h"

/* Rows row .. count-1 of a batch, as far as Python is not needed. Returns the row to go on with; *asked is 1 when Python
 * must take that row, 0 when it must make room (or all rows are done). */
int32_t forward_rows(
    const struct mac_table *table, struct frame_queue *queue, const uint8_t *frames, int64_t stride,
    const int32_t *lengths, const int32_t *ports, int32_t row, int32_t count, int32_t *asked)
{
    *asked = 0;
    for (; row < count; row++) {
        enum forwarded done = forward_static(table, queue, frames + row * stride, lengths[row], ports[row]);
        if (done == FORWARDED)
            continue;
        *asked = done == FORWARD_ASK;
        break;
    }
    return row;
}

/* Move the oldest frames to rows row .. capacity-1. Returns the number of rows in use then; -1 when a frame is longer
 * than a row. */
int32_t queue_fill(
    struct frame_queue *queue, uint8_t *frames, int64_t stride, int32_t *lengths, int32_t *ports, int32_t row,
    int32_t capacity)
{
    while (row < capacity && queue->first < queue->last) {
        int64_t from = queue->first;
        if (queue->length[from] > stride)
            return -1;
        memcpy(frames + row * stride, queue->data + queue->start[from], (size_t)queue->length[from]);
        lengths[row] = queue->length[from];
        ports[row] = queue->port[from];
        queue->first++;
        row++;
    }
    if (queue->first == queue->last)
        queue->first = queue->last = queue->used = 0;
    return row;
}

const struct ina_field frame_queue_layout[] = {
    INA_FIELD(frame_queue, data), INA_FIELD(frame_queue, start), INA_FIELD(frame_queue, length),
    INA_FIELD(frame_queue, port), INA_FIELD(frame_queue, capacity), INA_FIELD(frame_queue, rows),
    INA_FIELD(frame_queue, first), INA_FIELD(frame_queue, last), INA_FIELD(frame_queue, used),
    INA_END(sizeof(struct frame_queue))
};

const struct ina_field mac_table_layout[] = {
    INA_FIELD(mac_table, mac), INA_FIELD(mac_table, port), INA_FIELD(mac_table, group_start),
    INA_FIELD(mac_table, group_port), INA_FIELD(mac_table, sprayed), INA_FIELD(mac_table, salt),
    INA_FIELD(mac_table, bits), INA_FIELD(mac_table, unused), INA_END(sizeof(struct mac_table))
};
