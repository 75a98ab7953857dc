"""The library that algebra needs."""

from gv_engine.scenario.plugin import Extra

MATH = Extra("Algebra", "mathy_core", "math")
