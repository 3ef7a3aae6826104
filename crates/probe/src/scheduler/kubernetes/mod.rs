//! Objects, tables and descriptions of Kubernetes and Kueue.

pub(super) mod describe;
pub(super) mod kueue;
pub(super) mod labels;
pub(super) mod message;
pub(super) mod model;
pub(super) mod object;
pub(super) mod pod;
pub(super) mod quantity;
pub(super) mod table;
