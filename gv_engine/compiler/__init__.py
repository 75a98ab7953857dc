"""Compiler: translates the rules of a scenario to machine code with LLVM, as one program that steps
a batch of worlds."""
