"""Other libraries, each as it is installed; needs them, see `make adapters`."""

import importlib
import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.wrappers import FilterObservation

from gv_engine import GridEnv, GridVectorEnv
from gv_engine.cli import main
from tests import ROOT
from tests.comparing import same
from tests.processes import run_program

pytestmark = [pytest.mark.slow, pytest.mark.compiled]

LEVEL = "keydoor-5x5"
LIBRARIES = {
    "Stable-Baselines3": "sb3_contrib",
    "PufferLib": "pufferlib",
    "TorchRL": "torchrl",
    "Tianshou": "tianshou",
    "RLlib": "ray.rllib",
    "Minari": "minari",
}


def first_blocks(kind: str) -> dict[str, str]:
    """The first block of a kind in each section of the page, by title."""
    pattern = rf"^## ([^\n]+)\n(?:(?!^## ).)*?^```{kind}\n(.*?)^```"
    page = (ROOT / "docs/libraries.md").read_text("utf-8")
    return dict(re.findall(pattern, page, re.MULTILINE | re.DOTALL))


EXAMPLES, COMMANDS = first_blocks("python"), first_blocks("sh")


def adapter(library: str) -> Any:
    """Import the adapter of a library, or skip the test without the library."""
    pytest.importorskip(library)
    return importlib.import_module(f"gv_engine.plugins.adapters.{library}")


@pytest.fixture
def minari(tmp_path, monkeypatch):
    """Minari, with its datasets in an empty folder that is the working directory."""
    module = pytest.importorskip("minari")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "datasets"))
    return module


def actions(num_envs: int, steps: int = 60) -> Any:
    return np.random.default_rng(0).integers(8, size=(steps, num_envs))


@pytest.mark.parametrize("title", EXAMPLES)
@pytest.mark.filterwarnings("default")
def test_the_example_runs(title, capsys, tmp_path, monkeypatch):
    pytest.importorskip(LIBRARIES[title])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "datasets"))
    monkeypatch.setenv("RAY_ADDRESS", "local")  # or RLlib joins a cluster that others have made
    for line in COMMANDS.get(title, "").splitlines():
        assert main(shlex.split(line)[1:]) == 0
    code = EXAMPLES[title]
    assert '"onehot": True}' not in code  # what wrappers make of uint8 is cut in buffers
    assert len([line for line in code.splitlines() if line]) <= 15
    exec(compile(code, title, "exec"), {})
    if ray := sys.modules.get("ray"):
        ray.shutdown()  # or other tests would find it at work
    out = capsys.readouterr().out
    assert out
    assert "nan" not in out  # the mean over no episodes


def test_all_examples_are_found():
    assert EXAMPLES.keys() == LIBRARIES.keys()


