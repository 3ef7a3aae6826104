//! The few calls of the CUDA driver API that a stressor needs.
//!
//! Signatures and numbers are those of `cuda.h`; the `_v2` names are what its macros make of the plain
//! ones since CUDA 3.2 and are still exported today.

#![expect(unsafe_code, reason = "the driver is a C library; each block says why it is sound")]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::path::{Path, PathBuf};
use std::ptr;

use libloading::Library;
use thiserror::Error;

/// The name under which the driver installs the library.
const NAME: &str = "libcuda.so.1";
/// The environment variable that names another library.
const VARIABLE: &str = "COTENANT_CUDA";
/// `CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT` and `CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE`.
const MULTIPROCESSORS: c_int = 16;
const L2_CACHE_BYTES: c_int = 38;
/// `CU_CTX_SCHED_BLOCKING_SYNC`: who waits sleeps. A wait that spins would stress a core as well.
const WAITS_ASLEEP: c_uint = 4;
/// Longest name of a GPU that is read.
const NAME_MAX: usize = 96;

type Status = c_int;
type Device = c_int;
type Handle = *mut c_void;
type DevicePointer = u64;

/// Why no GPU can be stressed on this machine, and the way out.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{reason}; {way_out}")]
pub struct CudaUnavailable {
    /// What happened.
    pub reason: String,
    /// What to do about it.
    pub way_out: &'static str,
}

/// The driver's library that is to be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CudaLibrary {
    path: PathBuf,
}

impl CudaLibrary {
    /// `libcuda.so.1` where the dynamic linker finds it, or what the environment variable
    /// `COTENANT_CUDA` names.
    pub fn of_this_machine() -> Self {
        let path = std::env::var_os(VARIABLE).filter(|path| !path.is_empty());
        Self { path: path.map_or_else(|| PathBuf::from(NAME), PathBuf::from) }
    }

    /// The library at a path.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The path or name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many GPUs, or parts of them, a stressor of this process could use.
    ///
    /// # Errors
    /// The library cannot be loaded, does not start, or sees no GPU.
    pub fn gpus(&self) -> Result<u32, CudaUnavailable> {
        let driver = self.open()?;
        match driver.count() {
            Ok(0) => Err(self.fault(
                "it sees no GPU",
                "look at CUDA_VISIBLE_DEVICES, and at whether `nvidia-smi` answers",
            )),
            Ok(count) => Ok(count),
            Err(why) => Err(self.fault(&why, "see whether `nvidia-smi` answers")),
        }
    }

    /// Loads the library and starts it.
    pub(super) fn open(&self) -> Result<Driver, CudaUnavailable> {
        let driver = Driver::load(&self.path).map_err(|why| {
            self.fault(
                &why,
                "on a machine with NVIDIA GPUs install the driver's libraries, or let the \
                 container's runtime mount them (capability `compute`)",
            )
        })?;
        driver.start().map_err(|why| self.fault(&why, "see whether `nvidia-smi` answers"))?;
        Ok(driver)
    }

    fn fault(&self, why: &str, way_out: &'static str) -> CudaUnavailable {
        CudaUnavailable { reason: format!("{}: {why}", self.path.display()), way_out }
    }
}

/// Declares the calls that are used, each with its signature, and how they are found in the library.
macro_rules! calls {
    ($($name:ident($($argument:ty),*);)+) => {
        #[allow(non_snake_case, reason = "the driver's own names")]
        #[derive(Clone, Copy)]
        struct Calls { $($name: unsafe extern "C" fn($($argument),*) -> Status),+ }

        impl Calls {
            fn find(library: &Library) -> Result<Self, String> {
                Ok(Self {
                    $($name: {
                        let name = stringify!($name);
                        // SAFETY: the driver exports this name with the signature that `cuda.h`
                        // gives it, and the library outlives the pointer: both are in a `Driver`.
                        let found = unsafe { library.get(name.as_bytes()) };
                        *found.map_err(|_| format!("it has no `{name}`"))?
                    }),+
                })
            }
        }
    };
}

