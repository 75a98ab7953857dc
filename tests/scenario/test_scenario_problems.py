"""Every mistake in a scenario is one located line, and all of them come at once."""

import pickle

import numpy as np
import pytest
import yaml

from gv_engine.rules.errors import ScenarioError, describe_allowed
from gv_engine.rules.system import REWARD, TERMINATING, TRANSITION
from gv_engine.scenario.scenario import Scenario
from gv_engine.scenario.syntax import yaml_parser
from tests.scenario.reading import RULES, assert_refused, find_problems

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
VIEW = "partially_occluded\n  area: [[-2, 0], [-1, 1]]"
BOMB = f"a: &a [{'x, ' * 99}]\nb: &b [{'*a, ' * 99}]\nc: [{'*b, ' * 99}]"


def problems_of(file, text):
    """The problems of a scenario with this text, without the name of the file."""
    file.write_text(text)
    problems = find_problems(file)
    assert all(problem.startswith(f"{file}:") for problem in problems)
    assert not any("\n" in problem for problem in problems)
    return [problem.removeprefix(f"{file}:") for problem in problems]


@pytest.fixture
def file(tmp_path):
    """Of the level, which is fine."""
    file = tmp_path / "level.yaml"
    file.write_text(LEVEL)
    assert Scenario.load(file).name == "level"
    return file


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        # top level
        ("name: level", "nmae: level", "1: nmae: unknown key 'nmae'; did you mean 'name'?"),
        ("name: level", "name:", "1: name: found nothing, expected a text"),
        ("100", "0", "2: max_steps: found 0, allowed are 1 to 2147483647"),
        ("max_steps: 100", "max_shape: [2, 9]", "smaller than the level of [3, 5]"),
        ("name: level", "description: Walk: now", "found a second colon in"),
        (
            "reward: -1",
            "reward: -1\nx:\n   - a\n    - {b: c, d: e}",
            "found 4 spaces before `- {b: c, d: e}`, expected 3 as in line",
        ),
        (
            "reward: -1",
            "reward: {a: b, c: d: e}",
            "put quotes around a text that has a colon and a space in it",
        ),
        (
            "name: level",
            "objects: {Coin: {components: [Solid, {Portable: {}}]}}",
            "1: objects.Coin.components[1]: found a mapping, expected a name; to set values",
        ),
        # spaces
        ("Key]", "Wall]", "4: state_space.objects[3]: Wall is listed twice"),
        ("Key]", "Hidden]", "4: state_space.objects[3]: Hidden is part of every space"),
        ("[RED]", "[red]", "5: state_space.colors[0]: no colour 'red'; did you mean 'RED'?"),
        ("[RED]", "RED", "5: state_space.colors: found 'RED', expected a list"),
        ("Key]", "Kye]", "4: state_space.objects[3]: no object type 'Kye'; did you mean 'Key'? ("),
        ("[MOVE_FORWARD,", "[MOVE,", "action_space[0]: no action 'MOVE'; did you mean 'MOVE_"),
        ("[MOVE_FORWARD,", "[TURN_LEFT,", "12: action_space[1]: TURN_LEFT is listed twice"),
        # functions
        ("- move_agent", "- move_agnet", "14: transition_functions[0]: no transition function "),
        (
            "- move_agent",
            "- gv_engine.plugins.algebra.systems:apply_rule",
            ") is for algebra (allowed: move_agent",
        ),
        (
            "  - move_agent",
            "  - living_reward",
            "'living_reward' is a reward function; move it to rew",
        ),
        ("  - move_agent", "  - 5", "14: transition_functions[0]: no transition function '5'"),
        ("  - move_agent", "  - [a]", "14: transition_functions[0]: found a list of 1, expected"),
        ("  - name: turn_", "  - nam: turn_", "[1]: a transition function needs its name"),
        ("  - move_agent\n  - name: turn_agent\n", "", "13: transition_functions: found nothing"),
        ("reach_exit", "[reach_exit]", "23: terminating_function: found a list, expected one"),
        # parameters
        ("reward: -1", "reward: x", "18: reward_functions[0].reward: found 'x', expected a number"),
        ("reward: -", "rewrd: -", "18: reward_functions[0].rewrd: living_reward takes no 'rewrd'"),
        (", object_type: Exit", "", "19: reward_functions[1]: getting_closer needs 'object_type'"),
        ("object_type: Exit", "object_type: Exi", "object_type: no object type 'Exi'; did you mea"),
        ("Exit}", "Exit, distance_function: manhatan}", "no distance function 'manhatan'; did you"),
        ("[[-2, 0], [-1, 1]]", "[[-2, 1], [-1, 1]]", "22: observation_function.area: partially_o"),
        ("  area: [[-2, 0], [-1, 1]]\n", "", "20: observation_function: the area is missing"),
        ("name: partially_occ", "name: occ", "21: observation_function.name: no visibility funct"),
        ("name: partially_occluded", "name: from_visibility", "needs a visibility_function (allow"),
        (VIEW, "raytracing\n  area: [[-98, 0], [-1, 1]]", "rays take views of up to 97 rows and "),
        # maps
        ("  #>.E#", "  #>.E", "row 1, '#>.E', is 4 characters long, row 0 is 5; add 1"),
        ("#>.E#", "#>XE#", "8: map: row 1, column 2: no 'X' in the legend (allowed: #, ., blan"),
        ("  #>.E#", "  #..E#", "6: map: no agent; put one of ^ v < > where it starts"),
        ("  #>.E#", "  #><E#", "8: map: row 1, column 2: a second agent, the first is in row 1, c"),
        ("  #>.E#", "  #><E#", "row 1, column 1; for more write `agents: {number: 2}`"),
        ("  #>.E#", "  #>BE#", "8: map: row 1, column 2: 'B' is Box, not among the state space's"),
        ("  #>.E#", "  #>KE#", "8: map: row 1, column 2: 'K' is Key in YELLOW, not among the st"),
        ("  #>.E#", "  #>KE#", "list it under `state_space: colors`"),
        ("  #>.E#", "  #>\tE#", "8: map: row 1 has a tab"),
        (MAP, "map:\n", "6: map: found nothing, expected rows of characters"),
        ("map: |", "map: >", "6: map: its rows are joined into one line; write `map: |`"),
        (MAP, "reset_function: {name: empty, shape: [4, 4]}\n", "7: legend: a legend without a m"),
        (
            MAP + LEGEND,
            "",
            "1: reset_function: a level needs one of map, maps, levels, room,",
        ),
        ("max_steps: 100", "reset_function: {name: empty, shape: [4, 4]}", "6: map: a level needs"),
        (
            MAP + LEGEND,
            "reset_function: from_map\n",
            "6: reset_function: from_map builds the level",
        ),
        (MAP + LEGEND, "reset_function: {name: empty, shape: [3, 5]}\n", "reset_function.shape: e"),
        (
            MAP + LEGEND,
            "reset_function: empty\n",
            "6: reset_function: empty needs 'shape', which is",
        ),
        ("  k:", "  kk:", "11: legend.kk: found the key 'kk', expected a single character"),
        ("object: Key,", "object: Wall,", "11: legend.k.color: Wall has no colour"),
        ("object: Key,", "object: Key, state: OPEN,", "11: legend.k.state: Key has no states"),
        ("object: Key,", "object: Door, state: AJAR,", "11: legend.k.state: no state of Door 'AJA"),
        ("object: Key, color: RED", "agent: UP", "11: legend.k.agent: no orientation 'UP' (allowe"),
        ("object: Key,", "agent: LEFT, holds: Key,", "11: legend.k.color: goes with `object`; a h"),
        ("object: Key, ", "", "11: legend.k: found neither `object` nor `agent`"),
        # YAML
        ("name: level", "name: level\nname: x", "2: name: the key is given twice, fir"),
        ("[RED]", "[RED", "5: not valid YAML: a bracket opens here that ']' does not close: `colo"),
        ("[RED]", "[RED}", "5: not valid YAML: found '}' where ']' closes the bracket"),
        ("reward: -1", "reward: [a: b c: d]", "found ':', expected ',' between entries or ']'"),
        ("  colors", "\tcolors", "5: not valid YAML: the line begins with a tab; indent with spac"),
        ("  - name: turn", "   - name: turn", "15: not valid YAML: found 3 spaces before `- name"),
        (
            "  - name: turn",
            " - name: turn",
            "found 1 space before `- name: turn_agent`, expected 2",
        ),
        ("    reward:", "     reward:", "found 5 spaces before `reward: -1`, expected 4 as in lin"),
        (
            "    reward:",
            "   reward:",
            "found 3 spaces before `reward: -1`, expected 4 as in line 17",
        ),
        (
            "reward_f",
            " reward_f",
            "found 1 space before `reward_functions:`, expected 0 as in line 13",
        ),
        ("  - name: turn", "  -name: turn", "15: not valid YAML: put a space after the dash"),
        (
            "reward_functions:",
            "reward_functions",
            "16: not valid YAML: found `reward_functions`, w",
        ),
        ("reward: -1", "reward:-1", "18: not valid YAML: found `reward:-1`, which lacks a space"),
        ("name: level", "name = level", "1: not valid YAML: found `name = level`, which lacks a c"),
        ("name: level", "name: 'level", "1: not valid YAML: a quote opens here and does not"),
        ("name: level", "name: @a", "found character '@' that cannot start any token; put quotes"),
        ("{object: Key", "{object:Key", "legend.k: put a space after the colon: object: Key"),
        (
            "  #>.E#",
            " #>.E#",
            "8: found 1 space before the row `#>.E#`, which makes it a comment; expected 2",
        ),
        ("  #>.E#", "#>.E#", "8: found 0 spaces before the row `#>.E#`, which makes it a comment"),
        (
            "  #>.E#",
            "   #>.E#",
            "row 1, ' #>.E#', is 6 characters long, row 0 is 5; indent all rows al",
        ),
        (
            "legend:\n",
            "  legend:\n",
            "10: map: row 3 looks like the key 'legend:'; indent keys less",
        ),
        ("map: |\n", "map: |\n\n", "map: row 0 is empty; take out the empty line above"),
        ("map: |", "map:", "map: found nothing, expected rows of characters: `map: |`"),
        ("name: level", "name: !!python/name:os.system", "1: name: found the tag"),
        ("name: level", "name: &a [*a]", "1: name[0]"),
        ("name: level", "name: *a", "1: not valid YAML: found undefined alias 'a'"),
        ("name: level", "? [a]\n: b", "1: keys must be single words"),
        ("name: level", "<<: 5", "1: <<: only mappings can be merged"),
        ("name: level", "name: \x07", "1: not valid YAML: found the character 0x7"),
        (
            "Key]",
            "nowhere:Coin]",
            "objects[3]: nowhere:Coin: not loaded, scenarios may name only files",
        ),
        ("Key]", "':Coin']", "4: state_space.objects[3]: found ':Coin', expected ./rules.py:name"),
        ("[RED]", "[" * 300 + "]" * 300, "nested deeper than 50 levels"),
        # no scenario at all
        (LEVEL, "", "1: the file is empty; `gv-engine new cave`"),
        (LEVEL, "- move_agent", "1: found a list of 1, expected a mapping"),
        (LEVEL, "name: a\n--- \nname: b", "2: not valid YAML: expected a single document"),
        (LEVEL, "[" * 1010, "nested deeper than 50 levels"),
        (LEVEL, 'name: a\ntitle: "\\U00110000"', "2: not valid YAML: found an escape beyond the"),
        (LEVEL, 'name: "\\UFFFFFFFF"', "1: not valid YAML: found an escape beyond the last"),
        (LEVEL, BOMB, "more than 50000 val"),
    ],
)
def test_one_mistake_is_one_problem(file, old, new, expected):
    assert old in LEVEL
    (problem,) = problems_of(file, LEVEL.replace(old, new, 1))
    assert expected in problem


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("max_steps", np.float64(3), "<mapping>: max_steps: found 3.0, expected a whole number"),
        ("name", {1, 2}, "<mapping>: name: found a set, which a scenario file cannot hold"),
        ("legend", {None: "Wall"}, "<mapping>: legend: found the key None, expected a text"),
        ("reward_functions", ["x"], "<mapping>: reward_functions[0]: no reward function 'x'"),
    ],
)
def test_mappings_have_no_lines(key, value, expected):
    assert "\n".join(find_problems({**RULES, "map": "#>#", key: value})).startswith(expected)


