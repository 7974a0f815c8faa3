"""The paper's rules: Algorithms 1 to 3, their bounds and their oracle."""
