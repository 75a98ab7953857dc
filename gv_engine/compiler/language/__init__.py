"""Compiler from the subset of Python in which rules are written to LLVM IR.

Nothing here knows worlds or scenarios; `rows.py` and `stepping.py` beside this package do. Read
`values.py` first, then `source.py`, `body.py`, `compiler.py`, `statements.py`, `expressions.py`,
`calls.py`. `body.py` holds the state of a function that is being compiled; the other modules are
functions of it, by what they compile, and import each other downwards: `arithmetic`, `memory`,
`flow`, `arrays`, `operators`, `sequences`, `variables`, `comprehensions`, then those above.

**Compile time is evaluation.** The AST of a function is evaluated. A value is a Python object that
is known while compiling (a number, text, tuple, function, dtype, an object of the engine), or has
parts that only the running program knows: a `Scalar`, `ArrayValue`, `Record` or `Range`. Operators
on known values compute, a branch on one emits nothing, a loop over a tuple is unrolled. A function
is compiled once for each form of its arguments (`values.version_key`), known ones included; so a
function that is passed as an argument costs nothing.

**Numbers** are INT (64 bits), FLOAT, BOOL, and UINT for NumPy's uint64, which wraps. They are
narrow only in memory. Bounds of an INT that are known while compiling save tests for overflow.

**One semantics.** A compiled function has Python's result, fails with Python's exception, or is
refused with file, line and cause. What is no 64-bit integer fails where Python would go on with a
larger one. These tests, those of indices and of variables that may not be set, are left out of
programs without rules of authors (`is_checked`).

**Variables.** A variable that one place assigns is its value, with what is known of it. If a place
reads it that not every way to it assigns, or if several places assign it, it has memory on the
stack, which LLVM turns into registers, and a form that holds all its values; if a later value needs
a wider one (a float after an int), the function is compiled again (`Hints`).

**Calls.** A function takes the address of the arena and the LLVM values of its arguments, and
returns the LLVM values of its result. If it can fail, an i32 comes first: 0, or the code of a
`Failure` (text, file, line), which each caller returns at once. Recursion is refused.

**Arrays** of rules live in the arena, memory of the caller that begins with the used and the whole
number of bytes. A function that returns no array frees its own at its end. Arrays and records in
rows are their NumPy dtype: no objects, no reference counts, no library at run time.

**Targets.** The text of a module names no processor. `machine.py` compiles it for this one;
functions of the C library are those that CPython calls, and are never simplified.
"""
