"""Configurations of training, and what is said of wrong ones; no torch is needed."""

from pathlib import Path

import pytest

from gv_engine.learning import Config
from gv_engine.plugins.learning.config import RECURRENT_DEFAULTS, ConfigError, Hyperparameters

VALUES = {"learning_rate": 3e-4, "num_envs": 64, "recurrent": True, "levels": "train", "until": 0.9}
YAML = "learning_rate: 3e-4\nnum_envs: 64\nrecurrent: true\nlevels: train\nuntil: 0.9\n"
TOML = 'learning_rate = 3e-4\nnum_envs = 64\nrecurrent = true\nlevels = "train"\nuntil = 0.9\n'


@pytest.mark.parametrize(("name", "text"), [("a.yaml", YAML), ("a.toml", TOML)])
def test_a_file_says_what_python_says(name, text, tmp_path):
    (tmp_path / name).write_text(text)
    config = Config.read(tmp_path / name)
    assert config == Config.from_values(VALUES)
    assert config.num_minibatches == RECURRENT_DEFAULTS["num_minibatches"]
    assert (config.num_envs, config.stop_condition) == (64, (1_000_000, 0.9))
    assert type(config.hyperparameters) is Hyperparameters
    assert config.hyperparameters.learning_rate == 3e-4


def test_an_empty_file_is_the_defaults(tmp_path):
    (tmp_path / "a.yaml").write_text("# nothing yet\n")
    assert Config.read(tmp_path / "a.yaml") == Config()


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"learning_rat": 1}, "no setting 'learning_rat'; did you mean 'learning_rate'?"),
        ({"gamma": 2}, "gamma is 2; expected a number from 0 to 1"),
        ({"num_envs": 0}, "num_envs is 0; expected an integer from 1 to"),
        ({"num_envs": 1.5}, "num_envs is 1.5; expected an integer"),
        ({"num_envs": True}, "num_envs is True; expected an integer"),
        ({"recurrent": "yes"}, "recurrent is 'yes'; expected true or false"),
        ({"lr": 1e-3}, "no setting 'lr'; did you mean 'learning_rate'?"),
        ({"num_envs": 1e2}, "num_envs is 100.0; expected an integer from 1 to 1048576; write 100"),
        (
            {"learning_rate": "3e-4"},
            "learning_rate is '3e-4'; expected a number from 0 on; found a text: leave out the quo",
        ),
        ({"learning_rate": "fast"}, "learning_rate is 'fast'; expected a number from 0 on$"),
        ({"curriculum": ["plr"]}, r"no curriculum \"\['plr'\]\"; did you mean 'plr'?"),
        ({"curriculum": {"a": 1}}, "no curriculum"),
        ({"learner": ["ppo"]}, "no learner"),
        ({"gamma": 10**400}, "gamma is 1000.*; expected a number from 0 to 1"),
        ({"learning_rate": -(10**400)}, "learning_rate is -1000"),
        ({"hidden_size": 99999999}, "hidden_size is 99999999; expected an integer from 1 to 4096"),
        ({"num_steps": 2**21}, "num_steps is 2097152; expected an integer from 1 to 1048576"),
        ({"num_minibatches": 17, "num_envs": 4, "num_steps": 8}, "32 steps, .* at most 16, of two"),
        ({"learning_rate": float("nan")}, "learning_rate is nan; expected a number"),
        ({"levels": 3}, "levels is 3; expected a text"),
        ({"preset": "smal"}, "no preset 'smal'; did you mean 'small'?"),
        ({"preset": ["small"]}, "no preset"),
        ({"curriculum": "pl"}, "no curriculum 'pl'; did you mean 'plr'?"),
        ({"replay_prob": 1.5}, "replay_prob is 1.5; expected a number from 0.01 to 0.99"),
        ({"replay_temperature": 0}, "replay_temperature is 0; expected a number from 0.01"),
    ],
)
def test_wrong_values_are_told(values, says, tmp_path):
    with pytest.raises(ConfigError, match=says.replace("?", r"\?")):
        Config.from_values(values)


def test_other_values_come_before_those_of_a_preset():
    config = Config.from_values({"preset": "small", "num_steps": 64, "recurrent": True})
    assert (config.num_envs, config.num_steps, config.ent_coef) == (8, 64, 0.005)


def test_small_batches_read_missions_by_another_encoder():
    small, mission = (Config.from_values({"preset": name}) for name in ("small", "small-mission"))
    assert (small.encoder, mission.encoder) == ("flat", "embedding")
    assert small.num_envs == mission.num_envs == 8


def test_a_wrong_name_in_python_is_told():
    with pytest.raises(ConfigError, match=r"no setting 'stepss'; did you mean 'steps'\?"):
        Config(stepss=3)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        (
            "a.yaml",
            "[1, 2]",
            r"a.yaml: found \[1, 2\]; expected lines such as `learning_rate: 3e-4`",
        ),
        ("a.toml", "gamma: 1", "a.toml: neither YAML nor TOML: "),
        ("a.yaml", "a: [", "a.yaml: neither YAML nor TOML: "),
        ("a.yaml", "num_env: 3", "a.yaml: no setting 'num_env'; did you mean 'num_envs'"),
        ("a.yaml", None, "a.yaml cannot be read: No such file"),
    ],
)
def test_wrong_files_are_told(name, text, says, tmp_path: Path):
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(ConfigError, match=says):
        Config.read(tmp_path / name)