def test_ten_mistakes_are_ten_problems(file):
    text = """\
max_steps: -5
state_space:
  objects: [Floor, Wall, Exot]
  colors: [NONE, MAGENTA]
reset_function: {name: keydoor, shape: [3, 3]}
action_space: [MOVE_FORWARD, JUMP]
transition_functions: [{name: move_agent}, {name: fly}]
reward_functions:
  - name: getting_closer
  - name: living_reward
    reward: lots
observation_function: {name: partially_occluded, area: [[0, -6], [-3, 3]]}
"""
    problems = problems_of(file, text)
    places = """\
1: terminating_function
1: max_steps
3: state_space.objects[2]
4: state_space.colors[1]
5: reset_function.shape
6: action_space[1]
7: transition_functions[1].name
9: reward_functions[0]
11: reward_functions[1].reward
12: observation_function.area[0]"""
    assert [": ".join(problem.split(": ")[:2]) for problem in problems] == places.split("\n")


def test_misspelled_keys_show_next_to_what_they_leave_missing(file):
    missing, misspelled = problems_of(file, LEVEL.replace("  area:", "  aera:"))
    assert missing.startswith("20: observation_function: the area is missing")
    assert misspelled.startswith(
        "22: observation_function.aera: partially_occluded takes no 'aera'"
    )


