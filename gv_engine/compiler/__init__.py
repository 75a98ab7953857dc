"""Compiler: a scenario's rules as one program for many worlds, with Numba and LLVM."""
