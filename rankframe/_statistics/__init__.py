"""Statistics beyond means, intervals and paired tests, for which `rankframe.stats` is: arrays in,
arrays out.
"""
