"""Learning: a learner and its runs on disk, which need torch; and as policies, without, what they
have learned."""
