/* openmpi FOLDER ELEMENTS: one MPI_Allreduce of float32, in the words of exchange.py. A small one goes before it, which
 * makes the connections. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define PERIOD 1021 /* elements repeat after that many; sums of these small whole numbers are exact in float32 */
#define FIRST 16384 /* elements of the small one */
#define STEP_US 1000

static long long now_ns(void)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1000000000LL + at.tv_nsec;
}

static void tell(const char *folder, const char *what, int rank, const char *text)
{
    char path[4096];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s.%d", folder, what, rank);
    file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file))
        MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv)
{
    int rank, ranks, right = 1;
    long elements, i;
    long long start, end;
    float *data, *sum;
    char text[128], go[4096];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    elements = argc == 3 ? atol(argv[2]) : 0;
    data = calloc(elements + FIRST, sizeof *data);
    sum = calloc(elements + FIRST, sizeof *sum);
    if (elements <= 0 || !data || !sum)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Allreduce(data, sum, FIRST, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    for (i = 0; i < elements; i++)
        data[i] = i % PERIOD + rank;
    MPI_Barrier(MPI_COMM_WORLD);
    tell(argv[1], "ready", rank, "\n");
    snprintf(go, sizeof go, "%s/go", argv[1]);
    while (access(go, F_OK))
        usleep(STEP_US);
    start = now_ns();
    MPI_Allreduce(data, sum, elements, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    end = now_ns();
    for (i = 0; i < elements; i++)
        right &= sum[i] == (float)(i % PERIOD * ranks + ranks * (ranks - 1) / 2);
    snprintf(text, sizeof text, "%lld %lld %d\n", start, end, right);
    tell(argv[1], "result", rank, text);
    MPI_Finalize();
    return 0;
}
