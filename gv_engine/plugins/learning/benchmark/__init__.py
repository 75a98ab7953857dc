"""Learning benchmark: scenarios with train and test levels, entries on disk, their runner, and the
page of results."""
