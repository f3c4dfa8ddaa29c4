"""What people and programs read of a run: `document` (result.json), `junit`, `terminal`, `html`, `timeline`,
`progress`."""