def test_a_repeated_key_does_not_hide_the_rest(file):
    text = LEVEL.replace("name: level", "name: level\nname: x", 1) + "\nmax_stepz: 3\n"
    repeated, misspelled = problems_of(file, text)
    assert "is given twice" in repeated
    assert "max_steps" in misspelled


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
        ("name: turn_agent", "{name: turn_agent, for: [cat, bob]}", TRANSITION, [2, 3]),
        ("name: turn_agent", "{name: turn_agent, for: [reds, ann]}", TRANSITION, [1, 3]),
        ("reward: -1", "for: bob", REWARD, [2]),
        ("reach_exit", "{name: reach_exit, for: reds, says: Out}", TERMINATING, [1, 3]),
    ],
)
def test_a_function_of_a_step_may_be_for_some(file, old, new, phase, whose):
    file.write_text(LEVEL.replace(MAP, FOR_SOME).replace(old, new))
    calls = Scenario.load(file).calls(phase)
    (call,) = [call for call in calls if call.agent_mask]
    assert [agent for agent in range(4) if call.agent_mask[agent]] == whose
    assert call.ending_message == ("Out" if "says" in new else "")
    assert not any(other.ending_message for other in calls if other is not call)


def test_what_is_for_nobody_is_told(file):
    level = LEVEL.replace(MAP, FOR_SOME)
    for new, expected in (
        ("{name: move_obstacles, for: ann}", "].for: move_obstacles runs once a step, not for an"),
        ("{name: turn_agent, for: dan}", "].for: no agent or team 'dan'"),
    ):
        (problem,) = problems_of(file, level.replace("name: turn_agent", new))
        assert expected in problem


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("name: turn_agent", "{name: turn_agent, says: Out}", "turn_agent takes no 'says'"),
        ("  area:", "  for: ann\n  area:", "takes no 'for' (allowed: area, turns)"),
    ],
)
def test_what_only_other_functions_take_is_refused(file, old, new, expected):
    (problem,) = problems_of(file, LEVEL.replace(MAP, FOR_SOME).replace(old, new))
    assert problem.endswith(expected)


