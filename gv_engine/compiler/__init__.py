"""Compiler: a scenario's rules as one program for many worlds, in machine code by LLVM."""
