"""Attributes of MiniGrid's environments that ours lack, and what to use in their place."""

from __future__ import annotations

_LEVEL = "write a scenario that extends the level"
_STATE = "change a row of snapshot() and hand it to restore()"
_RNG = "np_random draws what the level draws from"
_WINDOW = 'render_mode="human" opens a window that finds its own size'
_OPTION = "hand {} to gymnasium.make"
_GRID = "grid has the objects of the level, with their cells"
_MISSION = "mission names it"
_NO_ROOMS = "this level does not consist of rooms of one size"
_PARAMETERS = "scenario.document.parameters has the parameters of the level{}"

_BUILDERS = """
place_agent place_obj _gen_grid add_distractors add_door add_object connect_all place_in_room
remove_wall _placeRoom add_key add_locked_door open_all_doors add_locked_room rand_instr rand_obj
gen_mission _gen_mission _gen_mission_lava _gen_mission_wall _resolve_obstacle_type
validate_instrs check_objs_reachable num_navs_needed
"""
_OBJECTS = """
obj obj_a door blue_door red_door obstacles distractors rooms locked_room agent_room
gap_pos failure_pos success_pos target_pos move_pos door_colors box_color ball_to_find_color
blocking_ball_color
"""
_NAMED_BY_MISSION = """
targetColor targetType target_color target_type moveColor move_type first_color second_color
"""
NAMES_IN_MINIGRID = {
    "num_crossings": "num_rivers",
    "strip2_row": "second_row",
    "n_obstacles": "num_obstacles",
    "minNumRooms": "num_rooms",
    "maxNumRooms": "num_rooms",
    "maxRoomSize": "max_room_size",
    "key_in_box": "boxed",
    "num_quarters": "quarters",
    "blocked": "blocked",
    "random_length": "random_length",
    "size": "size",
    "numObjs": "num_things",
    "doors_open": "doors_open",
    "locked_room_prob": "locked_chance",
    "implicit_unlock": "implicit_unlock",
    "unblocking": "unblocking",
    "locations": "places",
    "debug": "strict",
    "strict": "strict",
    "num_doors": "num_doors",
    "num_dists": "num_things",
    "num_objs": "num_things",
    "objs_per_room": "num_things",
    "start_carrying": "start_carrying",
    "_agent_default_pos": "agent_pos",
    "_goal_default_pos": "goal_pos",
}
"""Parameters of the level that attributes of MiniGrid's environments stand for."""

_SIMILAR_PARAMETERS = {
    "obstacle_type": "obstacle",
    "agent_start_pos": "random_start",
    "agent_start_dir": "random_start",
    "select_by": "feature",
    "action_kinds": "verb",
    "instr_kinds": "sequences",
}
REPLACEMENTS = {
    **dict.fromkeys(_BUILDERS.split(), _LEVEL),
    **dict.fromkeys(_OBJECTS.split(), _GRID),
    **dict.fromkeys(_NAMED_BY_MISSION.split(), _MISSION),
    **dict.fromkeys(NAMES_IN_MINIGRID, _PARAMETERS.format("")),
    **{old: _PARAMETERS.format(f", {new} among them") for old, new in _SIMILAR_PARAMETERS.items()},
    **dict.fromkeys(("obj_types", "obj_type"), _LEVEL),
    **dict.fromkeys(("front_pos", "dir_vec", "right_vec", "mission"), _STATE),
    **dict.fromkeys(("_rand_int", "_rand_float", "_rand_bool", "_rand_pos"), _RNG),
    **dict.fromkeys(("_rand_elem", "_rand_subset", "_rand_color"), _RNG),
    **dict.fromkeys(("screen_size", "window", "clock", "render_size"), _WINDOW),
    **{name: _OPTION.format(name) for name in ("max_steps", "agent_view_size", "tile_size")},
    **{name: _OPTION.format("size, where the level takes it,") for name in ("width", "height")},
    "grid": "grid.set puts an object into a cell",
    "highlight": _OPTION.format("highlight"),
    "actions": "action_space has the numbers that the level takes",
    "agent_pov": "get_frame(agent_pov=True) draws the view",
    "see_through_walls": f'{_LEVEL} with observation_function: {{name: "fully_transparent"}}',
    "_reward": 'info["reward_terms"] has the reward of each step',
    "reward_range": "rewards are 0 to 1, in Dynamic-Obstacles -1 to 1",
    "fixed_max_steps": "max_steps is the limit of the episode",
    **dict.fromkeys(("gym_id", "level_name"), "spec.id has the name of the level"),
    "surface": "mission has the text",
    "goal_pos": "this level has no goal",
    "goal_position": "this level has no goal",
    "instrs": "mission is none of BabyAI's instructions",
    **dict.fromkeys(("room_size", "num_rows", "num_cols", "room_grid"), _NO_ROOMS),
}
"""Replacements for attributes of MiniGrid's environments that are missing or read-only here."""