EXTRAS = {
    **{"rl": "torch", "sweep": "optuna", "onnx": "onnxscript", "sb3": "stable_baselines3"},
    **{"math": "mathy_core", "pettingzoo": "pettingzoo", "pufferlib": "pufferlib"},
    **{"torchrl": "torchrl", "tianshou": "tianshou", "minari": "minari", "mcp": "mcp"},
    **{"ray": "ray", "minigrid": "minigrid"},
}
"""Library of each extra."""
ENTRIES = """
rl: learning.train("keydoor-5x5")
rl: learning.resume_training("run")
rl: learning.export_policy("keydoor-5x5", "policy.onnx")
rl: main(["train", "keydoor-5x5"])
sweep: import_module("gv_engine.plugins.learning.sweep")
pettingzoo: gv_engine.parallel_env("hand-over")
pettingzoo: import_module("gv_engine.adapters.pettingzoo")
math: gv_engine.load_scenario("mathy-poly-simplify")
math: gymnasium.make("GV-MathyPolySimplify-v0")
math: import_module("gv_engine.mathy")
sb3: import_module("gv_engine.plugins.adapters.stable_baselines3")
pufferlib: import_module("gv_engine.plugins.adapters.pufferlib")
torchrl: import_module("gv_engine.plugins.adapters.torchrl")
tianshou: import_module("gv_engine.plugins.adapters.tianshou")
minari: import_module("gv_engine.plugins.adapters.minari")
mcp: import_module("gv_engine.plugins.adapters.mcp_server")
mcp: main(["serve", "--mcp"])
ray: import_module("gv_engine.envs.rollout.on_ray")
"""
WITHOUT_EXTRAS = """
import contextlib, importlib.machinery, io, pkgutil, sys
from importlib import import_module

class Hide:
    def __init__(self, finder):
        self.finder, self.find_distributions = finder, finder.find_distributions
    def find_spec(self, name, path=None, target=None):
        hidden = name.partition(".")[0] in LIBRARIES
        return None if hidden else self.finder.find_spec(name, path, target)

finders = sys.meta_path
finders[finders.index(importlib.machinery.PathFinder)] = Hide(importlib.machinery.PathFinder)
import gymnasium, gv_engine
from gv_engine import learning
from gv_engine.cli import main
for line in ENTRIES.strip().splitlines():
    errors = io.StringIO()
    try:
        with contextlib.redirect_stderr(errors):
            exec(line.partition(": ")[2])
    except gv_engine.GVEngineError as error:
        errors.write(str(error))
    print(errors.getvalue().strip())
for module in pkgutil.walk_packages(gv_engine.__path__, "gv_engine."):
    if not module.name.endswith("__main__"):
        try:
            import_module(module.name)
        except gv_engine.GVEngineError:
            pass
        except ModuleNotFoundError:
            print(module.name)
"""


@pytest.mark.slow
def test_each_entry_and_module_without_its_library_names_the_extra():
    program = f"LIBRARIES = {[*EXTRAS.values()]}\nENTRIES = {ENTRIES!r}\n{WITHOUT_EXTRAS}"
    lines = run_program(program).stdout.splitlines()
    entries = ENTRIES.strip().splitlines()
    assert {*lines[len(entries) :]} <= {"gv_engine.plugins.learning.tensorboard_writer"}
    for entry, said in zip(entries, lines[: len(entries)], strict=True):
        extra = entry.partition(":")[0]
        library = EXTRAS[extra]
        expected = f" needs the extra {extra}: {library} is not installed; install it with: "
        assert expected in said, entry


def test_minari_without_the_library_of_its_files_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr("gv_engine.scenario.domains.find_spec", lambda name: name)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "h5py" else name)
    monkeypatch.delitem(sys.modules, "gv_engine.plugins.adapters.minari", raising=False)
    with pytest.raises(ModuleNotFoundError, match=r"install it with: .* 'minari\[hdf5\]"):
        importlib.import_module("gv_engine.plugins.adapters.minari")


def test_stable_baselines_sees_the_episodes_of_single_environments():
    module = adapter("stable_baselines3")
    envs = module.SB3VecEnv(LEVEL, 3, max_steps=9, world="compiled")
    alone = GridEnv(LEVEL, max_steps=9, world="compiled")
    envs.seed(5)
    seen, (shown, _), ends, at = envs.reset(), alone.reset(seed=6), 0, 0.0
    for chosen in actions(3):
        assert same({name: array[1] for name, array in seen.items()}, shown)
        kept = {name: array.copy() for name, array in seen.items()}
        before = seen
        seen, rewards, ended, infos = envs.step(chosen)
        assert same(before, kept)  # what was handed out is left alone
        shown, reward, terminated, truncated, info = alone.step(chosen[1])
        assert (rewards.dtype, rewards[1]) == (np.float32, np.float32(reward))
        assert ended[1] == (terminated or truncated)
        if ended[1]:
            ends += 1
            assert same(infos[1]["terminal_observation"], shown)
            assert infos[1]["TimeLimit.truncated"] == truncated
            assert infos[1]["episode"]["l"] <= 9
            assert infos[1]["episode"]["t"] > at
            at = infos[1]["episode"]["t"]
            shown, info = alone.reset()
        (mask,) = envs.env_method("action_masks", indices=[1])
        assert mask.tolist() == info["action_mask"].astype(bool).tolist()
    assert ends > 3
    assert envs.has_attr("action_masks")
    assert envs.get_attr("action_space", [0, 2]) == [alone.action_space] * 2
    assert envs.get_attr("observation_space") == [alone.observation_space] * 3
    with pytest.raises(AttributeError, match="no method 'step' of single worlds"):
        envs.env_method("step")


