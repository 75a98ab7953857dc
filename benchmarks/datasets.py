"""`python -m benchmarks.datasets`: record the datasets, each with a card.

    python -m benchmarks.datasets                      # all, into the folder datasets
    python -m benchmarks.datasets keydoor-9x9-trained --episodes 100000
    python -m benchmarks.datasets --shipped            # the small ones, into assets/datasets

A dataset is a compressed rollout with action masks, and a `README.md` that says what is in it. The
policies are the solver, the bot of BabyAI, and those that come with scenarios.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gv_engine.envs.rollout.episode_folder import DATASETS, read


class Recipe(NamedTuple):
    """Dataset to record.

    Attributes:
        scenario, policy: names.
        episodes: number of episodes. The solver plays a level always in the same way, so its
            datasets have each level of the set `train` once.
        shipped: number of episodes of the one that comes with the package, 0 for none.
    """

    scenario: str
    policy: str
    episodes: int
    shipped: int = 0

    @property
    def name(self) -> str:
        """Name of the dataset."""
        return f"{self.scenario}-{self.policy}"


RECIPES = (
    Recipe("keydoor-5x5", "solver", 67, shipped=67),
    Recipe("keydoor-9x9", "trained", 10_000, shipped=100),
    Recipe("keydoor-9x9", "random", 1_000),
    Recipe("memory-9x9", "trained", 10_000),
    Recipe("dynamic-obstacles-7x7", "trained", 10_000),
    Recipe("crossing-7x7", "trained", 10_000),
    Recipe("maze-9x9", "solver", 226),
    Recipe("MiniGrid-DoorKey-8x8-v0", "trained", 10_000, shipped=100),
    Recipe("MiniGrid-MultiRoom-N2-S4-v0", "trained", 10_000),
    Recipe("BabyAI-GoToRedBallGrey-v0", "bot", 10_000),
    Recipe("BabyAI-GoToLocal-v0", "bot", 10_000, shipped=200),
    Recipe("BabyAI-PickupLoc-v0", "bot", 10_000),
    Recipe("BabyAI-PutNextLocal-v0", "bot", 10_000),
    Recipe("BabyAI-BossLevel-v0", "bot", 1_000),
)

_CARD = """\
---
license: mit
tags: [reinforcement-learning, offline-rl, imitation-learning, gridworld]
---

# {name}

{episodes:,} episodes in {levels:,} different levels of `{scenario}` with the policy `{policy}`,
recorded by GV Engine {version}.

| | |
| --- | --: |
| steps | {steps:,} |
| steps of an episode, mean | {length:.2f} |
| return, mean and standard deviation | {mean:.3f} ± {deviation:.3f} |
{success}| size | {kilobytes:,.0f} kB |

All levels are of the set `train`. In `gv_engine.GridEnv("{scenario}")`, the level of episode *k* is
that of `reset(seed={seed})`.

Arrays of steps have one episode after the other. Observations are those before each
step; `last_…` are those at the end of each episode. `episode_start` has the index of the first step
of each episode. The page on environments of GV Engine explains all arrays, under *Rollouts*.

| array | dtype | shape |
| --- | --- | --- |
{arrays}

Actions from 0 on: {actions}.
Columns of `reward_terms`: {rewards}.

```python
from gv_engine import episode_folder

arrays, about = episode_folder.read("{path}")
```

`gv_engine.learning.RolloutDataset("{path}")` has the steps as tensors, and
`gv-engine train {scenario} --imitate {path}` learns to act like this. To record it again:

```sh
{command}
```
"""


def record_dataset(recipe: Recipe, folder: Path, episodes: int, name_in_card: str) -> None:
    """Record a dataset and its card into a new folder, which appears only once both are complete.

    Args:
        recipe: dataset to record.
        folder: new folder.
        episodes: number of episodes.
        name_in_card: name or path of the dataset in the commands on its card.

    Raises:
        subprocess.CalledProcessError: the command has failed.
    """
    words = f"rollout {recipe.scenario} --policy {recipe.policy} --episodes {episodes}"
    words += " --levels train --masks --compress"
    with tempfile.TemporaryDirectory(prefix=".", dir=folder.parent) as parent:
        new = Path(parent, folder.name)
        command = [sys.executable, "-m", "gv_engine", *words.split(), "--out", str(new)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        card = write_card(recipe, new, f"gv-engine {words} --out {recipe.name}", name_in_card)
        (new / "README.md").write_text(card, "utf-8")
        new.rename(folder)


def write_card(recipe: Recipe, folder: Path, command: str, name_in_card: str) -> str:
    """Return the text of the card of a recorded dataset. `command` records it again."""
    arrays, about = read(folder)
    returns = np.add.reduceat(arrays["reward"], arrays["episode_start"])
    success: Any = arrays.get("episode_success")
    seed, num_levels = 'arrays["episode_seed"][k]', len(np.unique(arrays["episode_seed"]))
    if "level_seeds" in about:  # episode_seed counts the episodes
        count = len(about["level_seeds"])
        seed, num_levels = f'about["level_seeds"][k % {count}]', min(count, about["episodes"])
    rows = (f"| `{name}` | {each.dtype} | {each.shape} |" for name, each in arrays.items())
    return _CARD.format(
        name=recipe.name,
        scenario=recipe.scenario,
        policy=recipe.policy,
        version=importlib.metadata.version("gv-engine"),
        episodes=about["episodes"],
        levels=num_levels,
        steps=about["steps"],
        length=about["steps"] / about["episodes"],
        mean=returns.mean(),
        deviation=returns.std(),
        success="" if success is None else f"| success | {success.mean():.1%} |\n",
        kilobytes=sum(file.stat().st_size for file in folder.iterdir()) / 1000,
        seed=seed,
        arrays="\n".join(rows),
        actions=", ".join(f"`{name}`" for name in about["action_names"]),
        rewards=", ".join(f"`{name}`" for name in about["reward_names"]),
        command=command,
        path=name_in_card,
    )


def main() -> None:
    """Record the datasets that are not there yet."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.datasets",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [recipe.name for recipe in RECIPES]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"default: {', '.join(names)}")
    parser.add_argument("--out", type=Path, default=Path("datasets"), metavar="FOLDER")
    parser.add_argument("--episodes", type=int, metavar="N", help="of each, in place of its own")
    parser.add_argument("--shipped", action="store_true", help="those that come with the package")
    options = parser.parse_args()
    if wrong := {*options.names} - {*names}:
        parser.error(f"no dataset {min(wrong)!r}; the datasets are {', '.join(names)}")
    if options.episodes is not None and options.episodes < 1:
        parser.error(f"--episodes {options.episodes}: expected 1 or more")
    out = DATASETS if options.shipped else options.out
    out.mkdir(parents=True, exist_ok=True)
    for recipe in RECIPES:
        folder, wanted = out / recipe.name, options.names or names
        episodes = recipe.shipped if options.shipped else options.episodes or recipe.episodes
        if recipe.name not in wanted or not episodes:
            continue
        if folder.exists():
            print(f"{folder} is there already; to record it again, remove it", flush=True)
            continue
        print(f"{folder}: {episodes:,} episodes", flush=True)
        name_in_card = recipe.name if options.shipped else str(folder)
        record_dataset(recipe, folder, episodes, name_in_card)


if __name__ == "__main__":
    main()
