"""The processes that train one model together, as `torchrun` starts them; usually there is one."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters


@dataclass(frozen=True)
class Processes:
    """The number of processes, and which one this is. Each takes its share of every batch."""

    rank: int = 0
    size: int = 1

    @property
    def first(self) -> bool:
        """Whether this is the process that logs, saves and prints."""
        return self.rank == 0

    @property
    def device(self) -> torch.device:
        """The device from which tensors are sent to other processes: nccl only connects GPUs."""
        nccl = self.size > 1 and dist.get_backend() == "nccl"
        return own_device() if nccl else torch.device("cpu")

    def share(self, tensor: Tensor) -> Tensor:
        """This process's rows of a tensor: every size-th, the first process beginning at row 0."""
        return tensor[self.rank :: self.size]

    def add_up(self, tensor: Tensor) -> Tensor:
        """The sum over all processes, in every one of them; the tensor itself is changed."""
        if self.size > 1:
            dist.all_reduce(tensor)
        return tensor

    def gather(self, share: Tensor, total: int) -> Tensor:
        """Join the `share` of every process into the whole, in every process. (total, ...)"""
        if self.size == 1:
            return share
        whole = share.new_zeros(total, *share.shape[1:])
        whole[self.rank :: self.size] = share
        return self.add_up(whole.to(self.device)).to(share.device)

    def mean_gradient(self, model: nn.Module) -> None:
        """Leave the mean gradient of all processes in the parameters of each."""
        if self.size == 1:
            return
        gradients = [p.grad for p in model.parameters() if p.grad is not None]
        total = self.add_up(parameters_to_vector(gradients))
        vector_to_parameters(total / self.size, gradients)


@contextmanager
def processes() -> Iterator[Processes]:
    """Join the other processes if `torchrun` started this one, and leave them at the end.

    Nothing may hold their group for longer, as a `DistributedDataParallel` does: its threads would
    go on until Python ends, and can abort the process there.
    """
    size = int(os.environ.get("WORLD_SIZE", 1))
    if size == 1 or dist.is_initialized():
        yield Processes(dist.get_rank(), dist.get_world_size()) if size > 1 else Processes()
        return
    if torch.cuda.is_available():
        torch.cuda.set_device(own_device())
    # Optimizers import it later; its functions would then keep the group as their default.
    import_module("torch.distributed.nn")
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    try:
        yield Processes(dist.get_rank(), size)
    finally:
        dist.destroy_process_group()


def first() -> bool:
    """Whether this process prints; works before the processes join and after they leave."""
    return os.environ.get("RANK", "0") == "0"


def how_started() -> str:
    """The command that starts the same number of processes again on this machine."""
    here = int(os.environ.get("LOCAL_WORLD_SIZE", 1))
    return "python" if here == 1 else f"torchrun --standalone --nproc-per-node {here}"


def own_device() -> torch.device:
    """The GPU of this process, or the CPU."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
