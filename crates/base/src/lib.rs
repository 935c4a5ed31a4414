//! What every crate of the house stands on: time, ids, text, randomness, tasks. No I/O.
