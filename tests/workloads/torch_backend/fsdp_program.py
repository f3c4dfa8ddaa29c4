"""A fully sharded training (FSDP2) of a small transformer whose reference fits one process.

FSDP2 cuts each parameter along its first dimension into one shard for each rank. A reduce-scatter adds the gradients of
shard r in the order r + 1, r + 2, ..., r, then divides once by the number of ranks (AVG)."""

import argparse
import hashlib
import json
from collections import Counter

import torch
from torch import nn

VOCABULARY, LENGTH, WIDTH, HEADS, BATCH = 13, 8, 24, 2, 4


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.after = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.mix, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.wide, self.narrow = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x):
        split = self.mix(self.before(x)).view(*x.shape[:2], 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        seen = nn.functional.scaled_dot_product_attention(*split, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(x.shape))
        return x + self.narrow(torch.relu(self.wide(self.after(x))))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.place = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, words):
        x = self.embed(words) + self.place(torch.arange(LENGTH))
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def make_model():
    torch.manual_seed(0)
    return Transformer()


def batches(rank):
    """Running sums modulo the vocabulary: what a rank sees, step by step."""
    draw = torch.Generator().manual_seed(100 + rank)
    while True:
        words = torch.randint(VOCABULARY, (BATCH, LENGTH), generator=draw)
        yield words, words.cumsum(1) % VOCABULARY


def loss_of(model, batch):
    return nn.functional.cross_entropy(model(batch[0]).flatten(0, 1), batch[1].flatten())


def make_optimizer(model):
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=False)


def digest(tensors):
    return hashlib.sha256(
        b"".join(bytes(memoryview(each.detach().contiguous().numpy())) for each in tensors)
    ).hexdigest()


def shard_by_shard(gradients):
    """The mean of a parameter's gradients, by rank."""
    size, parts = len(gradients), []
    rows = [list(gradient.chunk(size)) for gradient in gradients]
    for shard in range(len(rows[0])):
        total = rows[(shard + 1) % size][shard].clone()
        for step in range(2, size + 1):
            total += rows[(shard + step) % size][shard]
        parts.append(total / size)
    return torch.cat(parts)


def reference(size, steps, fold=shard_by_shard):
    """(digest of the weights, losses of rank 0). `fold`: the gradients of a parameter, by rank -> their mean."""
    torch.set_num_threads(1)
    model, streams, losses = make_model(), [batches(rank) for rank in range(size)], []
    optimizer, parameters = make_optimizer(model), list(model.parameters())
    for _ in range(steps):
        found = []
        for rank, stream in enumerate(streams):
            model.zero_grad()
            loss = loss_of(model, next(stream))
            loss.backward()
            found.append([parameter.grad.clone() for parameter in parameters])
            if rank == 0:
                losses.append(loss.item())
        for parameter, gradients in zip(parameters, zip(*found, strict=True), strict=True):
            parameter.grad = fold(gradients)
        optimizer.step()
    return digest(parameters), losses


def count_store():
    """What our backend puts into the store of the rendezvous, in bytes."""
    from workloads.torch_backend.exchange import StoreExchange

    counted, put = Counter(), StoreExchange.put

    def counting(self, place, tensors, readers):
        counted["bytes"] += sum(tensor.numel() * tensor.element_size() for tensor in tensors)
        put(self, place, tensors, readers)

    StoreExchange.put = counting
    return counted


def train(steps, make_mesh=None, **sharding):
    """`make_mesh`: the mesh, once there is a group; `sharding`: as in fully_shard."""
    import torch.distributed as dist
    from torch.distributed.fsdp import fully_shard

    torch.set_num_threads(1)
    counted = count_store()
    dist.init_process_group("ina")
    rank, model, losses = dist.get_rank(), make_model(), []
    mesh = make_mesh and make_mesh()
    for each in (*model.blocks, model):
        fully_shard(each, mesh=mesh, **sharding)
    optimizer, stream = make_optimizer(model), batches(rank)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model, next(stream))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    report(losses, digest([parameter.full_tensor() for parameter in model.parameters()]), counted)


def report(losses, weights, counted):
    import torch.distributed as dist

    if dist.get_rank() == 0:
        print("losses", json.dumps(losses), flush=True)
    print(f"weights {weights} stored {counted['bytes']}", flush=True)
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=100)
    train(parser.parse_args().steps)


if __name__ == "__main__":
    main()
