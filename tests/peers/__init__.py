"""Other libraries' own tests, run against ours: `make peers`.

Each file `NAME.toml` in this folder describes a library:

- `source`: a commit of its repository, `URL@COMMIT`, or the source package that pip downloads;
- `needs`: packages that the tests import, installed into an environment of their own;
- `aliases`: modules of ours by the names that the tests import;
- `setup`: modules of this folder that are imported before the tests;
- `[suites.NAME]`: `paths` in the checkout, or of tests here (`./file.py`), and `count`, how many
  tests pass on the library itself;
- `[[suites.NAME.exceptions]]`: `tests` that fail here, as ids where `*` is any text, and the
  `reason`.
"""
