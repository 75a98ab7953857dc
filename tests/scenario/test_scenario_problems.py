"""Every mistake in a scenario is one located line, and all of them come at once."""

import math
import pickle

import numpy as np
import pytest

from gv_engine.rules.errors import ScenarioError, describe_allowed
from gv_engine.rules.system import REWARD, TERMINATING, TRANSITION, Phase
from gv_engine.scenario.scenario import Scenario

LEVEL = """\
name: level
max_steps: 100
state_space:
  objects: [Floor, Wall, Exit, Key]
  colors: [RED]
map: |
  #####
  #>.E#
  #####
legend:
  k: {object: Key, color: RED}
action_space: [MOVE_FORWARD, TURN_LEFT]
transition_functions:
  - move_agent
  - name: turn_agent
reward_functions:
  - name: living_reward
    reward: -1
  - {name: getting_closer, object_type: Exit}
observation_function:
  name: partially_occluded
  area: [[-2, 0], [-1, 1]]
terminating_function: reach_exit
"""
MAP = LEVEL[LEVEL.index("map:") : LEVEL.index("legend:")]
LEGEND = LEVEL[LEVEL.index("legend:") : LEVEL.index("action_space")]


def problems_of(file, text):
    """The problems of a scenario with this text, without the name of the file."""
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ScenarioError) as error:
        Scenario.load(file)
    assert all(problem.startswith(f"{file}:") for problem in error.value.problems)
    assert not any("\n" in problem for problem in error.value.problems)
    return [problem.removeprefix(f"{file}:") for problem in error.value.problems]


