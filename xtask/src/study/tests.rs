//! The study in small.
