"""Replays: what is played is played again, and whatever differs is told, with its step."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import imageio.v3
import imageio_ffmpeg  # type: ignore[import-untyped]  # it has no types
import numpy as np
import pytest

from gv_engine import GridVectorEnv, Scenario
from gv_engine.cli import main
from gv_engine.cli.new import write_starter_project
from gv_engine.envs.rollout.episode_folder import EpisodeFolder
from gv_engine.envs.rollout.policy import load_policy
from gv_engine.envs.rollout.rollout import rollout
from gv_engine.play.session import replay as replays
from gv_engine.play.session.catalogue import load_playable
from gv_engine.play.session.replay import LINE_BEGINS, Replay, ReplayError, scenario_of_replay
from gv_engine.play.session.rollout_games import RolloutSessions, is_rollout
from gv_engine.play.session.session import Session
from gv_engine.rules.geometry import ACTIONS, add_up
from tests import DATA
from tests.games import LEFT, LINE, ruled, take
from tests.levels import NOT_OF_GALLERY
from tests.strategies import meadow

SOLVED = DATA / "conformance" / "gv_keydoor.5x5.solved200.npz"


def episode(scenario: Scenario, seed: int, steps: int = 30) -> Session:
    """A random episode; time may pass as well."""
    game, chance = Session(scenario, seed), np.random.default_rng(seed)
    for _ in range(steps):
        game.step(str(chance.choice([*game.actions, game.wait or game.actions[0]])))
    return game


@pytest.fixture(scope="module")
def replay() -> Replay:
    return episode(Scenario.load("keydoor-5x5"), 3).replay()


@pytest.mark.sample("keydoor-5x5", "keydoor-sizes", "tutorial")
@pytest.mark.parametrize("name", NOT_OF_GALLERY)
def test_all_scenarios_play_again(name: str):
    for seed in range(3):
        game = episode(Scenario.load(name), seed)
        replay = Replay.from_bytes(game.replay().to_bytes())
        assert replay == game.replay()
        again = Session.from_replay(replay, replay.find())
        assert (again.difference, again.position) == (None, 0)
        assert again.length == game.length > 0
        again.seek(again.length)
        assert again.frame().total == game.frame().total == replay.total
        assert again.frame().outcome == game.frame().outcome == replay.outcome
        assert again.state_digest() == game.state_digest()


def test_what_is_damaged_anywhere_is_noticed(replay: Replay):
    data = replay.to_bytes()
    for k in range(len(data)):
        flipped = bytearray(data)
        flipped[k] ^= 1 << k % 8
        with pytest.raises(ReplayError, match="checksum does not fit"):
            Replay.from_bytes(bytes(flipped))
        for broken in (data[:k], data[k + 1 :], data[:k] + b" " + data[k:], data[:k] * 2):
            with pytest.raises(ReplayError):
                Replay.from_bytes(broken)
    with pytest.raises(ReplayError, match=r"^cut short, after 300 bytes; copy it again$"):
        Replay.from_bytes(data[:300])
    with pytest.raises(ReplayError, match=r"^no replay, or a damaged one"):
        Replay.from_bytes(b'{"moves": []}\n')


def sealed(text: str) -> bytes:
    """A file that somebody wrote with the right checksum."""
    body = text.encode()
    return body + b',\n "checksum": "' + sha256(body).hexdigest().encode() + b'"\n}\n'


FORMAT = '{"format": "GV Engine replay 1", '


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[1", "[" * 100_000, '{"a":' * 100_000),
        *('{"format": "GV Engine replay 2"', '{"format": {}'),
        *(FORMAT + '"scenario": 3, "steps": []', FORMAT + '"scenario": {}, "steps": 7'),
    ],
    ids=range(9),
)
def test_files_that_are_none_are_refused_in_one_line(text: str):
    with pytest.raises(ReplayError) as error:
        Replay.from_bytes(sealed(text))
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 300


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("seed", value) for value in (-1, True, "1")),
        *(("outcome", "won"), ("start", None), ("engine", "\udfff"), ("steps", "TURN")),
        *(("steps", [step]) for step in (["TURN_LEFT", 0.0], [["TURN_LEFT"], 0.0, "0"])),
        *(("steps", [["TURN_LEFT", reward, "0"]]) for reward in ("much", 10**400)),
        ("scenario", {"domain": "grid", "name": 3, "digest": "", "text": ""}),
        ("scenario", {"domain": "grid"}),
        *(("settings", value) for value in ({"size": "\0"}, {"\ud800": 5})),
    ],
)
def test_so_are_values_that_mean_nothing(replay: Replay, key: str, value: object):
    content = json.loads(replay.to_bytes()) | {key: value}
    content.pop("checksum")
    with pytest.raises(ReplayError, match="not a replay as GV Engine"):
        Replay.from_bytes(sealed(json.dumps(content)[:-1]))


def test_a_line_of_text_is_the_same_game(replay: Replay):
    line = replay.to_line()
    assert line.startswith(LINE_BEGINS)
    for said in (line, f"  {line}\n", line.removeprefix(LINE_BEGINS)):
        assert Replay.from_line(said) == replay


@pytest.mark.parametrize(
    "broken",
    [
        lambda line: "",
        lambda line: LINE_BEGINS,
        lambda line: f"{LINE_BEGINS}AAAA",
        lambda line: line[:-1],
        lambda line: line[: len(line) // 2],
        lambda line: line[:40] + line[44:],
        *(lambda line, mark=mark: line[:40] + mark + line[40:] for mark in "! ?\n*"),
        lambda line: LINE_BEGINS + line,
    ],
    ids=range(12),
)
def test_a_line_that_is_not_whole_is_told(replay: Replay, broken: Any):
    with pytest.raises(ReplayError, match=r"no game|not the whole line|checksum does|cut short"):
        Replay.from_line(broken(replay.to_line()))


def test_a_replay_has_room_for_so_many_bytes(replay, tmp_path, monkeypatch):
    data, file = replay.to_bytes(), tmp_path / "long.gvreplay"
    monkeypatch.setattr(replays, "_MAX_BYTES", len(data))
    replay.save(file)
    assert Replay.load(file) == Replay.from_line(replay.to_line()) == replay
    file.write_text(replay.to_line())
    assert Replay.load(file) == replay
    file.unlink()
    monkeypatch.setattr(replays, "_MAX_BYTES", len(data) - 1)
    with pytest.raises(OSError, match=r"long.gvreplay cannot be written: 30 steps are more than"):
        replay.save(file)
    assert not file.exists()
    for found in (lambda: Replay.from_bytes(data), lambda: Replay.from_line(replay.to_line())):
        with pytest.raises(ReplayError, match=r"larger than .*, which no replay is"):
            found()


def test_differences_are_told_with_their_step(replay: Replay):
    def difference(step: int, **changes: Any) -> str:
        steps = list(replay.steps)
        steps[step - 1] = steps[step - 1]._replace(**changes)
        game = Session.from_replay(replace(replay, steps=tuple(steps)), replay.find())
        assert game.difference is not None
        assert game.difference.step == step
        assert game.length in (step, step - 1)
        return game.difference.message

    assert difference(4, state="0" * 16) == "step 4: another state than the replay has"
    assert difference(1, reward=1.0) == "step 1: the reward is -0.05, the replay has 1"
    assert "the replay has nan" in difference(2, reward=float("nan"))
    end = "step 30: goes on, where the replay is truncated"
    assert difference(30, outcome="truncated") == end
    assert difference(7, action="FLY") == "step 7: FLY: Fly: not in this level"

    def again(**changes: Any) -> Session:
        return Session.from_replay(replace(replay, **changes), replay.find())

    assert again(start="0").difference == (0, "step 0: another level")
    assert again(seed=4).length == 0
    older = again(start="0", engine="0.0.1").difference
    assert older
    assert "played with GV Engine 0.0.1" in older.message


def test_steps_after_the_end_are_a_difference():
    game = take(Session(Scenario.load({**LINE, "max_steps": 2}), 0), LEFT, LEFT, LEFT)
    replay = game.replay()
    assert (game.length, replay.outcome) == (2, "truncated")
    longer = replace(replay, steps=(*replay.steps[:1], *replay.steps))
    assert Session.from_replay(longer, game.scenario).difference.step == 2  # type: ignore[union-attr]


def test_rewards_may_be_no_numbers(tmp_path: Path):
    code = (
        "from gv_engine import REWARD, system\n"
        "@system(REWARD)\n"
        "def odd(w, agent):\n"
        "    return (float('nan'), float('inf'), -float('inf'))[w.steps % 3]\n"
    )
    scenario = ruled(tmp_path, code, reward_functions=["./rules.py:odd"])
    game = take(Session(scenario, 0), LEFT, LEFT, LEFT)
    replay = Replay.from_bytes(game.replay().to_bytes())
    assert [str(taken.reward) for taken in replay.steps] == ["nan", "inf", "-inf"]
    assert Session.from_replay(replay, game.scenario).difference is None


def test_whose_replay_it_is(tmp_path: Path, replay: Replay):
    write_starter_project(tmp_path / "cave")
    cave = Scenario.load(tmp_path / "cave")
    own = episode(cave, 0, 5).replay()
    with pytest.raises(ReplayError, match="'cave', which is no built-in scenario"):
        own.find()
    assert own.find([Scenario.load("empty-4x4"), cave]) is cave
    with pytest.raises(ReplayError, match="a replay of 'keydoor-5x5', not of 'cave'"):
        Session.from_replay(replay, cave)

    copied = tmp_path / "copy" / "cave"
    copied.parent.mkdir()
    (tmp_path / "cave").rename(copied)
    rules = copied / "rules.py"
    text = rules.read_text()
    for saved in (text, text.replace("\n", "\r\n")):
        rules.write_bytes(saved.encode())
        assert Session.from_replay(own, Scenario.load(copied)).difference is None
    rules.write_text(text + "\n# another rule\n")
    with pytest.raises(ReplayError, match="a replay of 'cave', which has changed since"):
        own.find([Scenario.load(copied)])


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("keydoor", {"size": 6}),
        ("keydoor-9x9", {"size": 6}),
        ("MiniGrid-Fetch-8x8-N3-v0", {"size": 7}),
    ],
)
def test_what_was_set_is_found_again_in_its_variant(name: str, settings: dict[str, Any]):
    played = episode(Scenario.load(name, **settings), 3, 5).replay()
    kept = Replay.from_bytes(played.to_bytes())
    assert kept.find().identity == played.scenario


def test_a_replay_runs_no_code(tmp_path: Path, monkeypatch):
    write_starter_project(tmp_path / "cave")
    own = episode(Scenario.load(tmp_path / "cave"), 0, 5).replay()
    (tmp_path / "cave" / "rules.py").write_text("open('ran', 'w')\n")
    monkeypatch.chdir(tmp_path / "cave")
    for name in ("cave", ".", "./scenario.yaml", str(tmp_path / "cave"), "../cave"):
        with pytest.raises(ReplayError):
            replace(own, scenario=own.scenario._replace(name=name)).find()
    assert not Path("ran").exists()


def print_states(cave: str) -> None:
    """Print the states of a game of a folder, and of one whose rules define types."""
    for scenario in (Scenario.load(cave), meadow()):
        replay = episode(scenario, 7).replay()
        print(replay.scenario.digest, replay.start, *(taken.state for taken in replay.steps))


@pytest.mark.slow
def test_a_state_is_the_same_in_every_process(tmp_path: Path, capsys):
    """Whatever types were loaded before, which number them, and whatever the hash seed."""
    cave = tmp_path / "cave"
    write_starter_project(cave)
    meadow()
    print_states(str(cave))
    here = capsys.readouterr().out
    code = f"from tests.session.test_replay import print_states; print_states({str(cave)!r})"
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    there = subprocess.check_output([sys.executable, "-c", code], env=environment, text=True)
    assert here == there
    assert len(here.split()) > 30


# ---- levels that a line brings along ----------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("", "extends: lava\nmap: '>..E'\n"),
        ("#2", "extends: lava\nlevels: [{map: '>.E'}, {map: '>..E'}]\n"),
    ],
)
def test_a_line_brings_its_level_along(tmp_path: Path, number: str, text: str):
    file = tmp_path / "own.yaml"
    file.write_text(text)
    sent = Session(load_playable(f"{file}{number}"), 4).replay()
    file.unlink()
    for _ in range(2):  # the second time it is known
        found = scenario_of_replay(Replay.from_line(sent.to_line()), tmp_path / "levels")
        assert found.identity == sent.scenario
        assert Session.from_replay(sent, found).difference is None
    (kept,) = (tmp_path / "levels").rglob("*.yaml")
    assert kept == tmp_path / "levels" / sent.scenario.digest[:16] / "own.yaml"
    assert kept.read_text() == sent.scenario.text


@pytest.fixture(scope="module")
def lava() -> Replay:
    """Of a level that has a text alone."""
    level = Scenario.load({"extends": "lava", "map": ">..E", "name": "level"})
    return Session(level, 4).replay()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        *(({"text": text}, "its text alone is not enough") for text in ("map: '>..E'", "?")),
        ({"digest": "0" * 64}, "its text alone is not enough"),
        ({"text": '{"levels": "FILE"}'}, "a pasted line may not name other files"),
        ({"text": '{"extends": "FILE"}'}, "a pasted line may not name other files"),
        ({"text": '{"mixture": ["FILE"]}'}, "a pasted line may not name other files"),
    ],
)
def test_a_text_that_is_not_the_scenario_is_refused(lava, tmp_path, change, told):
    file = tmp_path / "b.xsb"
    file.write_text("#####\n#@$.#\n#####\n")
    change = {key: value.replace("FILE", str(file)) for key, value in change.items()}
    sent = replace(lava, scenario=lava.scenario._replace(**change))
    with pytest.raises(ReplayError, match=told):
        scenario_of_replay(sent, tmp_path / "levels")
    assert not (tmp_path / "levels").exists()


def test_a_digest_is_the_name_of_no_other_folder(lava: Replay, tmp_path: Path):
    levels, victim = tmp_path / "levels", tmp_path / "victim" / "level.yaml"
    levels.mkdir()
    victim.parent.mkdir()
    victim.write_text("mine")
    sent = replace(lava, scenario=lava.scenario._replace(digest="../victim"))
    for opened in (lambda: Replay.from_line(sent.to_line()), lambda: sent):
        with pytest.raises((ReplayError, ValueError), match="expected 64 hexadecimal digits"):
            scenario_of_replay(opened(), levels)
    assert victim.read_text() == "mine"


# ---- the command -----------------------------------------------------------------------------


@pytest.fixture
def here(tmp_path: Path, monkeypatch, replay: Replay) -> Path:
    """An empty folder with a replay in it."""
    monkeypatch.chdir(tmp_path)
    replay.save(Path("a.gvreplay"))
    return tmp_path


def test_verify(here: Path, capsys):
    assert main(["replay", "a.gvreplay", "--verify"]) == 0
    assert capsys.readouterr().out.startswith("a.gvreplay: keydoor-5x5, seed 3, 30 steps, return")
    write_starter_project(here / "cave")
    episode(Scenario.load("cave"), 0, 5).replay().save(Path("cave.gvreplay"))
    assert main(["replay", "cave.gvreplay", "--verify"]) == 2
    assert "--scenario" in capsys.readouterr().err
    assert main(["replay", "cave.gvreplay", "--verify", "--scenario", "cave"]) == 0


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["none.gvreplay", "--verify"], "none.gvreplay cannot be read: No such file"),
        ([".", "--verify"], ". is a folder, not a file"),
        (["a.gvreplay", "--scenario", "empty-4x4", "--verify"], "not of 'empty-4x4'"),
        (["a.gvreplay", "--record", "a.avi"], "a.avi: the name must end with"),
        (["a.gvreplay", "--record", "no/a.gif"], "a.gif cannot be written: there is no folder no"),
        (["a.gvreplay", "--record", "a.gif", "--view", "all"], "--view all (allowed"),
    ],
)
def test_what_cannot_be_done_is_said(here, words, part, capsys):
    assert main(["replay", *words]) == 2
    said = capsys.readouterr().err
    assert part in said
    assert said.count("\n") == 1
    assert [path.name for path in here.iterdir()] == ["a.gvreplay"]


def test_played_undone_finished_saved_checked_and_drawn(here: Path):
    with np.load(SOLVED) as recorded:
        actions = [ACTIONS[number] for number in recorded["action"]]
        total = add_up(recorded["reward"].tolist())
    game = Session(Scenario.load("keydoor-5x5"), 200)
    take(game, *actions[:4], LEFT, "MOVE_LEFT", "ACTUATE").undo(3)
    take(game, *actions[4:])
    game.replay().save(Path("won.gvreplay"))
    found = Replay.load(Path("won.gvreplay"))
    assert [taken.action for taken in found.steps] == actions
    assert (found.outcome, found.total) == ("terminated", total)
    assert main(["replay", "won.gvreplay", "--verify"]) == 0
    assert main(["replay", "won.gvreplay", "--record", "won.mp4", "--cell", "16"]) == 0
    drawn = ["--record", "won.png", "--view", "state", "--cell", "16"]
    assert main(["replay", "won.gvreplay", *drawn]) == 0
    frames, _ = imageio_ffmpeg.count_frames_and_secs("won.mp4")
    assert frames == len(actions) + 1 + 8
    assert imageio.v3.imread("won.png").shape == (80, 80, 3)


def test_a_difference_is_told(here: Path, replay: Replay, capsys):
    replace(replay, start="0").save(Path("b.gvreplay"))
    for words in (["--verify"], ["--record", "b.png"]):
        assert main(["replay", "b.gvreplay", *words]) == 1
        assert capsys.readouterr().err == "gv-engine: b.gvreplay: step 0: another level\n"
    assert not Path("b.png").exists()


def test_episodes_of_a_rollout_are_games(tmp_path: Path):
    env = GridVectorEnv(
        "keydoor-5x5", 2, world="object", autoreset_mode="Disabled", max_steps=9, copy=True
    )
    folder = EpisodeFolder(tmp_path / "out", env, {})
    found = [*rollout(env, load_policy("valid", 2, env.num_actions), 3, 4, keep_steps=True)]
    for each in found:
        folder.append(each)
    folder.close(complete=True)
    games = RolloutSessions(tmp_path / "out", env.scenario)
    assert (len(games), is_rollout(tmp_path / "out"), is_rollout(tmp_path)) == (3, True, False)
    for number, each in enumerate(found):
        game = games.open_session(number)
        assert (game.seed, game.position, game.length) == (each.seed, 0, each.length)
        assert game.difference is None
        game.seek(game.length)
        assert np.isclose(game.frame().total, each.total)
    for name, value, message in (
        ("reward", 7.0, r"Step 3: the reward is .0\.\d+, and was \+7"),
        ("action", 200, "Step 3: .*, and was "),
    ):
        file = tmp_path / "out" / f"{name}.npy"
        kept = np.load(file)
        changed = kept.copy()
        changed[found[0].length + 2] = value
        np.save(file, changed)
        difference = RolloutSessions(tmp_path / "out", env.scenario).open_session(1).difference
        assert difference
        assert difference.step == 3
        assert re.fullmatch(message + ".*", difference.message)
        np.save(file, kept)
