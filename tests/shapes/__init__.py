"""Tests of other shapes of judged rankings."""