def test_the_level_itself_is_fine(tmp_path):
    (tmp_path / "level.yaml").write_text(LEVEL)
    assert Scenario.load(tmp_path / "level.yaml").name == "level"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        # top level
        ("name: level", "nmae: level", "1: nmae: unknown key 'nmae'; did you mean 'name'?"),
        ("name: level", "name: [a]", "1: name: found a list of 1, expected a text"),
        ("name: level", "name:", "1: name: found nothing, expected a text"),
        ("name: level", "description: {}", "1: description: found a mapping, expected a text"),
        ("100", "0", "2: max_steps: found 0, allowed are 1 to 2147483647"),
        ("100", "9" * 30, "2: max_steps: found 999999999999999999999999999999, allowed"),
        ("100", "1.5", "2: max_steps: found 1.5, expected a whole number"),
        ("100", "true", "2: max_steps: found true, expected a whole number"),
        ("100", "'100'", "2: max_steps: found '100', expected a whole number"),
        ("max_steps: 100", "capacity: 1", "2: capacity: found 1, allowed are 2 to"),
        ("max_steps: 100", "max_shape: [2, 9]", "smaller than the level of [3, 5]"),
        ("max_steps: 100", "max_shape: 9", "2: max_shape: found 9, expected two numbers: [h"),
        ("max_steps: 100", "max_shape: [9]", "2: max_shape: found a list of 1, expected two"),
        ("max_steps: 100", "max_shape: [9, 9999]", "2: max_shape[1]: found 9999, allowed are 1"),
        ("max_steps: 100", "parametres: {}", "'parametres'; did you mean 'parameters'? (allowed"),
        ("max_steps: 100", "extend: x", "2: extend: unknown key 'extend'; did you mean 'extends'?"),
        # spaces
        ("Key]", "Kye]", "4: state_space.objects[3]: no object type 'Kye'; did you mean 'Key'?"),
        ("Key]", "Wall]", "4: state_space.objects[3]: Wall stands here a second time"),
        ("Key]", "Hidden]", "4: state_space.objects[3]: Hidden belongs to every space"),
        ("[RED]", "[REED]", "5: state_space.colors[0]: no colour 'REED'; did you mean 'RED'?"),
        ("[RED]", "[red]", "5: state_space.colors[0]: no colour 'red'; did you mean 'RED'?"),
        ("Key]", "Kye]", "did you mean 'Key'? (allowed: Floor, Wall, Exit, "),
        ("[RED]", "[]", "5: state_space.colors: found an empty list"),
        ("[RED]", "RED", "5: state_space.colors: found 'RED', expected a list"),
        ("  colors", "  color", "5: state_space.color: unknown key 'color'; did you mean 'colors'"),
        ("[MOVE_FORWARD,", "[MOVE,", "action_space[0]: no action 'MOVE'; did you mean 'MOVE_"),
        ("[MOVE_FORWARD,", "[TURN_LEFT,", "12: action_space[1]: TURN_LEFT stands here a second"),
        # functions
        (
            "  - move_agent",
            "  - move_agnet",
            "14: transition_functions[0]: no transition function ",
        ),
        (
            "  - move_agent",
            "  - systems.algebra:apply_rule",
            ") is for algebra (allowed: move_agent",
        ),
        ("  - move_agent", "  - living_reward", "[0]: 'living_reward' is a reward function (all"),
        ("  - move_agent", "  - 5", "14: transition_functions[0]: no transition function '5'"),
        ("  - move_agent", "  -", "14: transition_functions[0]: found nothing, expected a text"),
        ("  - move_agent", "  - [a]", "14: transition_functions[0]: found a list of 1, expected"),
        ("  - name: turn_", "  - nam: turn_", "[1]: a transition function needs its name"),
        ("  - move_agent\n  - name: turn_agent\n", "", "13: transition_functions: found nothing"),
        ("reach_exit", "[reach_exit]", "23: terminating_function: found a list, expected one"),
        # parameters
        ("reward: -1", "reward: x", "18: reward_functions[0].reward: found 'x', expected a number"),
        ("reward: -1", "reward: .nan", "reward_functions[0].reward: found .nan, expected a finite"),
        ("reward: -1", f"reward: {'9' * 400}", "999..., expected a finite number"),
        (
            "reward: -1",
            "rewrd: -1",
            "18: reward_functions[0].rewrd: living_reward takes no 'rewrd'",
        ),
        (", object_type: Exit", "", "19: reward_functions[1]: getting_closer needs 'object_type'"),
        ("object_type: Exit", "object_type: Exi", "object_type: no object type 'Exi'; did you mea"),
        ("Exit}", "Exit, distance_function: manhatan}", "no distance function 'manhatan'; did you"),
        ("[[-2, 0], [-1, 1]]", "[[0, -2], [-1, 1]]", "22: observation_function.area[0]: found [0"),
        (
            "[[-2, 0], [-1, 1]]",
            "[-2, 0]",
            "22: observation_function.area[0]: found -2, expected a",
        ),
        ("[[-2, 0], [-1, 1]]", "9", "22: observation_function.area: found 9, expected two ranges"),
        ("[[-2, 0], [-1, 1]]", "[[-2, 0]]", "22: observation_function.area: expected two ranges"),
        ("[[-2, 0], [-1, 1]]", "[[-2, 1], [-1, 1]]", "22: observation_function.area: partially_o"),
        ("  area: [[-2, 0], [-1, 1]]\n", "", "20: observation_function: the area is missing"),
        ("name: partially_occ", "name: occ", "21: observation_function.name: no visibility funct"),
        ("name: partially_occluded", "name: from_visibility", "needs a visibility_function (allow"),
        # maps
        ("  #>.E#", "  #>.E", "8: map: row 2 is 4 characters long, row 1 is 5"),
        ("  #>.E#", "  #>XE#", "8: map: row 2, column 3: no 'X' in the legend (allowed: #, ."),
        ("  #>.E#", "  #>XE#", "(allowed: #, ., blank, E, "),
        ("  #>.E#", "  #..E#", "6: map: no agent; put one of ^ v < > where it starts"),
        ("  #>.E#", "  #><E#", "8: map: row 2, column 3: a second agent, the first is in row 2, c"),
        ("  #>.E#", "  #>BE#", "8: map: row 2, column 3: 'B' is Box, not among the state space's"),
        ("  #>.E#", "  #>KE#", "list it under `state_space: colors`"),
        ("  #>.E#", "  #>KE#", "8: map: row 2, column 3: 'K' is Key in YELLOW, not among the st"),
        ("  #>.E#", "  #>\tE#", "8: map: row 2 has a tab"),
        (MAP, "map:\n", "6: map: found nothing, expected rows of characters"),
        (MAP, "map: [a]\n", "6: map: found a list of 1, expected rows of characters"),
        ("map: |", "map: >", "6: map: its rows are joined into one line; write `map: |`"),
        (
            MAP,
            "reset_function: {name: empty, shape: [4, 4]}\n",
            "7: legend: a legend without a map",
        ),
        (
            MAP + LEGEND,
            "",
            "1: reset_function: a level needs one of map, maps, room, reset_function; non",
        ),
        ("max_steps: 100", "reset_function: {name: empty, shape: [4, 4]}", "6: map: a level needs"),
        (MAP + LEGEND, "reset_function: from_map\n", "6: reset_function: from_map draws what stan"),
        (MAP + LEGEND, "reset_function: {name: empty, shape: [3, 5]}\n", "reset_function.shape: e"),
        (MAP + LEGEND, "reset_function: empty\n", "6: reset_function: empty needs 'shape', it is"),
        ("  k:", "  kk:", "11: legend.kk: found the key 'kk', expected a single character"),
        ("color: RED}", "color: RAD}", "11: legend.k.color: no colour 'RAD'; did you mean 'RED'?"),
        ("object: Key,", "object: Kez,", "11: legend.k.object: no object type 'Kez'"),
        ("object: Key,", "object: Wall,", "11: legend.k.color: Wall has no colour"),
        ("object: Key,", "object: Key, state: OPEN,", "11: legend.k.state: Key has no states"),
        (
            "{object: Key,",
            "{object: Door, state: AJAR,",
            "11: legend.k.state: no state of Door 'AJ",
        ),
        (
            "{object: Key, color: RED",
            "{agent: UP",
            "11: legend.k.agent: no orientation 'UP' (allowed: FORWA",
        ),
        (
            "object: Key,",
            "agent: LEFT, holds: Key,",
            "11: legend.k.color: goes with `object`; what",
        ),
        ("object: Key, ", "", "11: legend.k: found neither `object` nor `agent`"),
        ("object: Key,", "objekt: Key,", "11: legend.k.objekt: unknown key 'objekt'; did you m"),
        # YAML
        ("name: level", "name: level\nname: x", "2: name: the key stands here a second time, fir"),
        ("[RED]", "[RED", "; it begins in line 5"),
        ("[RED]", "[RED", "not valid YAML: while parsing a flow sequence, expected ',' or ']'"),
        (
            "  colors",
            "\tcolors",
            "5: not valid YAML: while scanning for the next token, found chara",
        ),
        ("name: level", "name: !!python/name:os.system", "1: name: found the tag"),
        ("name: level", "name: !level x", "1: name: found the tag '!level'"),
        ("name: level", "name: &a [*a]", "1: name[0]"),
        ("name: level", "name: *a", "1: not valid YAML: found undefined alias 'a'"),
        ("name: level", "? [a]\n: b", "1: keys must be single words"),
        ("name: level", "<<: 5", "1: <<: only mappings can be merged"),
        ("name: level", "name: \x07", "1: not valid YAML: found the character 0x7"),
        ("Key]", "./nowhere.py:Coin]", "./nowhere.py cannot be loaded: no Python file 'nowhere.p"),
        ("Key]", "nowhere:Coin]", "objects[3]: nowhere:Coin: not loaded, scenarios may name files"),
        ("Key]", "':Coin']", "4: state_space.objects[3]: found ':Coin', expected ./rules.py:name"),
        ("[RED]", "[" * 300 + "]" * 300, "nested deeper than 50 levels"),
    ],
)
def test_one_mistake_is_one_problem(tmp_path, old, new, expected):
    assert old in LEVEL
    (problem,) = problems_of(tmp_path / "level.yaml", LEVEL.replace(old, new, 1))
    assert expected in problem


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "1: found nothing, expected a mapping"),
        ("# nothing but a comment\n", "1: found nothing, expected a mapping"),
        ("- move_agent", "1: found a list of 1, expected a mapping"),
        ("move_agent", "1: found 'move_agent', expected a mapping"),
        ("name: a\n--- \nname: b", "2: not valid YAML: expected a single document"),
        (b"name: a\nmap: \xff\n", "2: byte 0xff is not UTF-8 text"),
        ("[" * 9999, "nested deeper than 50 levels"),
        ('name: a\ntitle: "\\U00110000"', "2: not valid YAML: found an escape beyond the last"),
        ('name: "\\UFFFFFFFF"', "1: not valid YAML: found an escape beyond the last"),
        (f"a: &a [{'x, ' * 99}]\nb: &b [{'*a, ' * 99}]\nc: [{'*b, ' * 99}]", "more than 50000 val"),
    ],
)
def test_what_is_no_scenario_at_all(tmp_path, text, expected):
    (problem,) = problems_of(tmp_path / "level.yaml", text)
    assert expected in problem


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("max_steps", math.nan, "<mapping>: max_steps: found nan, expected a whole number"),
        ("max_steps", np.float64(3), "<mapping>: max_steps: found 3.0, expected a whole number"),
        ("name", {1, 2}, "<mapping>: name: found a set, which no scenario file can hold"),
        ("legend", {None: "Wall"}, "<mapping>: legend: found the key None, expected a text"),
        ("reward_functions", ["x"], "<mapping>: reward_functions[0]: no reward function 'x'"),
    ],
)
def test_mappings_have_no_lines(key, value, expected):
    config = {
        "map": "#>#",
        "transition_functions": [],
        "reward_functions": [],
        "observation_function": {"name": "fully_transparent", "area": [[0, 0], [0, 0]]},
        "terminating_function": "reach_exit",
    }
    with pytest.raises(ScenarioError) as error:
        Scenario.load({**config, key: value})
    assert str(error.value).startswith(expected)


