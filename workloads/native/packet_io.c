/* Batched AF_PACKET I/O on the rows of a FrameBatch; bound by switch_nodes/dataplane/native_io.py.
 *
 * One call waits on all sockets and a control descriptor and drains what is ready; one call sends rows, grouped by port,
 * in row order within a port. Message headers and iovecs are laid out once per batch. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include "layout.h"

enum send_outcome { WAITING = 0, SENT = 1, QUEUE_FULL = 2, LINK_DOWN = 3, MISFIT = 4 };

enum port_state {
    OPEN = 0,
    FULL = 1,   /* the socket buffer is full: POLLOUT tells when half of it is free */
    REFUSED = 2 /* the qdisc refused although the socket has room: POLLOUT would tell nothing, so try again later */
};

#define REFUSED_RETRY_NS 1000000
#define TIMER_SLACK_NS 1000 /* the default of 50 us would be added to every sleep */

struct rows {
    uint8_t *frames;
    int32_t *lengths;
    int32_t *ports;
    uint8_t *outcomes;
    int32_t capacity;
    int32_t stride;
    struct iovec *in_iov, *out_iov;
    struct mmsghdr *in, *out;
    int32_t *order;
};

/* The first part is mirrored in Python. */
struct packet_io {
    int64_t frames_in, bytes_in, frames_out, bytes_out;
    int64_t queue_drops; /* refused by the qdisc or a full socket buffer, without backpressure */
    int64_t link_drops;  /* the interface was down or gone */
    int64_t misfits;     /* longer than a row, longer than the MTU, or no Ethernet header */
    int32_t control_ready;
    int32_t refused; /* rows that the last send lost, for whatever reason */

    int32_t ports;
    int32_t backpressure;
    int32_t frame_bytes; /* what one full-sized frame takes of a socket buffer */
    int32_t turn;        /* the port that is drained first */
    int32_t *send_buffers;
    int32_t *counts;
    uint8_t *states;
    struct pollfd *polls; /* ports, then the control descriptor (-1: none) */
};

void packet_io_free(struct packet_io *io)
{
    if (!io)
        return;
    free(io->send_buffers);
    free(io->counts);
    free(io->states);
    free(io->polls);
    free(io);
}

struct packet_io *packet_io_new(const int32_t *fds, const int32_t *send_buffers, int32_t ports, int32_t control,
                                int32_t backpressure, int32_t frame_bytes)
{
    struct packet_io *io = calloc(1, sizeof *io);
    if (!io)
        return NULL;
    size_t n = (size_t)ports;
    io->ports = ports;
    io->backpressure = backpressure;
    io->frame_bytes = frame_bytes;
    io->send_buffers = malloc((n + 1) * sizeof *io->send_buffers);
    io->counts = malloc((n + 1) * sizeof *io->counts);
    io->states = calloc(n + 1, 1);
    io->polls = calloc(n + 1, sizeof *io->polls);
    if (!io->send_buffers || !io->counts || !io->states || !io->polls) {
        packet_io_free(io);
        return NULL;
    }
    memcpy(io->send_buffers, send_buffers, n * sizeof *io->send_buffers);
    for (int32_t p = 0; p < ports; p++)
        io->polls[p].fd = fds[p];
    io->polls[ports].fd = control;
    io->polls[ports].events = POLLIN;
    return io;
}

void packet_rows_free(struct rows *rows)
{
    if (!rows)
        return;
    free(rows->in_iov);
    free(rows->out_iov);
    free(rows->in);
    free(rows->out);
    free(rows->order);
    free(rows);
}

struct rows *packet_rows_new(uint8_t *frames, int32_t *lengths, int32_t *ports, uint8_t *outcomes, int32_t capacity,
                             int32_t stride)
{
    struct rows *rows = calloc(1, sizeof *rows);
    if (!rows)
        return NULL;
    size_t n = (size_t)capacity;
    *rows = (struct rows){.frames = frames, .lengths = lengths, .ports = ports, .outcomes = outcomes};
    rows->capacity = capacity;
    rows->stride = stride;
    rows->in_iov = calloc(n, sizeof *rows->in_iov);
    rows->out_iov = calloc(n, sizeof *rows->out_iov);
    rows->in = calloc(n, sizeof *rows->in);
    rows->out = calloc(n, sizeof *rows->out);
    rows->order = calloc(n, sizeof *rows->order);
    if (!rows->in_iov || !rows->out_iov || !rows->in || !rows->out || !rows->order) {
        packet_rows_free(rows);
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        rows->in_iov[i] = rows->out_iov[i] = (struct iovec){frames + i * (size_t)stride, (size_t)stride};
        rows->in[i].msg_hdr.msg_iov = &rows->in_iov[i];
        rows->in[i].msg_hdr.msg_iovlen = 1;
        rows->out[i].msg_hdr.msg_iovlen = 1;
    }
    return rows;
}

