"""What leaves a run: models for Vowpal Wabbit, and streams with derived features."""
