"""The verbs of rankers, except decisions: evaluate, curve, explain, judge, check, agreement and others."""