def test_ten_mistakes_are_ten_problems(tmp_path):
    text = """\
max_steps: -5
state_space:
  objects: [Floor, Wall, Exot]
  colors: [NONE, MAGENTA]
reset_function:
  name: keydoor
  shape: [3, 3]
action_space: [MOVE_FORWARD, JUMP]
transition_functions:
  - name: move_agent
  - name: fly
reward_functions:
  - name: getting_closer
  - name: living_reward
    reward: lots
observation_function:
  name: partially_occluded
  area: [[0, -6], [-3, 3]]
"""
    problems = problems_of(tmp_path / "level.yaml", text)
    assert [problem.rpartition(": ")[0].split(": ")[:2] for problem in problems] == [
        ["1", "terminating_function"],
        ["1", "max_steps"],
        ["3", "state_space.objects[2]"],
        ["4", "state_space.colors[1]"],
        ["7", "reset_function.shape"],
        ["8", "action_space[1]"],
        ["11", "transition_functions[1].name"],
        ["13", "reward_functions[0]"],
        ["15", "reward_functions[1].reward"],
        ["18", "observation_function.area[0]"],
    ]


def test_misspelled_keys_show_next_to_what_they_leave_missing(tmp_path):
    missing, misspelled = problems_of(tmp_path / "level.yaml", LEVEL.replace("  area:", "  aera:"))
    assert missing.startswith("20: observation_function: the area is missing")
    assert (
        "22: observation_function.aera: partially_occluded takes no 'aera'; did you" in misspelled
    )


