"""What people and programs read of a run: `document` (result.json), `junit`, `terminal`, `html`, `timeline`, `progress`, and
captures in `pcapng` and `capture`. Import the modules: switch nodes need a tap and no drawing, checkers a reader and no
documents."""