@pytest.mark.parametrize("backend", ["own", "given"])
def test_pufferlib_sees_the_episodes_of_a_vector_environment(backend):
    module = adapter("pufferlib")
    vector = importlib.import_module("pufferlib.vector")
    options: Any = {"max_steps": 9, "levels": "0:5", "world": "compiled"}
    if backend == "own":
        envs = module.GridPufferEnv(LEVEL, 4, **options)
    else:
        envs = vector.make(
            module.GridPufferEnv, env_args=[LEVEL, 4], env_kwargs=options, backend=vector.Serial
        )
    same_worlds = GridVectorEnv(
        LEVEL, 4, autoreset_mode="SameStep", observation_representation="flat", **options
    )
    seen, _ = envs.reset(seed=3)
    assert same(np.array(seen), same_worlds.reset(seed=3 * 4)[0])
    told = []
    for chosen in actions(4, 300):
        results = envs.step(chosen)
        expected: Any = same_worlds.step(chosen)
        told += results[4]
        assert np.allclose(results[1], expected[1])
        for k in (0, 2, 3):
            assert np.array_equal(results[k], expected[k])
    assert len(told) == 2
    assert told[0]["episode_length"] <= 9
    assert told[0].keys() == {"episode_return", "episode_length", "success"}


def test_pufferlib_refuses_what_is_no_action():
    module = adapter("pufferlib")
    envs = module.GridPufferEnv(LEVEL, 2, world="object")
    with pytest.raises(ValueError, match=r"call reset\(\) before the first step"):
        envs.step(np.zeros(2, np.int32))
    envs.reset()
    for wrong in [0, -1], [8, 0]:
        with pytest.raises(ValueError, match="allowed are 0 to 7"):
            envs.step(np.array(wrong))
    for shape, dtype in ((2,), "float32"), ((1, 2), "int32"), ((3,), "int64"), ((), "int64"):
        with pytest.raises(ValueError, match=re.escape(f"shape {shape} and dtype {dtype}")):
            envs.step(np.zeros(shape, dtype))
    for kind in np.int32, np.int64, np.uint8:
        envs.step(np.zeros(2, kind))


def test_pufferlib_has_masks_if_they_are_asked_for():
    module = adapter("pufferlib")
    vector = importlib.import_module("pufferlib.vector")
    options: Any = {"max_steps": 3, "world": "object", "log_interval": 4}
    given: Any = {"env_args": [LEVEL, 2], "backend": vector.Serial, "num_envs": 2}
    envs = vector.make(module.GridPufferEnv, env_kwargs={**options, "action_masks": True}, **given)
    with pytest.raises(ValueError, match="before action_masks are read"):
        _ = envs.envs[0].action_masks
    options = {"max_steps": 3, "world": "object", "autoreset_mode": "SameStep"}
    worlds = GridVectorEnv(LEVEL, 4, **options)
    envs.reset(seed=3)
    info, told = worlds.reset(seed=6)[1], 0
    for chosen in actions(4, 8):
        masks = np.concatenate([each.action_masks for each in envs.envs])
        assert np.array_equal(masks, info["action_mask"])
        told += len(envs.step(chosen)[4])
        info = worlds.step(chosen)[4]
    assert told == 4  # of each environment two, one every four steps
    assert 0 < masks.sum() < masks.size
    without = module.GridPufferEnv(LEVEL, 2, world="object")
    with pytest.raises(AttributeError, match="add action_masks=True"):
        _ = without.action_masks