void packet_io_fine_timers(void) { prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS, 0, 0, 0); }

static int64_t monotonic_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int sleep_on(struct packet_io *io, int64_t timeout_ns)
{
    struct timespec t = {timeout_ns / 1000000000, timeout_ns % 1000000000};
    return ppoll(io->polls, (nfds_t)io->ports + 1, timeout_ns < 0 ? NULL : &t, NULL);
}

/* Sleeps until something is ready or `timeout_ns` (< 0: for ever) is over; the last `spin_ns` of a timeout without
 * sleeping. What ppoll returns. */
static int wait_for(struct packet_io *io, int64_t timeout_ns, int64_t spin_ns)
{
    if (spin_ns <= 0 || timeout_ns <= 0)
        return sleep_on(io, timeout_ns);
    int64_t end = monotonic_ns() + timeout_ns;
    if (timeout_ns > spin_ns) {
        int ready = sleep_on(io, timeout_ns - spin_ns);
        if (ready)
            return ready;
    }
    for (;;) {
        int ready = sleep_on(io, 0);
        if (ready || monotonic_ns() >= end)
            return ready;
    }
}

/* Drains one socket into rows from `at` on; the new end. */
static int32_t drain(struct packet_io *io, struct rows *rows, int32_t port, int32_t at, int32_t limit)
{
    /* With MSG_TRUNC the length is that on the wire, so that a frame that did not fit is seen. */
    int got = recvmmsg(io->polls[port].fd, rows->in + at, (unsigned)limit, MSG_DONTWAIT | MSG_TRUNC, NULL);
    int32_t end = at;
    for (int i = 0; i < got; i++) { /* got < 0: nothing there, or the link went down, which this call has cleared */
        int32_t row = at + i, length = (int32_t)rows->in[row].msg_len;
        if (length > rows->stride) {
            io->misfits++;
            continue;
        }
        if (end != row)
            memcpy(rows->in_iov[end].iov_base, rows->in_iov[row].iov_base, (size_t)length);
        rows->lengths[end] = length;
        rows->ports[end] = port;
        io->bytes_in += length;
        end++;
    }
    io->frames_in += end - at;
    return end;
}

/* Waits, then receives into rows 0 .. n-1, at most `quota` frames from one socket. n; or -EBADF when a socket is closed. */
int32_t packet_io_receive(struct packet_io *io, struct rows *rows, int64_t timeout_ns, int64_t spin_ns, int32_t quota)
{
    int32_t ports = io->ports, end = 0;
    for (int32_t p = 0; p < ports; p++) {
        io->polls[p].events = io->states[p] == FULL ? POLLIN | POLLOUT : POLLIN;
        if (io->states[p] == REFUSED && (timeout_ns < 0 || timeout_ns > REFUSED_RETRY_NS))
            timeout_ns = REFUSED_RETRY_NS;
    }
    int ready = wait_for(io, timeout_ns, spin_ns);
    io->control_ready = ready > 0 && io->polls[ports].revents != 0;
    for (int32_t p = 0; p < ports; p++)
        if (io->states[p] == REFUSED || (ready > 0 && io->polls[p].revents & (POLLOUT | POLLERR)))
            io->states[p] = OPEN;
    if (ready <= 0)
        return 0; /* time is over, or a signal came: its handler is the caller's */
    int32_t first = io->turn;
    for (int32_t i = 0; i < ports && end < rows->capacity; i++) {
        int32_t p = first + i < ports ? first + i : first + i - ports, room = rows->capacity - end;
        short revents = io->polls[p].revents;
        if (revents & POLLNVAL)
            return -EBADF;
        if (revents & (POLLIN | POLLERR))
            end = drain(io, rows, p, end, room < quota ? room : quota);
        if (end == rows->capacity)
            io->turn = p + 1 < ports ? p + 1 : 0; /* who was not reached is first next time */
    }
    return end;
}

