//! Fleets made up for tests and benchmarks.
