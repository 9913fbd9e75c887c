"""The episode as an environment of reinforcement learning."""