calls! {
    cuInit(c_uint);
    cuDeviceGetCount(*mut c_int);
    cuDeviceGet(*mut Device, c_int);
    cuDeviceGetName(*mut c_char, c_int, Device);
    cuDeviceGetAttribute(*mut c_int, c_int, Device);
    cuCtxCreate_v2(*mut Handle, c_uint, Device);
    cuCtxDestroy_v2(Handle);
    cuCtxSynchronize();
    cuModuleLoadData(*mut Handle, *const c_void);
    cuModuleGetFunction(*mut Handle, Handle, *const c_char);
    cuMemGetInfo_v2(*mut usize, *mut usize);
    cuMemAlloc_v2(*mut DevicePointer, usize);
    cuLaunchKernel(
        Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *mut *mut c_void,
        *mut *mut c_void
    );
    cuGetErrorString(Status, *mut *const c_char);
}

/// The driver, loaded.
pub(super) struct Driver {
    calls: Calls,
    // Held for as long as the pointers into it.
    _library: Library,
}

impl Driver {
    fn load(path: &Path) -> Result<Self, String> {
        // SAFETY: loading runs the library's initialisers; it is the driver's own, or what the user
        // named in its place.
        let library = unsafe { Library::new(path) };
        let library = library.map_err(|error| match std::error::Error::source(&error) {
            Some(cause) => format!("cannot be loaded ({cause})"),
            None => format!("cannot be loaded ({error})"),
        })?;
        Ok(Self { calls: Calls::find(&library)?, _library: library })
    }

    /// The driver's words for a status that is no success.
    fn checked(&self, call: &str, status: Status) -> Result<(), String> {
        if status == 0 {
            return Ok(());
        }
        let mut words = ptr::null();
        // SAFETY: writes one pointer to text of the library that is never freed, or none.
        let known = unsafe { (self.calls.cuGetErrorString)(status, &raw mut words) } == 0;
        if !known || words.is_null() {
            return Err(format!("{call} failed with status {status}"));
        }
        // SAFETY: not null, and the driver ends its texts with a zero byte.
        let words = unsafe { CStr::from_ptr(words) }.to_string_lossy();
        Err(format!("{call} failed: {words}"))
    }

    fn start(&self) -> Result<(), String> {
        // SAFETY: takes a number; no flag exists, so it is 0.
        let status = unsafe { (self.calls.cuInit)(0) };
        self.checked("cuInit", status)
    }

    /// GPUs, or parts of them, that this process may use.
    pub(super) fn count(&self) -> Result<u32, String> {
        let mut count = 0;
        // SAFETY: writes one number where told.
        let status = unsafe { (self.calls.cuDeviceGetCount)(&raw mut count) };
        self.checked("cuDeviceGetCount", status)?;
        Ok(u32::try_from(count).unwrap_or(0))
    }

    /// Makes a context on a GPU, with a module in it. It belongs to the calling thread.
    pub(super) fn context(&self, number: u32, module: &CStr) -> Result<Context<'_>, String> {
        let mut device = 0;
        // SAFETY: writes one number where told.
        let status = unsafe { (self.calls.cuDeviceGet)(&raw mut device, number.cast_signed()) };
        self.checked("cuDeviceGet", status)?;
        let mut handle = ptr::null_mut();
        // SAFETY: writes one handle where told; the flag is one of `cuda.h`.
        let status = unsafe { (self.calls.cuCtxCreate_v2)(&raw mut handle, WAITS_ASLEEP, device) };
        self.checked("cuCtxCreate", status)?;
        let mut context = Context { driver: self, device, handle, module: ptr::null_mut() };
        let image = module.as_ptr().cast();
        // SAFETY: reads text up to its zero byte, which a `CStr` has, and writes one handle.
        let status = unsafe { (self.calls.cuModuleLoadData)(&raw mut context.module, image) };
        self.checked("cuModuleLoadData", status)?;
        Ok(context)
    }
}

/// A context on one GPU. What was allocated in it is freed with it.
pub(super) struct Context<'a> {
    driver: &'a Driver,
    device: Device,
    handle: Handle,
    module: Handle,
}

/// Memory of a GPU, which lives as long as its context.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffer(DevicePointer);

/// A kernel of the context's module.
#[derive(Clone, Copy)]
pub(super) struct Kernel(Handle);

/// A value that a kernel is given.
#[derive(Clone, Copy)]
pub(super) enum Argument {
    Buffer(Buffer),
    Count(u32),
}

