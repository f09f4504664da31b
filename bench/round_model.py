#!/usr/bin/env python3
"""The model of a round's time that docs/scale.md describes: its tables, from the constants measured there.

    bench/round_model.py            the tables, as Markdown

What was measured stands here as data; every other number is computed from it.
"""
import math
from dataclasses import dataclass


@dataclass
class Workload:
    name: str
    clients: int  # that take part in a round
    parameters: int
    one: float  # ms a round, one process of one thread
    two: float  # ms a round, one process of two threads
    ranks2: float  # ms a round, two ranks of one thread
    ranks4: float  # ms a round, four ranks of one thread
    half: float = 0  # ms a round of half (femnist-cnn: a third) as many clients, one process of one thread
    half_clients: int = 0

    @property
    def bytes(self):
        return 4 * self.parameters

    @property
    def client_s(self):  # what one client costs one core
        return self.one / 1e3 / self.clients

    @property
    def cores(self):  # what the two cores together do, in cores
        return self.one / self.two


# Fastest of three (femnist-cnn, wide mlp: of two) runs each; `train_s` of `run --json` by rounds.
MEASURED = [
    Workload("softmax, 1 epoch", 100, 7850, 10.00, 7.27, 10.98, 12.03, 6.32, 50),
    Workload("softmax, 5 epochs", 100, 7850, 44.26, 27.21, 37.15, 30.92, 22.46, 50),
    Workload("mlp 128", 100, 101770, 58.82, 42.18, 58.88, 50.13, 31.09, 50),
    Workload("cnn 20/50", 20, 33580, 342.7, 192.7, 183.6, 197.8, 170.7, 10),
    Workload("femnist-cnn", 12, 6497162, 2003.6, 1184.9, 1133.6, 1296.6, 702.9, 4),
    Workload("mlp 14000 on one sample", 100, 994010, 145.9, 143.5, 256.3, 191.9),
]
# Measured after the constants below were set: what they predict of others.
HELD_OUT = [
    Workload("softmax, 20 epochs", 100, 7850, 64.07, 39.55, 57.55, 42.70),
    Workload("mlp 512", 60, 407050, 143.03, 86.47, 101.67, 105.33),
    Workload("cnn 16/32", 30, 18378, 237.2, 135.1, 132.05, 136.6),
]

# On two cores, where ranks share them: set by hand to fit MEASURED on 2 and 4 ranks.
WAIT_S = 1.8e-3  # from the end of a unit on another rank until that rank has the next one
WAIT_BYTES_S = 0.4e9  # and more for the answer's bytes
RANK_S = 0.8e-3  # per rank and round: calls, wake-ups
COPY_BYTES_S = 2.5e9  # processor time of sending and receiving, both ends together
CORES = 2

# On a cluster: a rank per node, whose speaking thread has a core to itself.
NODES = 100
THREADS = 64
LINK_BYTES_S = 2.0e9  # TCP over loopback, here
LATENCY_S = 8e-6
UNIT_S = 25e-6  # rank 0's own time for a unit: to choose it, to send it, to read its answer
REPORT_BYTES = 56  # what is told of a client that trained


def sum_bytes_s(size):  # ordered sums at rank 0, in bytes of models
    return 7e9 if size < 1e6 else 4.5e9


def merge_bytes_s(size):  # adding two arrays of 64-bit integers, in bytes of one of them
    return 40e9 if size < 2e6 else 10e9


def speed(busy, cores):
    """What `busy` threads do together, in cores, where two cores do `cores`."""
    if busy <= 1:
        return busy
    return 1 + (cores - 1) * (busy - 1) if busy < CORES else cores


