//! What a GPU or a slice of one really holds.

use crate::gpu::{self, Suffix};
use crate::site::Server;
use crate::units::Bytes;

/// The memory that programs can get, and where the figure comes from.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Capacity {
    pub(super) bytes: Bytes,
    pub(super) how: String,
}

/// A whole GPU. A declared figure is kept unless a real card of the model was seen to have less: a
/// data sheet's 80 GB is not what a program gets.
pub(super) fn whole(server: &Server) -> Option<Capacity> {
    let sku = server.gpu.as_deref().and_then(gpu::find);
    let seen = sku.and_then(|sku| Some((sku.memory_total()?, sku.product)));
    match (server.gpu_memory, seen) {
        (Some(declared), Some((seen, product))) if seen < declared => Some(Capacity {
            bytes: seen,
            how: format!("{declared} are declared; a real {product} shows no more than this"),
        }),
        (Some(declared), _) => Some(Capacity { bytes: declared, how: "declared".to_owned() }),
        (None, Some((seen, product))) => {
            Some(Capacity { bytes: seen, how: format!("as a real {product} shows it") })
        }
        (None, None) => None,
    }
}

/// An instance of a partitioned GPU, which is not the number in its profile's name.
pub(super) fn slice(server: &Server, profile: &str) -> Option<Capacity> {
    let sku = gpu::find(server.gpu.as_deref()?)?;
    let bytes = sku.profile(profile)?.memory()?;
    Some(Capacity { bytes, how: format!("as the catalogue has it for {}", sku.product) })
}

/// Whether graphics interfaces work in an instance. The ending of the name says it where the
/// catalogue does not know the model.
pub(super) fn draws(server: &Server, profile: &str) -> bool {
    let sku = server.gpu.as_deref().and_then(gpu::find);
    match sku.and_then(|sku| sku.profile(profile)) {
        Some(profile) => profile.graphics(),
        None => Suffix::of(profile) == Suffix::Graphics,
    }
}
