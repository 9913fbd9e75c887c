"""AMemGym as Gymnasium environments.

    import gymnasium
    import amemgym.gym

    env = gymnasium.make("amemgym/Memory-v0", data="starter")

or, without the import, `gymnasium.make("amemgym.gym:amemgym/Memory-v0", data="starter")`. Gymnasium itself loads no
plug-ins since its version 1.0, so one of the two is needed.
"""

from gymnasium.envs.registration import register

from amemgym.gym.features import FEATURES
from amemgym.gym.keeping import SETTINGS
from amemgym.gym.memory_env import AGENT_PARTS, MemoryEnv
from amemgym.gym.policy_env import MemoryPolicyEnv
from amemgym.gym.spaces import AnyText

__all__ = ["AGENT_PARTS", "FEATURES", "SETTINGS", "AnyText", "MemoryEnv", "MemoryPolicyEnv"]

# A version changes whenever the same actions could earn another reward: by the exam's rules or its grading, by what is
# shown, by the templates, the offline model, the starter set, or by what a setting does.
register("amemgym/Memory-v0", "amemgym.gym.memory_env:MemoryEnv")
register("amemgym/MemoryPolicy-v0", "amemgym.gym.policy_env:MemoryPolicyEnv")
