"""Learning: a learner, its runs on disk, and what they have learned as policies. Needs torch."""
