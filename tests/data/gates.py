"""A type whose states bring components, and rules that change them."""

from components import Color, Opaque, Solid
from gv_engine import TRANSITION, World, component, object_type, system
from gv_engine.rules.geometry import ACTUATE
from systems.queries import ahead, all_with


@component
class Gate:
    """Lets pass while it is open."""


@component
class Alarm:
    """Rings while the gate is broken."""

    volume: int = 1


GATE = object_type(
    "Gate",
    Gate,
    Color,
    states={"CLOSED": [Solid, Opaque], "OPEN": [], "BROKEN": [Opaque, Alarm(7)]},
)


def gate_ahead(w: World, agent: int, action: int) -> bool:
    """Whether the action turns a gate."""
    return action == ACTUATE and w.gate.has[ahead(w, agent)]


@system(TRANSITION, when=gate_ahead)
def turn_gate(w: World, agent: int) -> None:
    """The gate ahead goes on to its next state."""
    gate = ahead(w, agent)
    w.set_state(gate, (w.state_of(gate) + 1) % 3)


@system(TRANSITION)
def count_alarms(w: World, agent: int) -> None:
    """Gates take the colour of the number of those that ring, and of those that are solid."""
    count = len(all_with(w, w.alarm)) + len(all_with(w, w.solid))
    for gate in all_with(w, w.gate):
        w.color.value[gate] = min(4, count)


@system(TRANSITION)
def force_gate(w: World, agent: int) -> None:
    """A rule that is wrong: it writes the state, and leaves what comes with it."""
    if gate_ahead(w, agent, w.action[agent]):
        w.condition.value[ahead(w, agent)] = 1
