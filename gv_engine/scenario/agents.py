"""Agents of a scenario: reader of the key `agents` with names, teams, components and turn order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import astuple
from itertools import cycle, islice
from typing import Any, NamedTuple

from components.appearance import Color, Kind
from components.matter import Opaque, Solid
from components.objects import AGENT_TYPE
from gv_engine.rules.objects import USUAL_COLORS, Parts
from gv_engine.rules.turns import DONE, ENDS, SINGLE_AGENT, TURNS, TurnPolicy
from gv_engine.scenario import fields
from gv_engine.scenario import json_schema as schema
from gv_engine.scenario.fields import ErrorCollector, YamlNode
from gv_engine.scenario.json_schema import Key, KeyTable
from gv_engine.scenario.object_types import COMPONENTS, read_components
from gv_engine.scenario.resolver import NameResolver

_MAX = 256
_BLOCKS = {"movement": Solid, "sight": Opaque}

AGENT_KEYS: KeyTable = {
    "number": Key("Number of agents, `agent_1` and so on.", schema.integer_schema(1, _MAX)),
    "names": Key("Names, in place of a number.", schema.list_of(schema.TEXT, maxItems=_MAX)),
    "teams": Key(
        "Teams, for `for`: `{reds: [ann, bob]}`.",
        schema.map_of(schema.unique_list(schema.TEXT), maxProperties=_MAX),
    ),
    "colors": Key("Colours in turn.", schema.list_of(schema.COLOR)),
    "blocks": Key(
        "Agents block `movement`, the default, or `sight`, or nothing.",
        schema.list_of(schema.enum_schema(_BLOCKS, "obstacle")),
    ),
    "components": Key(
        "Further components, as for objects.",
        COMPONENTS,
    ),
    "turns": Key(
        "Order in each step: fixed, random, or rotating.",
        schema.enum_schema(TURNS, "turns"),
    ),
    "done": Key(
        "If done, an agent stays, or leaves before the next step.",
        schema.enum_schema(DONE, "done"),
    ),
    "ends": Key(
        "The episode ends when all are done, or any.",
        schema.enum_schema(ENDS, "ends"),
    ),
}
AGENTS_FORM = schema.any_of(
    schema.integer_schema(1, _MAX),
    schema.list_of(schema.TEXT, maxItems=_MAX),
    schema.object_schema(AGENT_KEYS),
)

Teams = tuple[tuple[str, tuple[int, ...]], ...]
"""(name, numbers of its members) of each team."""


class AgentSpecs(NamedTuple):
    """Specification of all agents of a scenario.

    Attributes:
        sharing: settings of the agents as a group.
        bodies: components of each agent, besides those that every agent has.
        kinds, colors: types and colours that other agents see.
    """

    sharing: TurnPolicy = SINGLE_AGENT
    bodies: tuple[Parts, ...] = ((),)
    kinds: tuple[int, ...] = ()
    colors: tuple[int, ...] = ()

    def read_agent_mask(self, node: YamlNode) -> tuple[bool, ...]:
        """Read the key `for`, which limits a rule to some agents: return, by agent number, True if
        the agent or its team is named."""
        if len(self.bodies) == 1:
            raise node.error("`for` needs several agents; there is one")
        named = self.sharing.agents_by_name
        chosen: set[int] = set()
        for each in fields.list_or_single(node):
            if fields.text(each) not in named:
                raise each.error(
                    f"no agent or team {each.text!r}{fields.suggestion(each.text, named)}"
                )
            chosen |= {*named[fields.text(each)]}
        if not chosen:
            raise node.error("found an empty list, expected at least one name")
        return tuple(agent in chosen for agent in range(len(self.bodies) + 1))


ANY_AGENTS = AgentSpecs(bodies=((),) * _MAX)
"""Placeholder after an error in `agents`; suppresses follow-up errors about the number of
agents."""


def read_agents(names: NameResolver, node: YamlNode) -> AgentSpecs:
    """Read the key `agents`: a number of agents, a list of their names, or a mapping with the keys
    `AGENT_KEYS`."""
    problems, entries = names.problems, dict[str, YamlNode]()
    if isinstance(node.value, dict):
        entries = fields.read_fields(problems, node, AGENT_KEYS)
        if "number" in entries and "names" in entries:
            raise node.error("agents have either a `number` or `names`; both are given")
    names_node = entries.get("names", node if isinstance(node.value, list) else None)
    if names_node is not None:
        fields.limited_items(names_node, _MAX, "agents", minimum=0)
        agent_names = fields.read_distinct(problems, names_node, _read_name)
        if not agent_names:
            return ANY_AGENTS
    else:
        alone = isinstance(node.value, dict) and "number" not in entries
        count = 1 if alone else fields.integer(entries.get("number", node), 1, _MAX)
        agent_names = tuple(f"agent_{number}" for number in range(1, count + 1))

    def read_value(key: str, default: Any) -> Any:
        """Return the value of a key of `agents`, or the default."""
        return problems.read_key(entries, key, AGENT_KEYS[key].read, default)

    sharing = TurnPolicy(
        agent_names,
        read_value("turns", SINGLE_AGENT.turns),
        read_value("done", SINGLE_AGENT.done),
        read_value("ends", SINGLE_AGENT.ends),
        problems.read_key(
            entries, "teams", lambda entry: _read_teams(problems, entry, agent_names), ()
        ),
    )
    colors, blocks = read_value("colors", ()), read_value("blocks", ("movement",))
    own = problems.read_key(entries, "components", lambda entry: read_components(names, entry), [])
    besides = tuple((type(part), astuple(part)) for part in own)
    if len(agent_names) == 1:
        return AgentSpecs(bodies=(besides,))
    shown = tuple(islice(cycle(colors or USUAL_COLORS[1:]), len(agent_names)))
    barriers = tuple((cls, ()) for name, cls in _BLOCKS.items() if name in blocks)
    parts = dict((*barriers, *besides)).items()
    bodies = (((Kind, (AGENT_TYPE,)), (Color, (color,)), *parts) for color in shown)
    return AgentSpecs(sharing, tuple(bodies), (AGENT_TYPE,), shown)


_is_name = re.compile(r"[\w-]+").fullmatch
# other characters separate agents in the text of a step
_EXPECTED = "expected a name of letters, digits, _ and -"


def _read_name(node: YamlNode) -> str:
    """Return the name of an agent; raise a FieldError if it has other characters than letters,
    digits, `_` and `-`."""
    name = fields.text(node)
    if not _is_name(name):
        raise node.error(f"found {name!r}, {_EXPECTED}")
    return name


def _read_teams(problems: ErrorCollector, node: YamlNode, names: Sequence[str]) -> Teams:
    """Read `teams`, a mapping from team names to lists of agents' names; return (team, agent
    numbers) pairs. `names` are all agents."""
    teams = []
    if len(fields.mapping(node)) > _MAX:
        raise node.error(f"found {len(fields.mapping(node))} teams, expected at most {_MAX}")
    for team, members in fields.mapping(node).items():
        with problems.collect():
            if team in names:
                raise members.error(f"{team!r} is an agent; give the team another name")
            if not _is_name(team):
                raise members.error(f"found the team {team!r}, {_EXPECTED}")
            numbers = fields.read_distinct(
                problems, members, lambda each: fields.read_choice(each, names, "agent")
            )
            teams.append((team, tuple(number + 1 for number in numbers)))
    return tuple(teams)
