/* The plain switch on batches, and how queued frames get into a batch. See switch_nodes/forwarding/fast.py. */
#include <stddef.h>

#include "frame_queue.h"

size_t frame_queue_size(void) { return sizeof(struct frame_queue); }
size_t mac_table_size(void) { return sizeof(struct mac_table); }

/* Rows row .. count-1 of a batch, as far as Python is not needed. Returns the row to go on with; *asked is 1 when Python
 * must take that row, 0 when it must make room (or all rows are done). */
int32_t forward_rows(
    const struct mac_table *table, struct frame_queue *queue, const uint8_t *frames, int64_t stride,
    const int32_t *lengths, const int32_t *ports, int32_t row, int32_t count, int32_t *asked)
{
    *asked = 0;
    for (; row < count; row++) {
        enum forwarded fate = forward_static(table, queue, frames + row * stride, lengths[row], ports[row]);
        if (fate == FORWARDED)
            continue;
        *asked = fate == FORWARD_ASK;
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
