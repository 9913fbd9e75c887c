"""The search over an agent's settings: what is searched, how, and what came of it. It plays nothing by itself."""
