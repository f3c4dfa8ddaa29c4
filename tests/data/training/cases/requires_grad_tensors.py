"""Parameters as inputs and outputs: no output joins autograd."""

import os
import warnings

import torch
import torch.distributed as dist

warnings.filterwarnings("ignore")
dist.init_process_group(os.environ.get("BE", "ina"))
R, N = dist.get_rank(), dist.get_world_size()
P = torch.nn.Parameter


def t(n, f):
    try:
        v = f()
        print("ok  ", n, v, flush=True)
    except Exception as e:
        print("BAD ", n, type(e).__name__, str(e).splitlines()[0][:160], flush=True)


def ag():
    o = [torch.zeros(3) for _ in range(N)]
    dist.all_gather(o, P(torch.ones(3) * R))
    return o[0].requires_grad


def agt():
    o = torch.zeros(3 * N)
    dist.all_gather_into_tensor(o, P(torch.ones(3)))
    return o.requires_grad


def rs():
    o = torch.zeros(3)
    dist.reduce_scatter_tensor(o, P(torch.ones(3 * N)))
    return o.requires_grad


t("all_gather", ag)
t("all_gather_into_tensor", agt)
t("reduce_scatter", rs)
t("reduce", lambda: dist.reduce(P(torch.ones(3)), 0))
t("scatter", lambda: dist.scatter(P(torch.zeros(3)), [torch.ones(3)] * N if R == 0 else None, 0))
t("all_gather into", lambda: dist.all_gather([P(torch.zeros(3)) for _ in range(N)], torch.ones(3)))


def sr():
    p = P(torch.zeros(2))
    (dist.send(torch.ones(2), 1) if R == 0 else dist.recv(p, 0))
    return p.tolist()


t("recv", sr)
dist.destroy_process_group()