def test_errors_can_be_pickled():
    with pytest.raises(ScenarioError) as error:
        Scenario.load({"name": []})
    twin = pickle.loads(pickle.dumps(error.value))
    assert twin.problems == error.value.problems
    assert str(twin) == "\n".join(twin.problems)


def test_a_repeated_key_does_not_hide_the_rest(tmp_path):
    text = LEVEL.replace("name: level", "name: level\nname: x", 1) + "\nmax_stepz: 3\n"
    problems = problems_of(tmp_path / "level.yaml", text)
    assert len(problems) == 2
    assert "a second time" in problems[0]
    assert "max_steps" in problems[1]


FOR_SOME = """\
map: |
  #####
  #>.E#
  #>>.#
  #####
agents: {names: [ann, bob, cat], teams: {reds: [ann, cat]}}
"""


@pytest.mark.parametrize(
    ("old", "new", "phase", "whose"),
    [
        ("name: turn_agent", "{name: turn_agent, for: ann}", TRANSITION, [1]),
        ("name: turn_agent", "{name: turn_agent, for: [cat, bob]}", TRANSITION, [2, 3]),
        ("name: turn_agent", "{name: turn_agent, for: [reds, ann]}", TRANSITION, [1, 3]),
        ("reward: -1", "for: bob", REWARD, [2]),
        ("reach_exit", "{name: reach_exit, for: reds, says: Out}", TERMINATING, [1, 3]),
    ],
)
def test_a_function_of_a_step_may_be_for_some(tmp_path, old, new, phase, whose):
    text = LEVEL.replace(MAP, FOR_SOME).replace(old, new)
    (tmp_path / "level.yaml").write_text(text)
    calls = Scenario.load(tmp_path / "level.yaml").calls(phase)
    (call,) = [call for call in calls if call.agent_mask]
    assert [agent for agent in range(4) if call.agent_mask[agent]] == whose
    assert call.ending_message == ("Out" if "says" in new else "")
    assert not any(other.ending_message for other in calls if other is not call)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "name: turn_agent",
            "{name: move_obstacles, for: ann}",
            "].for: move_obstacles runs once a step, not for an agent",
        ),
        ("name: turn_agent", "{name: turn_agent, for: dan}", "].for: no agent or team 'dan'"),
    ],
)
def test_what_is_for_nobody_is_told(tmp_path, old, new, expected):
    text = LEVEL.replace(MAP, FOR_SOME).replace(old, new)
    (problem,) = problems_of(tmp_path / "level.yaml", text)
    assert expected in problem


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("name: turn_agent", "{name: turn_agent, says: Out}", "turn_agent takes no 'says'; ignor"),
        ("  area:", "  for: ann\n  area:", "partially_occluded takes no 'for'; ignored"),
    ],
)
def test_what_only_other_functions_take_is_ignored(tmp_path, old, new, expected):
    (tmp_path / "level.yaml").write_text(LEVEL.replace(MAP, FOR_SOME).replace(old, new))
    with pytest.warns(UserWarning, match=expected):
        scenario = Scenario.load(tmp_path / "level.yaml")
    assert not any(
        call.agent_mask or call.ending_message for phase in Phase for call in scenario.calls(phase)
    )


