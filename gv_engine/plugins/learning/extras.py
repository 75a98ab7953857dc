"""Libraries that learning needs."""

from gv_engine.scenario.domains import Extra

RL = Extra("Learning", "torch", "rl")
SWEEP = Extra("A sweep", "optuna", "sweep")
ONNX_PACKAGE = Extra("A policy as ONNX", "onnxscript", "onnx")