ADAPTERS = {
    "SB3VecEnv": "stable_baselines3",
    "GridPufferEnv": "pufferlib",
    "TorchRLEnv": "torchrl",
    "TianshouVecEnv": "tianshou",
}


@pytest.mark.parametrize("name", ADAPTERS)
def test_an_adapter_says_which_options_it_sets_itself(name):
    make = getattr(adapter(ADAPTERS[name]), name)
    given: Any = {"autoreset_mode": "NextStep", "copy": True, "reward_dtype": "float32"}
    if name in ("SB3VecEnv", "GridPufferEnv"):
        given["episode_statistics"] = True
    if name == "GridPufferEnv":
        given |= {"render_mode": "rgb_array", "flat_info": True}
    for option, value in given.items():
        with pytest.raises(ValueError, match=f"^{option}={value!r}: {name} sets {option}=.*itself"):
            make(LEVEL, 2, **{option: value})
    with pytest.raises(ValueError, match=r"^observation_representation='text': .* takes"):
        make(LEVEL, 2, world="object", observation_representation="text")


@pytest.mark.parametrize("levels", [None, "0:7"])
@pytest.mark.parametrize("seed", [0, 3, 2**62])
def test_environments_of_pufferlib_have_no_world_in_common(seed, levels):
    module = adapter("pufferlib")
    vector = importlib.import_module("pufferlib.vector")
    options: Any = {"max_steps": 9, "levels": levels, "world": "compiled"}
    given: Any = {"env_args": [LEVEL, 4], "env_kwargs": options, "backend": vector.Serial}
    envs = vector.make(module.GridPufferEnv, num_envs=3, seed=seed, **given)
    worlds = GridVectorEnv(
        LEVEL, 12, autoreset_mode="SameStep", observation_representation="flat", **options
    )
    seen = [np.array(envs.reset(seed=seed)[0])]
    expected = [worlds.reset(seed=[4 * seed + i for i in range(12)])[0].copy()]
    for chosen in actions(12):
        seen.append(np.array(envs.step(chosen)[0]))
        expected.append(worlds.step(chosen)[0].copy())
    assert np.array_equal(seen, expected)


def test_torchrl_finds_its_specs_kept_and_begins_worlds_one_by_one():
    module = adapter("torchrl")
    torch = importlib.import_module("torch")
    envs = importlib.import_module("torchrl.envs")
    worlds = module.TorchRLEnv(LEVEL, 3, max_steps=9, world="compiled")
    envs.check_env_specs(worlds)
    masked = envs.TransformedEnv(worlds, envs.ActionMask())
    masked.set_seed(5)
    steps = masked.rollout(40, break_when_any_done=False)
    chosen = steps["action_mask"].gather(-1, steps["action"].unsqueeze(-1))
    assert chosen.all()
    assert steps["next", "done"].sum() > 3
    alone = GridEnv(LEVEL, max_steps=9, world="compiled")
    shown, _ = alone.reset(seed=6)
    for k in range(40):
        assert torch.equal(steps["grid"][1, k], torch.from_numpy(shown["grid"]))
        shown, reward, terminated, truncated, _ = alone.step(int(steps["action"][1, k]))
        assert steps["next", "reward"][1, k].item() == pytest.approx(reward)
        assert torch.equal(steps["next", "grid"][1, k], torch.from_numpy(shown["grid"]))
        if terminated or truncated:
            shown, _ = alone.reset()


def test_torchrl_has_directions_and_leaves_masks_out():
    module = adapter("torchrl")
    envs = importlib.import_module("torchrl.envs")
    given: Any = {"world": "object", "observation_representation": "minigrid"}
    worlds = module.TorchRLEnv(LEVEL, 2, action_masks=False, **given)
    envs.check_env_specs(worlds)
    steps = worlds.rollout(3)
    assert steps["direction"].shape == (2, 3)
    assert "action_mask" not in steps.keys()  # noqa: SIM118  # of a TensorDict