# ---- too much ------------------------------------------------------------------------------------


def test_long_lists_of_mistakes_end(file):
    names = "".join(f"  - rule{number}\n" for number in range(3000))
    assert len(problems_of(file, LEVEL.replace("  - move_agent\n", names))) == 200
    with pytest.raises(ScenarioError, match=r"\n… and \d+ more$") as error:
        Scenario.load(file)
    assert len(str(error.value)) < 5000
    assert pickle.loads(pickle.dumps(error.value)).problems == error.value.problems


def test_long_values_are_shortened(file):
    (found,) = problems_of(file, LEVEL.replace("reach_exit", "a" * 10_000))
    assert len(found) < 1100


def test_agents_with_names_are_as_many_as_those_with_numbers(file):
    names = ", ".join(f"agent{number}" for number in range(1000))
    for agents in (f"agents: [{names}]\n", f"agents: {{names: [{names}]}}\n"):
        file.write_text(LEVEL + agents)
        assert_refused("found 1000 agents, expected at most 256", file)


@pytest.mark.skipif(yaml_parser._LOADER is yaml.SafeLoader, reason="PyYAML has no libyaml here")
@pytest.mark.parametrize("text", ["[" * 1010, "a: " + "[" * 5000, "[" * 9000 + "]" * 9000])
def test_the_slow_loader_does_not_read_deep_nesting(text: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(yaml, "SafeLoader", lambda _: pytest.fail("takes a second"))
    with pytest.raises(ValueError, match="nested deeper than 50 levels"):
        yaml_parser.parse_value(text)


def test_many_teams_and_names_to_compare_with_end(file):
    teams = ", ".join(f"team{number}: [ann]" for number in range(1000))
    agents = f"agents: {{names: [ann, bob], teams: {{{teams}}}}}\n"
    file.write_text(LEVEL + agents)
    assert_refused("found 1000 teams, expected at most 256", file)
    names = [f"a{number}" for number in range(300)]
    assert describe_allowed("zz", [*names, "zz"]).startswith(" (allowed")
    assert describe_allowed("zz", [*names[1:], "zz"]).startswith("; did you")
    assert describe_allowed("zz", []) == ""


def test_texts_behind_aliases_count_as_often_as_they_stand(file):
    legend = "".join(f"  {chr(0x4E00 + number)}: *a\n" for number in range(200))
    file.write_text(f"description: &a {'x' * 100_000}\nlegend:\n{legend}")
    assert_refused("more than 2,097,152 characters, with aliases", file)


def test_long_keys_are_refused(file):
    for length, depth in ((201, 1), (30, 40)):  # a long key, or a long path of shorter ones
        name = "k" * length
        file.write_text(LEVEL + "a: " + f"{{{name}: " * depth + "[0, 0, 0]" + "}" * depth + "\n")
        assert_refused("a key of more than 200 characters, or 1000 with its path", file)


def test_many_rules_of_one_name_have_names_of_their_own(file):
    rewards = "  - living_reward\n" * 3000
    file.write_text(LEVEL.replace("  - name: living_reward\n", rewards, 1))
    with pytest.raises(ScenarioError):  # `reward: -1` has lost its rule
        Scenario.load(file)
    file.write_text(LEVEL.replace("reward_functions:\n", f"reward_functions:\n{rewards}"))
    names = Scenario.load(file).reward_names
    assert names[:2] == ("living_reward", "living_reward_2")
    assert names[3000] == "living_reward_3001"
    assert len(set(names)) == len(names)


def test_mistakes_far_down_are_told_by_the_fast_loader(file):
    (found,) = problems_of(file, LEVEL + "# long\n" * 9999 + "a: [\nb: c: d\n")
    assert "not valid YAML" in found


def test_the_allowed_keys_are_said_once():
    found = find_problems({"nmae": "level", "mpa": "#>E#"} | {f"key {n}": n for n in range(9)})
    unknown = [line for line in found if "unknown key" in line]
    assert len(unknown) == 11
    assert unknown[0].endswith("mixture)")
    assert unknown[1] == "<mapping>: mpa: unknown key 'mpa'; did you mean 'map'?"
    assert "\n".join(found).count("(allowed") == 1
