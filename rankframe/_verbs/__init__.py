"""What rankers do with a frame, besides deciding: evaluate, curve, explain, judge, check, agreement and the like."""