def test_tianshou_steps_the_worlds_that_it_asks_for():
    module = adapter("tianshou")
    data = importlib.import_module("tianshou.data")
    envs = module.TianshouVecEnv(LEVEL, 3, max_steps=9, world="compiled")
    alone = GridEnv(LEVEL, max_steps=9, world="compiled")
    envs.seed(5)
    (seen, infos), (shown, _), ends = envs.reset(), alone.reset(seed=6), 0
    assert [info["env_id"] for info in infos] == [0, 1, 2]
    for k, chosen in enumerate(actions(3)):
        assert same({name: array[1] for name, array in seen.items()}, shown)
        if k % 3 == 0:  # the others alone: this one stays as it is
            _, _, *over, infos = envs.step(chosen[[0, 2]], [0, 2])
            assert [info["env_id"] for info in infos] == [0, 2]
            envs.reset(np.array([0, 2])[np.logical_or(*over)])
        again, rewards, *over, infos = envs.step(chosen[[1]], id=1)
        seen = {name: array[[0, 0, 0]] for name, array in again.items()}
        shown, reward, terminated, truncated, info = alone.step(chosen[1])
        assert (rewards.dtype, rewards.tolist()) == (np.float32, [np.float32(reward)])
        assert (over[0].item(), over[1].item()) == (terminated, truncated)
        assert infos.tolist() == [{"env_id": 1, "success": info["success"]}]
        if terminated or truncated:
            ends += 1
            seen, _ = envs.reset([1, 1, 1])
            shown, _ = alone.reset()
    assert ends > 3
    assert [space.n for space in envs.action_space] == [8] * 3
    masked = module.TianshouVecEnv(LEVEL, 4, masks=True, observation_representation="flat")
    seen, _ = masked.reset(seed=3)
    assert isinstance(seen, data.Batch)
    with pytest.raises(ValueError, match=r"^action_masks=True: TianshouVecEnv sets"):
        module.TianshouVecEnv(LEVEL, 2, action_masks=True)
    assert masked.observation_space[0].contains({"obs": seen.obs[0], "mask": seen.mask[0]})
    with pytest.raises(ValueError, match="2 seeds for 4 worlds: give one for each"):
        masked.seed([1, 2])
    with pytest.raises(AttributeError, match="create them with the option"):
        masked.set_env_attr("max_steps", 3)


def files(folder: str) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in Path(folder).iterdir()}


