"""The library that algebra needs."""

from gv_engine.scenario.domains import Extra

MATH = Extra("Algebra", "mathy_core", "math")