# ---- too much ------------------------------------------------------------------------------------


def test_long_lists_of_mistakes_end(tmp_path):
    names = "".join(f"  - rule{number}\n" for number in range(3000))
    text = LEVEL.replace("  - move_agent\n", names)
    found = problems_of(tmp_path / "level.yaml", text)
    assert len(found) == 200
    with pytest.raises(ScenarioError, match=r"\n… and \d+ more$") as error:
        Scenario.load(tmp_path / "level.yaml")
    assert len(str(error.value)) < 5000


def test_long_values_are_shortened(tmp_path):
    text = LEVEL.replace("reach_exit", "a" * 100_000)
    (found,) = problems_of(tmp_path / "level.yaml", text)
    assert len(found) < 1100


@pytest.mark.parametrize("agents", ["agents: [{}]\n", "agents: {{names: [{}]}}\n"])
def test_agents_with_names_are_as_many_as_those_with_numbers(tmp_path, agents: str):
    names = ", ".join(f"agent{number}" for number in range(30_000))
    (tmp_path / "level.yaml").write_text(LEVEL + agents.format(names))
    with pytest.raises(ScenarioError, match="found 30000 agents, expected at most 256"):
        Scenario.load(tmp_path / "level.yaml")


def test_many_teams_and_names_to_compare_with_end(tmp_path):
    teams = ", ".join(f"team{number}: [ann]" for number in range(10_000))
    agents = f"agents: {{names: [ann, bob], teams: {{{teams}}}}}\n"
    found = problems_of(tmp_path / "level.yaml", LEVEL + agents)
    assert any("found 10000 teams, expected at most 256" in problem for problem in found)
    assert describe_allowed("zz", [*(f"a{number}" for number in range(300)), "zz"]).startswith(
        "(allowed"
    )
    assert describe_allowed("zz", []) == "(allowed: none)"
    assert describe_allowed("zz", [*(f"a{number}" for number in range(299)), "zz"]).startswith(
        "did you"
    )


