"""Scenarios made: from a language model, stage by stage, or from the scenario bank without any model."""
