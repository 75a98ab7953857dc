"""From the text of a scenario file to a scenario, with a located message for every mistake."""
