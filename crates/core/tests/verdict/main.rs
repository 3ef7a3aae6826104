//! The judge against made evidence whose truth is known.

mod cases;
mod gates;
mod pooling;
mod properties;
mod sentences;
mod support;