impl Context<'_> {
    /// The GPU's name.
    pub(super) fn name(&self) -> Result<String, String> {
        let mut text = [0_u8; NAME_MAX];
        let (start, length) = (text.as_mut_ptr().cast(), NAME_MAX as c_int);
        // SAFETY: writes at most `length` bytes, zero byte included, into an array of that length.
        let status = unsafe { (self.driver.calls.cuDeviceGetName)(start, length, self.device) };
        self.driver.checked("cuDeviceGetName", status)?;
        let text = CStr::from_bytes_until_nul(&text).map_err(|_| "a name without an end")?;
        Ok(text.to_string_lossy().into_owned())
    }

    fn attribute(&self, which: c_int) -> Result<u32, String> {
        let mut value = 0;
        // SAFETY: writes one number where told.
        let status =
            unsafe { (self.driver.calls.cuDeviceGetAttribute)(&raw mut value, which, self.device) };
        self.driver.checked("cuDeviceGetAttribute", status)?;
        Ok(u32::try_from(value).unwrap_or(0))
    }

    /// Multiprocessors of the GPU, or of the part of it that is visible.
    pub(super) fn multiprocessors(&self) -> Result<u32, String> {
        Ok(self.attribute(MULTIPROCESSORS)?.max(1))
    }

    /// Size of the second-level cache, bytes.
    pub(super) fn l2_bytes(&self) -> Result<u64, String> {
        self.attribute(L2_CACHE_BYTES).map(u64::from)
    }

    /// Memory that is free, bytes.
    pub(super) fn free_bytes(&self) -> Result<u64, String> {
        let (mut free, mut total) = (0_usize, 0_usize);
        // SAFETY: writes two numbers where told.
        let status = unsafe { (self.driver.calls.cuMemGetInfo_v2)(&raw mut free, &raw mut total) };
        self.driver.checked("cuMemGetInfo", status)?;
        Ok(free as u64)
    }

    /// Takes memory.
    pub(super) fn allocate(&self, bytes: u64) -> Result<Buffer, String> {
        let mut start = 0;
        // SAFETY: writes one address of the GPU's memory where told.
        let status = unsafe { (self.driver.calls.cuMemAlloc_v2)(&raw mut start, bytes as usize) };
        self.driver.checked("cuMemAlloc", status)?;
        Ok(Buffer(start))
    }

    /// A kernel by its name.
    pub(super) fn kernel(&self, name: &CStr) -> Result<Kernel, String> {
        let mut function = ptr::null_mut();
        // SAFETY: reads a name up to its zero byte and writes one handle; the module is loaded.
        let status = unsafe {
            (self.driver.calls.cuModuleGetFunction)(&raw mut function, self.module, name.as_ptr())
        };
        self.driver.checked("cuModuleGetFunction", status)?;
        Ok(Kernel(function))
    }

    /// Waits until everything that was launched has ended.
    pub(super) fn wait(&self) -> Result<(), String> {
        // SAFETY: takes nothing; waits for the thread's current context, which is this one.
        let status = unsafe { (self.driver.calls.cuCtxSynchronize)() };
        self.driver.checked("cuCtxSynchronize", status)
    }

    /// Launches a kernel over so many blocks of so many threads.
    pub(super) fn launch(
        &self,
        kernel: Kernel,
        blocks: u32,
        threads: u32,
        arguments: &[Argument],
    ) -> Result<(), String> {
        // Eight bytes hold either kind of value; the driver reads as many as the kernel declares.
        let mut values: Vec<u64> = arguments
            .iter()
            .map(|argument| match argument {
                Argument::Buffer(Buffer(start)) => *start,
                Argument::Count(count) => u64::from(*count),
            })
            .collect();
        let mut places: Vec<*mut c_void> =
            values.iter_mut().map(|value| (&raw mut *value).cast()).collect();
        // SAFETY: the function is of this context's module; `places` has one pointer for each of its
        // parameters, each to eight bytes, and both live until the call returns, which copies them.
        // A `u32` is read from the first four bytes, where a little-endian machine has it.
        let status = unsafe {
            (self.driver.calls.cuLaunchKernel)(
                kernel.0,
                blocks,
                1,
                1,
                threads,
                1,
                1,
                0,
                ptr::null_mut(),
                places.as_mut_ptr(),
                ptr::null_mut(),
            )
        };
        self.driver.checked("cuLaunchKernel", status)
    }
}

impl Drop for Context<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is of a context that was made here and is destroyed once. What a driver
        // says while it goes is of no use any more.
        let _ = unsafe { (self.driver.calls.cuCtxDestroy_v2)(self.handle) };
    }
}

#[cfg(target_endian = "big")]
compile_error!("a kernel's 32-bit values are handed over as the first half of 64");