@pytest.mark.filterwarnings("default")
def test_minari_gives_back_what_it_was_given(minari, capsys):
    words = ["--episodes", "6", "--max-steps", "30", "--seed", "3", "--masks", "--out", "demos"]
    words += ["--representation", "cells"]
    assert main(["rollout", "keydoor-sizes", "--policy", "valid", *words]) == 0
    words = ["minari", "doors/valid-v0", "--from", "demos", "--author", "a"]
    for policy in "random", "solver":
        known = ["--policy", policy, "--episodes", "9", "--max-steps", "30", "--out", policy]
        assert main(["rollout", "keydoor-sizes", *known]) == 0
    assert main([*words, "--reference", "solver", "random"]) == 2
    assert "and then a good one" in capsys.readouterr().err
    assert main(["rollout", "keydoor-5x5", "--episodes", "1", "--out", "small"]) == 0
    assert main([*words, "--reference", "small", "solver"]) == 2
    assert "small is of keydoor-5x5, digest " in capsys.readouterr().err
    assert main([*words, "--reference", "random", "solver"]) == 0
    for more in [], ["--scenario", "keydoor-sizes"]:
        back = ["minari", "doors/valid-v0", "--to", f"again{len(more)}", *more]
        assert main(back) == 0
        assert files("demos") == files(f"again{len(more)}")
    dataset = minari.load_dataset("doors/valid-v0")
    scores = []
    for policy in "random", "solver":
        rewards = np.load(Path(policy, "reward.npy"))
        scores.append(minari.get_normalized_score(dataset, rewards.sum(dtype=float) / 9))
    assert scores == pytest.approx([0, 1])
    env = dataset.recover_environment()
    assert env.unwrapped.scenario.max_steps == 30
    assert env.observation_space["grid"].shape == dataset[0].observations["grid"].shape[1:]
    assert dataset[2].infos["success"].sum() <= 1
    seeds = [about["seed"] for about in dataset.storage.get_episode_metadata(range(6))]
    assert seeds == list(range(3, 9))
    capsys.readouterr()
    assert main(["minari", "doors/valid-v0", "--scenario", LEVEL, "--to", "other"]) == 2
    assert "is of keydoor-sizes, digest " in capsys.readouterr().err
    assert not Path("other").exists()
    assert main(["rollout", "hold-plates", "--episodes", "1", "--out", "several"]) == 0
    assert main(["minari", "plates/some-v0", "--from", "several"]) == 2
    assert "datasets are of grids with one agent" in capsys.readouterr().err
    assert main(["minari", "badname", "--from", "demos"]) == 2
    assert "badname: expected a version behind the name" in capsys.readouterr().err


@pytest.mark.usefixtures("minari")
def test_a_dataset_runs_nothing(capsys):
    """Minari itself calls the function that a dataset names, if the dataset lacks its spaces."""
    assert main(["rollout", "keydoor-5x5", "--episodes", "1", "--out", "small"]) == 0
    words = ["--author", "a", "--email", "a@b.org", "--link", "c"]
    assert main(["minari", "doors/small-v0", "--from", "small", *words]) == 0
    file = Path("datasets/doors/small-v0/data/metadata.json")
    about = json.loads(file.read_text())
    spec = json.loads(about["env_spec"]) | {"entry_point": "os:mkdir", "kwargs": {"path": "ran"}}
    for kwargs in {"path": "ran"}, {"scenario": "keydoor-5x5", "path": "ran"}:
        changed = {**about, "env_spec": json.dumps({**spec, "kwargs": kwargs})}
        del changed["observation_space"]
        file.write_text(json.dumps(changed))
        capsys.readouterr()
        assert main(["minari", "doors/small-v0", "--to", "again"]) == 2
        assert "doors/small-v0" in capsys.readouterr().err
        assert not Path("ran").exists()


@pytest.mark.parametrize("representation", ["default", "compact", "cells", "minigrid"])
@pytest.mark.filterwarnings("default")
def test_minari_has_the_spaces_of_the_environment(representation, minari):
    words = ["--episodes", "2", "--max-steps", "9", "--representation", representation]
    assert main(["rollout", LEVEL, *words, "--out", "demos"]) == 0
    assert main(["minari", "doors/some-v0", "--from", "demos", "--author", "a"]) == 0
    dataset = minari.load_dataset("doors/some-v0")
    env = dataset.recover_environment()
    filtered = FilterObservation(env, [*dataset.observation_space])
    assert filtered.observation_space == dataset.observation_space
    assert env.action_space == dataset.action_space
    assert env.observation_space.keys() - dataset.observation_space.keys() == (
        {"mission"} if representation == "minigrid" else {"agent_id_grid"}
    )
    about = json.loads(Path("demos/rollout.json").read_text())
    for kind in about["arrays"].values():  # as older rollouts are
        kind.pop("low", None), kind.pop("high", None)
    Path("demos/rollout.json").write_text(json.dumps(about))
    assert main(["minari", "doors/older-v0", "--from", "demos", "--author", "a"]) == 0
    older = minari.load_dataset("doors/older-v0").observation_space
    assert {name: box.shape for name, box in older.items()} == (
        {name: space.shape for name, space in dataset.observation_space.items()}
    )


