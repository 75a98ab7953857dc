"""CUDA graphs: work of a GPU that is recorded once and replayed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gv_engine.plugins.learning.rollout_buffer import TrainingBatch
from gv_engine.plugins.learning.torch_library import Tensor, torch


def record_graphs(
    functions: Sequence[Callable[[], object]], device: torch.device
) -> list[torch.cuda.CUDAGraph]:
    """Record each function as a CUDA graph, without running it. Call each function once before. The
    graphs share memory, so they must be replayed in the order of `functions`."""
    pool, graphs = torch.cuda.graph_pool_handle(), []
    torch.cuda.synchronize(device)
    # `torch.cuda.graph` would also collect garbage before each function
    with torch.cuda.device(device), torch.cuda.stream(torch.cuda.Stream(device)):
        for function in functions:
            graph = torch.cuda.CUDAGraph()
            graph.capture_begin(pool)
            function()
            graph.capture_end()
            graphs.append(graph)
    return graphs


class GraphedStep:
    """Optimiser step that is captured once as a CUDA graph and replayed on later minibatches of the
    same size: the GPU runs its many small kernels faster than Python launches them.

    Capturing records the step without performing it. Python values that `step` reads, such as the
    clip range, keep the values of the capture.

    Args:
        step: function of a batch and the (M,) indices of a minibatch that takes a step and returns
            its losses. Call it once normally before; it must not synchronise with the GPU.
        batch: batch of the shapes of all later ones.
        indices: indices of the size of the minibatches to replay.
    """

    def __init__(
        self,
        step: Callable[[TrainingBatch, Tensor], Tensor],
        batch: TrainingBatch,
        indices: Tensor,
    ) -> None:
        """Prepare to record `step(batch, indices)` as a CUDA graph. `indices` selects a minibatch
        of `batch`."""
        self._batch = TrainingBatch._make(each.clone() for each in batch)
        self._indices = indices.clone()
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.device(indices.device), torch.cuda.graph(self._graph):
            self._losses = step(self._batch, self._indices)

    def load(self, batch: TrainingBatch) -> None:
        """Copy `batch` into the captured batch, so that later `replay` calls train on it."""
        for own, new in zip(self._batch, batch, strict=True):
            own.copy_(new)

    def fits(self, indices: Tensor) -> bool:
        """Return True if the minibatch `indices` has the captured size."""
        return len(indices) == len(self._indices)

    def replay(self, indices: Tensor) -> Tensor:
        """Take a step on a minibatch of the loaded batch; return its losses."""
        self._indices.copy_(indices)
        self._graph.replay()
        return self._losses.clone()