def test_texts_behind_aliases_count_as_often_as_they_stand(tmp_path):
    legend = "".join(f"  {chr(0x4E00 + number)}: *a\n" for number in range(200))
    text = f"description: &a {'x' * 100_000}\nlegend:\n{legend}"
    found = problems_of(tmp_path / "level.yaml", text)
    assert any("more than 2,097,152 characters, with aliases" in problem for problem in found)


@pytest.mark.parametrize("depth", [1, 40])  # one long key, or a long path of shorter keys
def test_long_keys_are_refused(tmp_path, depth: int):
    name = "k" * (201 if depth == 1 else 30)
    text = LEVEL + "a: " + f"{{{name}: " * depth + "[0, 0, 0]" + "}" * depth + "\n"
    found = problems_of(tmp_path / "level.yaml", text)
    assert any("a key of more than 200 characters, or 1000 with its path" in each for each in found)


def test_many_rules_of_one_name_have_names_of_their_own(tmp_path):
    rewards = "  - living_reward\n" * 3000
    (tmp_path / "level.yaml").write_text(LEVEL.replace("  - name: living_reward\n", rewards, 1))
    with pytest.raises(ScenarioError):  # `reward: -1` has lost its rule
        Scenario.load(tmp_path / "level.yaml")
    text = LEVEL.replace("reward_functions:\n", f"reward_functions:\n{rewards}")
    (tmp_path / "level.yaml").write_text(text)
    names = Scenario.load(tmp_path / "level.yaml").reward_names
    assert names[:2] == ("living_reward", "living_reward_2")
    assert names[3000] == "living_reward_3001"
    assert len(set(names)) == len(names)


def test_mistakes_far_down_are_told_by_the_fast_loader(tmp_path):
    (found,) = problems_of(tmp_path / "level.yaml", LEVEL + "# long\n" * 9999 + "a: [\nb: c: d\n")
    assert "not valid YAML" in found


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("[[-2, 0], [-1, 1]]", "[[-200, 0], [-1, 1]]", "found 201 cells, a view has at most 129"),
        (
            "name: partially_occluded\n  area: [[-2, 0], [-1, 1]]",
            "name: raytracing\n  area: [[-98, 0], [-1, 1]]",
            "rays take views of up to 97 rows and columns",
        ),
        (MAP + LEGEND, "reset_function: {name: empty, shape: [4, 513]}\n", "allowed are 1 to 512"),
    ],
)
def test_sizes_that_would_take_long_are_refused(tmp_path, old, new, expected):
    assert LEVEL.count(old) == 1
    found = problems_of(tmp_path / "level.yaml", LEVEL.replace(old, new))
    assert any(expected in problem for problem in found)


def test_the_allowed_keys_are_said_once():
    with pytest.raises(ScenarioError) as error:
        Scenario.load({"nmae": "level", "mpa": "#>E#"} | {f"key {n}": n for n in range(9)})
    unknown = [line for line in error.value.problems if "unknown key" in line]
    assert len(unknown) == 11
    assert unknown[0].endswith("mixture)")
    assert unknown[1] == "<mapping>: mpa: unknown key 'mpa'; did you mean 'map'?"
    assert str(error.value).count("(allowed") == 1
