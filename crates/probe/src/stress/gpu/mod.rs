//! The GPU's arithmetic and its memory, over the driver's own library. Nothing of CUDA is needed to
//! build this: the library is loaded where a GPU is to be stressed, and the kernels are text that the
//! driver compiles.

mod driver;
mod kernels;
mod work;

pub use driver::{CudaLibrary, CudaUnavailable};
pub(super) use work::start;
