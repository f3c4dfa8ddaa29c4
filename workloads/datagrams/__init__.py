"""What the workers of all protocols over datagrams share."""
