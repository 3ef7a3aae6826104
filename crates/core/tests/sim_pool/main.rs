//! The pool: quota, places and work, and the three waits apart.

mod behaviour;
mod properties;
mod reference;
mod support;
mod theory;
