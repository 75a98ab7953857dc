"""Proximal policy optimisation in one file: `python examples/small_ppo.py`, needs the extra rl.

Copy it for a learner of your own. It learns MiniGrid's DoorKey-5x5 without action masks, in small
batches, as CleanRL does.
"""

from typing import Any

import numpy as np
import torch
from torch import nn

from gv_engine import GridVectorEnv

LEVEL, SEED, MOST_STEPS, GOAL = "MiniGrid-DoorKey-5x5-v0", 3, 200_000, 0.95
WORLDS, STEPS, EPOCHS, MINIBATCH = 8, 128, 10, 64
GAMMA, LAMBDA, CLIP, ENTROPY, RATE = 0.99, 0.95, 0.2, 0.01, 5e-4
SEEN = "grid", "item", "mission"  # the cells in view, the carried item, and the task, if any


def make_net(codes: int, slots: int, outputs: int, scale: float) -> nn.Sequential:
    """Return a network that reads an embedding of each code, with `outputs` outputs."""
    layers = [nn.Linear(8 * slots, 64), nn.Linear(64, 64), nn.Linear(64, outputs)]
    for layer, gain in zip(layers, (2**0.5, 2**0.5, scale), strict=True):
        nn.init.orthogonal_(layer.weight, gain)
        nn.init.zeros_(layer.bias)
    first, second, last = layers
    embedding = nn.Embedding(codes, 8), nn.Flatten()
    return nn.Sequential(*embedding, first, nn.Tanh(), second, nn.Tanh(), last)


def train(level: str, seed: int, most_steps: int) -> int:
    """Train until the agent has won `GOAL` of the last 100 episodes. Return the number of steps.

    Raises:
        RuntimeError: the agent has not, in `most_steps` steps.
    """
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    envs = GridVectorEnv(
        level, WORLDS, observation_representation="cells", autoreset_mode="SameStep"
    )
    observation, _ = envs.reset(seed=seed)
    space: Any = envs.single_observation_space
    seen = [name for name in SEEN if name in space.spaces]
    codes = 1 + max(int(space[name].high.max()) for name in seen)

    def encode(observation: dict[str, Any]) -> torch.Tensor:
        """Return what the agents see as codes, (N, slots)."""
        slots = [observation[name].reshape(WORLDS, -1) for name in seen]
        return torch.from_numpy(np.concatenate(slots, 1).astype(np.int64))

    num_slots, num_actions = encode(observation).shape[1], envs.num_actions
    actor = make_net(codes, num_slots, num_actions, 0.01)
    critic = make_net(codes, num_slots, 1, 1.0)
    parameters = [*actor.parameters(), *critic.parameters()]
    optimizer = torch.optim.Adam(parameters, RATE, eps=1e-5)
    ends: list[bool] = []  # whether each episode so far was won
    for update in range(1, most_steps // (WORLDS * STEPS) + 1):
        steps = []
        for _ in range(STEPS):
            inputs = encode(observation)
            with torch.no_grad():
                policy = torch.distributions.Categorical(logits=actor(inputs))
                value = critic(inputs)[:, 0]
            action = policy.sample()
            observation, reward, terminated, truncated, _ = envs.step(action.numpy())
            done = torch.from_numpy(terminated | truncated).float()
            rewards = torch.from_numpy(reward).float()
            steps.append((inputs, action, policy.log_prob(action), value, rewards, done))
            ends += [bool(each > 0) for each in reward[terminated | truncated]]
        inputs, actions, log_probs, values, rewards, dones = map(
            torch.stack, zip(*steps, strict=True)
        )
        advantages, advantage = torch.zeros_like(rewards), torch.zeros(WORLDS)
        with torch.no_grad():
            next_value = critic(encode(observation))[:, 0]
        for t in reversed(range(STEPS)):
            surprise = rewards[t] + GAMMA * (1 - dones[t]) * next_value - values[t]
            advantage = surprise + GAMMA * LAMBDA * (1 - dones[t]) * advantage
            advantages[t], next_value = advantage, values[t]
        returns = advantages + values
        batch = [each.flatten(0, 1) for each in (inputs, actions, log_probs, advantages, returns)]
        for _ in range(EPOCHS):
            for indices in torch.randperm(WORLDS * STEPS).split(MINIBATCH):
                inputs, actions, log_probs, advantages, returns = (each[indices] for each in batch)
                advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
                policy = torch.distributions.Categorical(logits=actor(inputs))
                ratio = (policy.log_prob(actions) - log_probs).exp()
                clipped = ratio.clamp(1 - CLIP, 1 + CLIP)
                loss = -torch.minimum(ratio * advantages, clipped * advantages).mean()
                loss += 0.5 * (critic(inputs)[:, 0] - returns).square().mean()
                loss -= ENTROPY * policy.entropy().mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(parameters, 0.5)
                optimizer.step()
        num_steps, success = update * WORLDS * STEPS, float(np.mean(ends[-100:] or [False]))
        print(f"{num_steps:7,} steps, {len(ends):6,} episodes, success {success:.0%}", flush=True)
        if len(ends) >= 100 and success >= GOAL:
            return num_steps
    raise RuntimeError(f"after {most_steps:,} steps, the success is still below {GOAL:.0%}")


if __name__ == "__main__":
    train(LEVEL, SEED, MOST_STEPS)
    print(f"{GOAL:.0%} of 100 episodes won")