/* How many full-sized frames every port takes now; 0 also makes the next receive wait for room. */
int32_t packet_io_room(struct packet_io *io)
{
    int32_t least = INT32_MAX;
    for (int32_t p = 0; p < io->ports; p++) {
        int queued = 0;
        if (io->states[p] != OPEN)
            return 0;
        if (ioctl(io->polls[p].fd, SIOCOUTQ, &queued) < 0)
            queued = 0;
        int32_t room = (io->send_buffers[p] - queued + io->frame_bytes - 1) / io->frame_bytes;
        if (queued >= io->send_buffers[p]) {
            io->states[p] = FULL;
            return 0;
        }
        least = room < least ? room : least;
    }
    return least;
}

/* Sends the n messages at `out`, which belong to rows `order`; how many stay (backpressure only). */
static int32_t send_port(struct packet_io *io, struct rows *rows, int32_t port, struct mmsghdr *out,
                         const int32_t *order, int32_t n)
{
    for (int32_t at = 0; at < n;) {
        int sent = sendmmsg(io->polls[port].fd, out + at, (unsigned)(n - at), MSG_DONTWAIT);
        for (int i = 0; i < sent; i++, at++) {
            rows->outcomes[order[at]] = SENT;
            io->frames_out++;
            io->bytes_out += rows->lengths[order[at]];
        }
        if (sent >= 0)
            continue;
        if (errno == EINTR)
            continue;
        if (errno == EAGAIN || errno == ENOBUFS) {
            if (io->backpressure) {
                io->states[port] = errno == EAGAIN ? FULL : REFUSED;
                return n - at;
            }
            rows->outcomes[order[at++]] = QUEUE_FULL;
            io->queue_drops++;
        } else if (errno == ENETDOWN || errno == ENXIO || errno == ENODEV) {
            rows->outcomes[order[at++]] = LINK_DOWN;
            io->link_drops++;
        } else {
            rows->outcomes[order[at++]] = MISFIT;
            io->misfits++;
        }
        io->refused++;
    }
    return 0;
}

/* Sends rows 0 .. count-1 that still wait (`fresh`: all of them). How many wait now; -EINVAL for a port or a length that
 * cannot be. */
int32_t packet_io_send(struct packet_io *io, struct rows *rows, int32_t count, int32_t fresh)
{
    int32_t *starts = io->counts, waiting = 0, total = 0;
    io->refused = 0;
    if (fresh)
        memset(rows->outcomes, WAITING, (size_t)count);
    memset(starts, 0, ((size_t)io->ports + 1) * sizeof *starts);
    for (int32_t i = 0; i < count; i++) {
        if (rows->ports[i] < 0 || rows->ports[i] >= io->ports || rows->lengths[i] < 0 || rows->lengths[i] > rows->stride)
            return -EINVAL;
        starts[rows->ports[i]] += rows->outcomes[i] == WAITING;
    }
    for (int32_t p = 0; p <= io->ports; p++) {
        int32_t n = starts[p];
        starts[p] = total;
        total += n;
    }
    for (int32_t i = 0; i < count; i++) {
        if (rows->outcomes[i] != WAITING)
            continue;
        int32_t slot = starts[rows->ports[i]]++;
        rows->order[slot] = i;
        rows->out_iov[i].iov_len = (size_t)rows->lengths[i];
        rows->out[slot].msg_hdr.msg_iov = &rows->out_iov[i];
    }
    for (int32_t p = 0, at = 0; p < io->ports; p++) {
        int32_t n = starts[p] - at; /* starts[p] is the end of port p by now */
        if (n && io->states[p] == OPEN)
            waiting += send_port(io, rows, p, rows->out + at, rows->order + at, n);
        else
            waiting += n;
        at += n;
    }
    return waiting;
}

const struct ina_field packet_io_layout[] = {
    INA_FIELD(packet_io, frames_in), INA_FIELD(packet_io, bytes_in), INA_FIELD(packet_io, frames_out),
    INA_FIELD(packet_io, bytes_out), INA_FIELD(packet_io, queue_drops), INA_FIELD(packet_io, link_drops),
    INA_FIELD(packet_io, misfits), INA_FIELD(packet_io, control_ready), INA_FIELD(packet_io, refused),
    INA_END(offsetof(struct packet_io, ports))
};