def predicted_ms(work, ranks):
    """A round on so many ranks of one thread, on the machine of two cores."""
    wait = WAIT_S + work.bytes / WAIT_BYTES_S
    unit = work.client_s
    for _ in range(500):  # a unit takes longer the more threads share the cores, and the less they wait
        busy = 1 + (ranks - 1) * min(1, 2 * unit / (unit + wait))
        unit += 0.2 * (work.client_s * busy / speed(busy, work.cores) - unit)
    own = 1 / unit
    others = (ranks - 1) * min(1 / unit, 2 / (unit + wait))
    seconds = work.clients / (own + others)
    travelled = (work.clients * others / (own + others) + ranks - 1) * work.bytes
    return 1e3 * (seconds + ranks * RANK_S + travelled / COPY_BYTES_S)


def print_check(works):
    print("| workload | model | ms a client | cores | ranks | predicted ms | measured ms | error |")
    print("|---|---|---|---|---|---|---|---|")
    for work in works:
        head = f"| {work.name}, {{}} clients | {work.bytes / 1e6:.2f} MB | {1e3 * work.client_s:.3g} | {work.cores:.2f} |"
        rows = []
        if work.half_clients:
            rows.append((1, work.half_clients, 1e3 * work.client_s * work.half_clients, work.half))
        rows.append((2, work.clients, predicted_ms(work, 2), work.ranks2))
        rows.append((4, work.clients, predicted_ms(work, 4), work.ranks4))
        for ranks, clients, told, seen in rows:
            error = round(100 * (told / seen - 1))
            print(head.format(clients), f"{ranks} | {told:.1f} | {seen:.1f} | {error:+d} % |")


def seconds_text(seconds):
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.2g} s" if seconds >= 0.1 else f"{1e3 * seconds:.2g} ms"


def print_cluster():
    levels = math.ceil(math.log2(NODES))
    print("| workload | clients a round | training | rank 0 | a round now | exact sums, dealing | a round then | times faster |")
    print("|---|---|---|---|---|---|---|---|")
    for work in (MEASURED[0], MEASURED[2], MEASURED[3], MEASURED[4]):
        for clients in (1_000, 10_000, 100_000):
            # No unit is cut, so that a round takes one client's time at least.
            training = max(work.client_s, clients * work.client_s / (NODES * THREADS))
            broadcast = levels * (LATENCY_S + work.bytes / LINK_BYTES_S)
            rank0 = clients * (UNIT_S + work.bytes / LINK_BYTES_S + work.bytes / sum_bytes_s(work.bytes))
            now = broadcast + max(training, rank0)
            up = 2 * work.bytes  # eight bytes a parameter
            tree = levels * (LATENCY_S + up / LINK_BYTES_S + up / merge_bytes_s(up))
            # The sums of a node's threads first, 64 of them on 64 threads in a tree of six levels.
            inside = math.ceil(math.log2(THREADS)) * up / merge_bytes_s(up)
            # Rank 0 deals three blocks of clients to every node, and reads a report of each client.
            dealt = 3 * NODES * UNIT_S + clients * REPORT_BYTES / LINK_BYTES_S
            then = broadcast + training + inside + tree + dealt
            cells = [training, rank0, now, inside + tree + dealt, then]
            print(f"| {work.name} | {clients:,} | {' | '.join(map(seconds_text, cells))} | {now / then:.0f} |")


def print_width():
    print("| clients a round | samples | L | S | quantum | error of the mean, at most | of double sums, at most |")
    print("|---|---|---|---|---|---|---|")
    reach = 3  # changes are below 2^3
    for clients, mean in ((1_000, 100), (10_000, 100), (100_000, 100), (10_000_000, 100)):
        samples = clients * mean
        bits = math.ceil(math.log2(samples))
        scale = 62 - reach - bits
        print(f"| {clients:,} | {samples:,} | {bits} | {scale} | 2^-{scale} | {0.5 / 2**scale * clients / samples:.1e} "
              f"| {clients * 2**-53:.1e} |")


if __name__ == "__main__":
    print_check(MEASURED)
    print()
    print_check(HELD_OUT)
    print()
    print_cluster()
    print()
    print_width()