@pytest.mark.filterwarnings("default")
def test_a_failed_import_leaves_nothing(minari, monkeypatch, capsys):
    words = ["--episodes", "2", "--max-steps", "9", "--out", "demos"]
    assert main(["rollout", LEVEL, *words]) == 0
    assert main(["minari", "doors/some-v0", "--from", "demos", "--author", "a"]) == 0
    before, to = {*Path().iterdir()}, ["minari", "doors/some-v0", "--to", "again"]
    module = importlib.import_module("gv_engine.plugins.adapters.minari")

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(module.EpisodeFolder, "close", fail)
        assert main(to) == 2
    assert "again cannot be written: No space left on device" in capsys.readouterr().err
    assert main([*to[:-1], "nowhere/again"]) == 2
    assert "again cannot be written: there is no folder nowhere" in capsys.readouterr().err
    with monkeypatch.context() as patch:
        patch.setattr(module.EpisodeFolder, "extend", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            module.to_folder("doors/some-v0", Path("again"))
    make = module._make_rollout_arrays
    with monkeypatch.context() as patch:
        patch.setattr(
            module, "_make_rollout_arrays", lambda *a: make(*a) | {"action": np.array([300])}
        )
        assert main(to) == 2
    assert "its action has values that uint8 cannot hold" in capsys.readouterr().err
    assert {*Path().iterdir()} == before
    Path("again").mkdir()
    assert main(to) == 0
    assert files("again") == files("demos")
    assert main(to) == 2
    assert "again is there already" in capsys.readouterr().err


@pytest.mark.filterwarnings("default")
def test_minari_keeps_levels_and_parameters(minari, capsys):
    words = ["--levels", "3:9", "--max-steps", "20", "--seed", "4", "--out", "demos"]
    assert main(["rollout", "keydoor", "--set", "size=5", *words]) == 0
    assert main(["minari", "doors/some-v0", "--from", "demos", "--author", "a"]) == 0
    assert main(["minari", "doors/some-v0", "--to", "again"]) == 0
    assert files("demos") == files("again")
    assert main(["minari", "doors/some-v0", "--to", "named", "--scenario", "keydoor"]) == 0
    assert files("demos") == files("named")
    dataset = minari.load_dataset("doors/some-v0")
    env = dataset.recover_environment()
    told = dataset.storage.get_episode_metadata(dataset.episode_indices)
    for k, about in enumerate(told):
        seen, _ = env.reset(seed=about["seed"])
        assert np.array_equal(seen["grid"], dataset[k].observations["grid"][0])
    minari.combine_datasets([dataset, dataset], "doors/both-v0")  # says nothing of a rollout
    capsys.readouterr()
    assert main(["minari", "doors/both-v0", "--to", "both"]) == 0
    assert "has no seeds of 12 of its 12 episodes, as Minari drops" in capsys.readouterr().err
    assert np.array_equal(np.load("both/grid.npy"), np.concatenate([np.load("demos/grid.npy")] * 2))


@pytest.mark.parametrize(("first", "lacking"), [([], 0), (["--masks"], 2)])
@pytest.mark.filterwarnings("default")
def test_minari_says_which_episodes_have_no_masks(first, lacking, minari, capsys):
    made = []
    for out, masks in ("a", first), ("b", [] if first else ["--masks"]):
        words = ["--episodes", "2", "--max-steps", "9", *masks, "--out", out]
        assert main(["rollout", LEVEL, *words]) == 0
        assert main(["minari", f"doors/{out}-v0", "--from", out, "--author", "a"]) == 0
        made.append(minari.load_dataset(f"doors/{out}-v0"))
    minari.combine_datasets(made, "doors/mixed-v0")
    assert main(["minari", "doors/mixed-v0", "--to", "again"]) == 2
    told = f"2 of 4 episodes have no action_mask in their infos, the first is {lacking};"
    assert told in capsys.readouterr().err
    assert not Path("again").exists()
