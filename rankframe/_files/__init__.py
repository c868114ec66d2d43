"""Read and write runs and judgments in files of any format, and find the faults of unreadable
files.
"""
