"""What several protocols bind alike."""
