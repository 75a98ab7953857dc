"""MiniGrid and BabyAI: environments with their interface and ids."""
