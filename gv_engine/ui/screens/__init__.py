"""The screens: what fills the window, one upon the other."""
