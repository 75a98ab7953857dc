"""Policies on web pages: the same actions as in Python, in node."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gv_engine import Scenario
from gv_engine.cli import main
from gv_engine.play.session.autoplay import PolicyAutoplayer
from gv_engine.play.session.session import Session
from gv_engine.plugins.web.page import make_page
from tests.learning.drawn import drawn
from tests.web.games import NODE, run_on_page

MEMORY = {"memory": True}
needs_node = pytest.mark.skipif(not NODE, reason="needs node: apt install nodejs")
PLAY = """
for (const seed of [0n, 1n, 2n ** 40n]) {
  const game = new Game(world, seed, data.engine);
  for (let k = 0; k < 60 && !world.isOver; k++) {
    const { actions, probabilities } = game.decide(policy);
    game.step(actions);
    console.log(JSON.stringify([game.steps[k][0], probabilities]));
  }
}
"""


def act_on_page(level: Scenario, policy: str, code: str) -> list[Any]:
    """Return what JavaScript prints beside a page's `world` and `policy`."""
    page = make_page(level.name, [level], policy=policy)
    return run_on_page(page, f"const policy = await Policy.load(data.policy); {code}")


@needs_node
@pytest.mark.compiled
@pytest.mark.sample("mission-cnn-run-")
@pytest.mark.parametrize("how", ["run", "run:greedy"], ids=["run", "run-greedy"])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        *(("keydoor-5x5", {}), ("keydoor-5x5", MEMORY), ("hold-plates", MEMORY)),
        *(("BabyAI-PickupLoc-v0", {}), ("BabyAI-GoToSeq-v0", MEMORY), ("crafter", {})),
        *(("medley-7x7", {}), ("keydoor-5x5", {"encoder": "cnn"}), ("crafter", {"encoder": "cnn"})),
        ("BabyAI-PickupLoc-v0", MEMORY | {"encoder": "cnn"}),
        ("BabyAI-PickupLoc-v0", {"encoder": "mlp"}),
        ("keydoor-5x5", MEMORY | {"cell": "lstm"}),
        ("keydoor-5x5", {"encoder": "mlp", "activation": "tanh"}),
        *(("keydoor-5x5", {"epsilon": 0.1}), ("keydoor-5x5", {"encoder": "mlp", "epsilon": 0.1})),
    ],
    ids=[
        *("keydoor", "keydoor-memory", "hold-plates", "mission", "sequence", "crafter", "medley"),
        *("cnn", "crafter-cnn", "mission-cnn", "mission-mlp", "lstm", "mlp-tanh", "pqn", "pqn-mlp"),
    ],
)
def test_a_policy_acts_as_in_python(
    name: str, options: Any, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    drawn(Path("run"), name, **options)
    level = Scenario.load(name)
    found = iter(act_on_page(level, how, PLAY))
    several = len(level.agent_group.names) > 1
    for seed in (0, 1, 2**40):
        game = Session(level, seed)
        player = PolicyAutoplayer(game, how)
        while game.position < 60 and not game.outcome:
            choice = player.choose(game)
            action, probabilities = next(found)
            assert action == choice.action
            if not several:
                assert np.allclose(probabilities[0], [*choice.probabilities.values()], 1e-9, 1e-12)
            game.step(choice.action)
    assert next(found, None) is None


@needs_node
@pytest.mark.compiled
@pytest.mark.thorough
@pytest.mark.parametrize("policy", ["random", "valid"])
def test_random_actions_are_those_of_python(policy: str):
    level = Scenario.load("keydoor-5x5")
    found = [action for action, _ in act_on_page(level, policy, PLAY)]
    expected = []
    for seed in (0, 1, 2**40):
        game = Session(level, seed)
        player = PolicyAutoplayer(game, policy)
        while game.position < 60 and not game.outcome:
            expected.append(player.choose(game).action)
            game.step(expected[-1])
    assert found == expected


@needs_node
@pytest.mark.compiled
@pytest.mark.thorough
def test_a_policy_goes_on_from_what_a_player_did(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    drawn(Path("run"), memory=True)
    level = Scenario.load("keydoor-5x5")
    code = """
    const game = new Game(world, 3n, data.engine);
    for (const action of [4, 0, 5, 5]) game.step([action]);
    console.log(JSON.stringify(game.decide(policy).probabilities[0]));
    game.seek(2);
    game.step([0]);
    console.log(JSON.stringify(game.decide(policy).probabilities[0]));
    game.seek(1);
    console.log(JSON.stringify(game.decide(policy).probabilities[0]));
    """
    game = Session(level, 3)
    player = PolicyAutoplayer(game, "run")
    for action in (4, 0, 5, 5):
        game.step(game.actions[action])
    expected = [player.choose(game)]
    game.seek(2)
    game.step(game.actions[0])
    expected.append(player.choose(game))
    game.seek(1)
    expected.append(player.choose(game))
    found = act_on_page(level, "run", code)
    assert np.allclose(found, [[*each.probabilities.values()] for each in expected], 1e-9, 1e-12)


@needs_node
@pytest.mark.compiled
@pytest.mark.thorough
def test_worlds_of_a_wall_are_the_games_of_their_seeds():
    level = Scenario.load("keydoor-5x5")
    code = """
    const context = new Proxy({}, { get: () => () => {}, set: () => true });
    const canvas = { style: {}, getContext: () => context };
    globalThis.window = { devicePixelRatio: 1 };
    globalThis.document = { body: null };
    globalThis.getComputedStyle = () => ({ getPropertyValue: () => "" });
    const wall = new Wall(world, policy, 5n, canvas, { draw() {}, drawCell() {}, joins: () => 0 });
    wall.arrange(1200, 600);
    for (let k = 0; k < 39; k++) wall.stepAll();
    const over = wall.won + wall.lost;
    wall.stepAll();
    for (const at of [0, 17, 255]) {
      const board = wall.boards[at];
      const game = new Game(world, board.seed, data.engine);
      for (const actions of board.actions) game.step(actions);
      const isSame = String(game.rows.at(-1)) === String(board.row);
      console.log(JSON.stringify([String(board.seed), isSame]));
    }
    console.log(JSON.stringify([wall.steps, over]));
    """
    *boards, (steps, over) = act_on_page(level, "valid", code)
    assert boards == [["5", True], ["22", True], ["260", True]]
    assert steps == 40 * 256 - over  # a world that is over begins again with its next step


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("policy", "says"),
    [
        ("run", "run was trained on BabyAI-GoToObj-v0 with the actions"),
        ("nobody", "--policy nobody: a page plays random, valid, or the folder of a run"),
        ("solver", "other policies are Python, which pages do not run"),
        ("empty", "empty holds no run that is a policy: there is no policy.npz"),
    ],
)
def test_a_policy_that_does_not_fit_is_refused_before_anything_is_written(
    policy: str,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    drawn(Path("run"), "BabyAI-GoToObj-v0")
    assert main(["export", "keydoor-5x5", "--html", "page.html", "--policy", policy])
    assert says in capsys.readouterr().err
    assert not Path("page.html").exists()
