"""Test collections, judges and clicks: what to judge, and how far judges and runs agree."""
