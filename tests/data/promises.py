"""Rules that break a promise each, for tests."""

from gv_engine import REWARD, TRANSITION, World, system


def lucky(w: World, agent: int, action: int) -> bool:
    """A condition that draws."""
    return w.rng.random() < 0.5


def turning(w: World, agent: int, action: int) -> bool:
    """A condition that writes."""
    w.agent.facing[agent] = 0
    return action < 4


@system(TRANSITION, when=lucky)
def try_luck(w: World, agent: int) -> None:
    """Acts now and then."""


@system(TRANSITION, when=turning)
def turn_first(w: World, agent: int) -> None:
    """Acts after its condition has."""


def leaving_a_mark(w: World, agent: int) -> float:
    """A memory that writes."""
    w.door.status[w.at[0, 1]] = 0
    return 0.0


@system(REWARD, remember=leaving_a_mark)
def remember_mark(w: World, agent: int, was: float) -> float:
    """Pays for a memory that was changed in the making."""
    return was


# The ignores are needed: type checkers refuse what the engine sets.
@system(TRANSITION)
def end_it(w: World, agent: int) -> None:
    """Ends the episode past the terminating function."""
    w.terminated = True  # type: ignore[misc]


@system(TRANSITION)
def pay(w: World, agent: int) -> None:
    """Pays past the reward functions."""
    w.reward[agent] = 1.0  # type: ignore[index]


@system(TRANSITION)
def hurry(w: World, agent: int) -> None:
    """Lets time run."""
    w.steps = 99  # type: ignore[misc]


@system(TRANSITION)
def act_for_you(w: World, agent: int) -> None:
    """Takes another action."""
    w.action[agent] = 7  # type: ignore[index]


@system(TRANSITION)
def keep_to_yourself(w: World, agent: int) -> None:
    """Does all that a transition may: writes cells and columns, draws, and counts on verbs."""
    door = w.at[0, 1]
    w.lift(door)
    w.place(door, 0, 1)
    w.agent.facing[agent] = w.rng.integers(4)


calls: list[int] = []


@system(TRANSITION)
def count_calls(w: World, agent: int) -> None:
    """Keep the calls in the module, which no reset clears."""
    calls.append(agent)
