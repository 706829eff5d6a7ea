"""The Delta log: its actions, checkpoints, and the state at a version."""
