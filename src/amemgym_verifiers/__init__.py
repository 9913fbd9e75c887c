"""The name that `verifiers` finds AMemGym by: `vf-eval amemgym-verifiers` imports this module.

It looks for one taskset, one environment and one harness in a top-level module's `__all__`; what they are stands in
`amemgym.gym.adapters.verifiers_env`.
"""

from amemgym.gym.adapters.verifiers_env import AMemGymEnv, AMemGymHarness, AMemGymTaskset, load_environment

__all__ = ["AMemGymEnv", "AMemGymHarness", "AMemGymTaskset", "load_environment"]
