"""Scripted client in place of a language model: it plays a level of BabyAI by text alone, over the
Model Context Protocol. Needs the extra mcp."""

import asyncio
import sys

from mcp import Client, StdioServerParameters

SERVER = StdioServerParameters(command=sys.executable, args=["-m", "gv_engine", "serve", "--mcp"])


def choose(observation: str) -> str:
    """Return an action for what is seen: turn until the thing of the mission is ahead, and go."""
    *seen, mission = observation.splitlines()
    thing = mission.removeprefix("mission: go to the ")
    place = next((sentence for sentence in seen if thing in sentence), "")
    if "forward" in place:
        return "go forward"
    return "turn right" if "right" in place else "turn left"


async def play() -> None:
    """Play a game, and print each action with its result."""
    async with Client(SERVER) as client:
        game = await client.call_tool("start", {"scenario": "BabyAI-GoToObj-v0", "seed": 1})
        state = game.structured_content
        name = state["session"]
        print(state["description"], state["observation"], sep="\n")
        while not state["done"]:
            action = choose(state["observation"])
            result = await client.call_tool("act", {"session": name, "action": action})
            state = result.structured_content
            print(f"{action}: {state['observation']}")
        await client.call_tool("end", {"session": name})
        print(f"success {state['success']} in {state['steps']} steps")


if __name__ == "__main__":
    asyncio.run(play())
