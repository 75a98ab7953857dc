"""The library that pictures and instructions of MiniGrid's own need."""

from gv_engine.scenario.domains import Extra

MINIGRID_PACKAGE = Extra("A picture of MiniGrid's", "minigrid", "minigrid")
