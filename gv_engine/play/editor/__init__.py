"""Editor of scenario files, without a window: text, map, rules and errors."""
