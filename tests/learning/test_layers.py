"""Layers with gradients that are written out give those of torch's autograd."""

from typing import Any

import pytest

from gv_engine.plugins.learning.config import Hyperparameters

torch: Any = pytest.importorskip("torch")

from gv_engine.plugins.learning import layers, network, ppo_loss  # noqa: E402


def normal(*sizes: int, seed: int) -> Any:
    return torch.randn(sizes, generator=torch.Generator().manual_seed(seed)).requires_grad_()


def gradients(result: Any, *inputs: Any) -> list[Any]:
    """The gradients of a weighted sum of the numbers in `result`."""
    weights = normal(*result.shape, seed=99).detach()
    return [result, *torch.autograd.grad((result * weights).sum(), inputs)]


def assert_close(found: list[Any], expected: list[Any]) -> None:
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize(("steps", "number"), [(1, 4), (9, 7)])
def test_gru_through_time_with_resets(steps, number, monkeypatch):
    torch.manual_seed(3)
    gru = torch.nn.GRUCell(12, 12)
    features, memory = normal(steps, number, 12, seed=4), normal(number, 12, seed=5).detach()
    starts = torch.rand(steps, number, generator=torch.Generator().manual_seed(6)) < 0.3
    inputs = features, *gru.parameters()
    found = gradients(layers.unroll(gru, features, starts, memory), *inputs)
    monkeypatch.setattr(layers, "is_exporting", lambda: True)
    expected = gradients(layers.unroll(gru, features, starts, memory), *inputs)
    assert_close(found, expected)


def test_an_lstm_begins_each_episode_without_memory():
    torch.manual_seed(3)
    lstm, features, memory = (
        torch.nn.LSTMCell(12, 12),
        normal(9, 3, 12, seed=4),
        normal(3, 24, seed=5),
    )
    starts = torch.zeros(9, 3, dtype=torch.bool)
    starts[4] = True
    states = layers.unroll(lstm, features, starts, memory)
    assert_close([states[4:]], [layers.unroll(lstm, features[4:], starts[4:], memory * 0)])
    assert not torch.allclose(states[0], layers.unroll(lstm, features[:1], None, memory * 0)[0])


@pytest.mark.parametrize("numbers", [1, 100, 10**6])
def test_sums_of_rows_by_one_hot_codes(numbers, monkeypatch):
    """Also in several parts, and with an index that comes twice."""
    monkeypatch.setattr(layers, "_MAX_NUMBERS", numbers)
    table, rng = normal(15, 8, seed=0), torch.Generator().manual_seed(1)
    rows = torch.randint(15, (30, 4), generator=rng, dtype=torch.int32)
    expected = gradients(table[rows].sum(1), table)
    for bag in (layers.OneHotBag, layers.EmbeddingBag):
        assert_close(gradients(bag.apply(table, rows), table), expected)


@pytest.mark.parametrize("numbers", [1, 10**6])
def test_selected_codes_by_one_hot_codes(numbers, monkeypatch):
    """Also in several parts, and codes that come twice."""
    monkeypatch.setattr(layers, "_MAX_NUMBERS", numbers)
    scores, rng = normal(6, 4, 5, seed=0), torch.Generator().manual_seed(1)
    codes = torch.randint(5, (6, 9), generator=rng)
    expected = gradients(layers.select_codes(scores, codes), scores)
    assert_close(gradients(layers.OneHotSelection.apply(scores, codes), scores), expected)


def loss_by_definition(
    outputs: Any, masks: Any, actions: Any, old: Any, advantages: Any, returns: Any, settings: Any
) -> tuple[Any, Any]:
    logits = outputs[:, :-1].masked_fill(network.find_excluded(masks), -1e9)
    distribution = torch.distributions.Categorical(logits=logits)
    ratio = (distribution.log_prob(actions) - old).exp()
    clipped = ratio.clamp(1 - settings.clip_coef, 1 + settings.clip_coef)
    policy_loss = -torch.min(ratio * advantages, clipped * advantages).mean()
    value_loss = (outputs[:, -1] - returns).square().mean()
    entropy = distribution.entropy().mean()
    kl = (ratio - 1 - ratio.log()).mean()
    loss = policy_loss + settings.vf_coef * value_loss - settings.ent_coef * entropy
    clip_fraction = (ratio != clipped).float().mean()
    return loss, torch.stack([entropy, kl, value_loss, policy_loss, clip_fraction])


@pytest.mark.parametrize("seed", range(5))
def test_loss_of_ppo_with_masks(seed):
    rng, steps, number = torch.Generator().manual_seed(seed), 200, 6
    settings = Hyperparameters(ent_coef=0.3)
    outputs = normal(steps, number + 1, seed=10 + seed)
    masks = (torch.rand(steps, number, generator=rng) < 0.6).to(torch.int8)
    masks[:20] = 0  # allow all
    masks[20:40] = torch.eye(number, dtype=torch.int8)[1]  # allow one
    masks[40:60] = 1 - torch.eye(number, dtype=torch.int8)[0]  # forbid the most likely
    outputs.data[40:60, 0] = 2000
    actions = torch.where(masks != 0, 1.0, 0.0).add(1e-9).multinomial(1, generator=rng)[:, 0]
    log_probs = network.find_log_probs(outputs[:, :-1], masks).detach()
    old = log_probs.gather(1, actions[:, None])[:, 0]
    old = old + 0.3 * torch.randn(steps, generator=rng)  # some ratios are clipped
    advantages, returns = torch.randn(2, steps, generator=rng)
    per_step = masks, actions, old, advantages, returns
    found, sums = ppo_loss.compute_ppo_loss(outputs, per_step, settings)
    found, sums = found / steps, sums / steps
    expected, of_definition = loss_by_definition(outputs, *per_step, settings)
    (gradient,) = torch.autograd.grad(found, outputs)
    (right,) = torch.autograd.grad(expected, outputs)
    assert_close([found, sums, gradient * steps], [expected, of_definition, right * steps])
    assert (gradient[:, :-1][(masks == 0) & (masks != 0).any(1, keepdim=True)] == 0).all()
