"""Libraries that the adapters need."""

from gv_engine.scenario.domains import Extra

MINARI = Extra("A dataset of Minari", "minari", "minari")
MCP = Extra("A server for language models", "mcp", "mcp")
OPENENV = Extra("A server of OpenEnv", "openenv", "openenv")
VERIFIERS = Extra("TextGameEnv", "verifiers", "verifiers")
STABLE_BASELINES3 = Extra("SB3VecEnv", "stable_baselines3", "sb3")
PUFFERLIB = Extra("GridPufferEnv", "pufferlib", "pufferlib")
TORCHRL = Extra("TorchRLEnv", "torchrl", "torchrl")
TIANSHOU = Extra("TianshouVecEnv", "tianshou", "tianshou")
PETTINGZOO = Extra("A parallel environment", "pettingzoo", "pettingzoo")
