"""A benchmark of learning: what is played, entries on disk, how their parts are made, and the page
that shows them."""
