//! Quantities with units.
