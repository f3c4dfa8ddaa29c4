"""Thousands of drawn fault schedules in virtual time, each judged; the smallest that breaks a rule."""
