"""Learning on another device than the CPU. What needs a GPU is skipped where torch finds none."""

from typing import Any

import pytest

from gv_engine.cli import main
from tests.learning.drawn import make_learner

torch: Any = pytest.importorskip("torch")

from gv_engine.plugins.learning import ppo  # noqa: E402
from gv_engine.plugins.learning.rollout_buffer import TrainingBatch  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.compiled]
has_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no GPU here")

LEVELS = "keydoor-5x5", "BabyAI-GoToLocal-v0", "hunt"
"""One agent, a mission, several agents."""


def small_learner(name: str, device: str = "cpu", memory: bool = False, **more: Any) -> Any:
    return make_learner(name, device=device, num_envs=16, num_steps=8, recurrent=memory, **more)


def weights_of(learner: Any) -> Any:
    return torch.cat([each.flatten().cpu() for each in learner.net.parameters()])


@pytest.mark.parametrize("memory", [False, True])
@pytest.mark.parametrize(
    ("name", "method", "encoder"),
    [
        *((name, "ppo", "embedding") for name in LEVELS),
        ("keydoor-5x5", "pqn", "mlp"),
        ("keydoor-5x5", "rnd", "cnn"),
        ("hunt", "mappo", "cnn"),
    ],
)
def test_gradients_are_computed_on_one_device(name, method, encoder, memory):
    """Tensors of the device "meta" have shapes only, and do not mix with those of the CPU."""
    learner = small_learner(name, memory=memory, learner=method, encoder=encoder)
    batch, size = learner._collect(), len(weights_of(learner))
    learner.net.to("meta")
    on_meta = TrainingBatch._make(each.to("meta") for each in batch)
    if learner.spec.agents > 1:  # whose values are read
        on_meta = on_meta._replace(live=torch.ones_like(batch.live))
    gradient, losses = learner._gradient(on_meta, 1)
    assert (gradient.device.type, gradient.shape, losses.shape) == ("meta", (size,), (5,))


def test_each_step_is_sent_once():
    """Copies on the CPU in place of those on a GPU: the same learning, and no step sent twice."""
    plain, copied = small_learner("keydoor-5x5"), small_learner("keydoor-5x5")
    sent = []
    buffer = copied._buffer
    buffer._sent = [torch.zeros_like(each) for each in buffer._inputs]
    send = buffer.send

    def count(t: int) -> None:
        sent.append(t)
        send(t)

    buffer.send = count
    for _ in range(3):
        assert copied.update() == pytest.approx(plain.update(), nan_ok=True)
    assert torch.equal(weights_of(copied), weights_of(plain))
    assert sent == [*range(9)] * 3


@pytest.mark.parametrize("memory", [False, True])
def test_nothing_is_sent_to_the_device_twice(memory, monkeypatch):
    """The bytes that an update sends beside the inputs and the noise are those of what it needs,
    once."""
    learner = small_learner("keydoor-5x5", memory=memory)
    sent, to = [], torch.Tensor.to

    def count(self: Any, target: Any, *more: Any, **options: Any) -> Any:
        if target is learner.device:
            sent.append(self.numel() * self.element_size())
        return to(self, target, *more, **options)

    monkeypatch.setattr(torch.Tensor, "to", count)
    learner.update()
    steps, worlds, settings = 8, 16, learner.settings
    live, advantages = steps * worlds, 4 * steps * worlds
    order = 8 * settings.update_epochs * worlds * (1 if memory else steps)
    assert sum(sent) == live + advantages + order


@pytest.mark.parametrize("name", ["cuda:77", "gpu"])
def test_a_device_that_is_not_there_is_named(name, tmp_path, capsys):
    assert main(["train", "keydoor-5x5", "--out", str(tmp_path / "run"), "--device", name]) == 2
    message = capsys.readouterr().err
    assert f"--device: '{name}' is no device" in message
    assert "allowed: auto, cpu" in message
    assert not (tmp_path / "run").exists()


def test_a_device_is_of_this_machine(tmp_path, capsys):
    command = ["train", "keydoor-5x5", "--out", str(tmp_path / "run"), "--ray", "--device", "auto"]
    assert main(command) == 2
    assert "--device trains on this machine; leave out --ray" in capsys.readouterr().err


def test_any_device_will_do(tmp_path):
    path = str(tmp_path / "run")
    command = ["train", "keydoor-5x5", "--out", path, "--steps", "4096", "--device", "auto"]
    assert main(command) == 0
    assert main(["train", "--resume", path, "--steps", "8192", "--device", "cpu"]) == 0


@has_gpu
@pytest.mark.parametrize("memory", [False, True])
@pytest.mark.parametrize("name", LEVELS)
def test_a_gpu_learns_as_the_cpu_does(name, memory):
    """The same worlds and actions, and weights that differ by rounding."""
    on_cpu, on_gpu = small_learner(name, memory=memory), small_learner(name, "cuda", memory)
    before = weights_of(on_cpu)
    on_cpu.update()
    on_gpu.update()
    changed = (weights_of(on_cpu) - before).abs().max()
    assert (weights_of(on_gpu) - weights_of(on_cpu)).abs().mean() < 0.02 * changed


@has_gpu
@pytest.mark.parametrize("memory", [False, True])
@pytest.mark.parametrize(
    ("name", "method", "encoder"),
    [
        *((name, "ppo", "embedding") for name in LEVELS),
        *((name, "ppo", "cnn") for name in LEVELS),
        *(("doors", "pqn", "embedding"), ("doors", "rnd", "mlp"), ("hunt", "mappo", "embedding")),
    ],
)
def test_recorded_steps_are_the_steps(name, method, encoder, memory, monkeypatch):
    """CUDA graphs change nothing, and a GPU gives the same run for the same seed, also if it is
    continued."""
    more = {"learner": method, "encoder": encoder}
    graphed = [small_learner(name, "cuda", memory, **more) for _ in range(2)]
    for _ in range(4):
        for learner in graphed:
            learner.update()
        graphed[1].restore(graphed[1].state())
    assert graphed[0]._acting_graphs
    assert bool(graphed[0]._graphed) == (name != "hunt")
    monkeypatch.setattr(ppo, "GraphedStep", lambda *arguments: None)
    monkeypatch.setattr(ppo, "record_graphs", lambda *arguments: [])
    plain = small_learner(name, "cuda", memory, **more)
    for _ in range(4):
        plain.update()
    assert torch.equal(weights_of(graphed[0]), weights_of(graphed[1]))
    assert torch.equal(weights_of(graphed[0]), weights_of(plain))
