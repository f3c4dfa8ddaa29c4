"""`tb hunt`: thousands of drawn schedules in virtual time, each judged, and the smallest that breaks a rule."""
