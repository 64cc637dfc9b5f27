"""Jobs that advance, check, correct, plan and maintain a warehouse."""
