"""Domain of gridworlds: plugin functions, episodes, input, drawing and policy maps."""
