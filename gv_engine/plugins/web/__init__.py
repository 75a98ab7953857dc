"""Levels as web pages: their rules as WebAssembly, and a player for browsers."""
