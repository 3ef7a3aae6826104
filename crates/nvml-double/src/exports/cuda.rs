//! Of the CUDA driver what a stressor calls. Nothing is computed: a launch owes the time that its
//! arithmetic or its copy would take at the rates of the description, and waiting for it is sleeping.
//!
//! Handles are numbers that no address has: contexts count GPUs from 1, modules and functions count
//! themselves.

use std::cell::Cell;
use std::ffi::CStr;
use std::os::raw::{c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::description::{Compute, Gpu};
use crate::state::{Running, fault_in, running, start};

type Status = c_int;

const INVALID_VALUE: Status = 1;
const OUT_OF_MEMORY: Status = 2;
const NOT_INITIALIZED: Status = 3;
const NO_DEVICE: Status = 100;
const INVALID_IMAGE: Status = 200;
const INVALID_CONTEXT: Status = 201;
const NOT_FOUND: Status = 500;
const LAUNCH_FAILED: Status = 719;

const ARITHMETIC: usize = 1;
const COPY: usize = 2;
/// Operations of a thread in a round, and bytes that a copy moves for each element, read and written.
const OPERATIONS_PER_ROUND: f64 = 32.0;
const BYTES_PER_ELEMENT: f64 = 32.0;

/// The text of the module that was loaded last.
static MODULE: Mutex<Option<String>> = Mutex::new(None);
/// GPUs that a description may have.
const GPUS_MAX: usize = 16;
/// Memory that was taken on each GPU, bytes.
static TAKEN: [AtomicU64; GPUS_MAX] = [const { AtomicU64::new(0) }; GPUS_MAX];

thread_local! {
    /// The GPU of the thread's context, and nanoseconds that its launches owe.
    static CURRENT: Cell<Option<usize>> = const { Cell::new(None) };
    static OWED_NS: Cell<u64> = const { Cell::new(0) };
}

fn code(answer: Result<(), Status>) -> Status {
    answer.err().unwrap_or(0)
}

/// The host, where no description gives the function a fault.
fn host(function: &str) -> Result<Arc<Running>, Status> {
    let running = running().map_err(|_| NOT_INITIALIZED)?;
    fault_in(&running.host.errors, function).map_err(|_| match function {
        "cuMemAlloc_v2" => OUT_OF_MEMORY,
        _ => LAUNCH_FAILED,
    })?;
    Ok(running)
}

fn visible(running: &Running) -> Vec<(&Gpu, Compute)> {
    running.host.gpus.iter().filter_map(|gpu| Some((gpu, gpu.compute?))).collect()
}

fn current(running: &Running) -> Result<(&Gpu, Compute), Status> {
    let number = CURRENT.get().ok_or(INVALID_CONTEXT)?;
    visible(running).get(number).copied().ok_or(INVALID_CONTEXT)
}

/// # Safety
/// `to` is null or may be written to.
unsafe fn put<T>(to: *mut T, value: T) -> Result<(), Status> {
    if to.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: it is not null, and the caller says that it may be written to.
    unsafe { to.write(value) };
    Ok(())
}

/// Declares functions of the driver.
macro_rules! calls {
    ($(fn $name:ident($($argument:ident: $kind:ty),*) $body:block)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $kind),*) -> Status {
            let answer = || -> Result<(), Status> {
                // SAFETY: the caller gives pointers to what cuda.h says, or null, which is refused.
                unsafe { $body }
            };
            code(answer())
        }
    )*};
}

#[unsafe(no_mangle)]
extern "C" fn cuInit(_flags: c_uint) -> Status {
    code(running().map(drop).or_else(|_| start()).map_err(|_| NO_DEVICE))
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxDestroy_v2(_context: *mut c_void) -> Status {
    if let Some(taken) = CURRENT.take().and_then(|number| TAKEN.get(number)) {
        taken.store(0, Ordering::Relaxed);
    }
    0
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSynchronize() -> Status {
    let waited = || {
        let running = host("cuCtxSynchronize")?;
        current(&running)?;
        std::thread::sleep(Duration::from_nanos(OWED_NS.take()));
        Ok(())
    };
    code(waited())
}

calls! {
    fn cuDeviceGetCount(count: *mut c_int) {
        put(count, visible(&*host("cuDeviceGetCount")?).len() as c_int)
    }

    fn cuDeviceGet(device: *mut c_int, number: c_int) {
        let running = host("cuDeviceGet")?;
        let known = usize::try_from(number).is_ok_and(|at| at < visible(&running).len());
        if known { put(device, number) } else { Err(INVALID_VALUE) }
    }

    fn cuDeviceGetName(text: *mut c_char, room: c_int, device: c_int) {
        let running = host("cuDeviceGetName")?;
        let gpus = visible(&running);
        let (gpu, _) = gpus.get(device as usize).ok_or(INVALID_VALUE)?;
        let room = c_uint::try_from(room).map_err(|_| INVALID_VALUE)?;
        super::write::put_text(text, room, &gpu.name).map_err(|_| INVALID_VALUE)
    }

    fn cuDeviceGetAttribute(value: *mut c_int, which: c_int, device: c_int) {
        let running = host("cuDeviceGetAttribute")?;
        let gpus = visible(&running);
        let (_, compute) = gpus.get(device as usize).ok_or(INVALID_VALUE)?;
        match which {
            16 => put(value, compute.multiprocessors),
            38 => put(value, compute.l2_mib << 20),
            _ => Err(INVALID_VALUE),
        }
    }

    fn cuCtxCreate_v2(context: *mut *mut c_void, _flags: c_uint, device: c_int) {
        host("cuCtxCreate_v2")?;
        let number = usize::try_from(device).map_err(|_| INVALID_VALUE)?;
        CURRENT.set(Some(number));
        put(context, std::ptr::without_provenance_mut(number + 1))
    }

    fn cuModuleLoadData(module: *mut *mut c_void, image: *const c_void) {
        host("cuModuleLoadData")?;
        if image.is_null() {
            return Err(INVALID_VALUE);
        }
        let text = CStr::from_ptr(image.cast()).to_str().map_err(|_| INVALID_IMAGE)?;
        if !text.contains(".version") || !text.contains(".target") {
            return Err(INVALID_IMAGE);
        }
        *MODULE.lock().unwrap_or_else(PoisonError::into_inner) = Some(text.to_owned());
        put(module, std::ptr::without_provenance_mut(1))
    }

    fn cuModuleGetFunction(function: *mut *mut c_void, _module: *mut c_void, name: *const c_char) {
        host("cuModuleGetFunction")?;
        if name.is_null() {
            return Err(INVALID_VALUE);
        }
        let name = CStr::from_ptr(name).to_str().map_err(|_| INVALID_VALUE)?;
        let module = MODULE.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = format!(".entry {name}(");
        if !module.as_ref().is_some_and(|text| text.contains(&entry)) {
            return Err(NOT_FOUND);
        }
        let number = match name {
            "arithmetic" => ARITHMETIC,
            "copy" => COPY,
            _ => return Err(NOT_FOUND),
        };
        put(function, std::ptr::without_provenance_mut(number))
    }

    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) {
        let running = host("cuMemGetInfo_v2")?;
        let (gpu, _) = current(&running)?;
        put(free, free_bytes(gpu)? as usize)?;
        put(total, (gpu.memory_mib.total << 20) as usize)
    }

    fn cuMemAlloc_v2(address: *mut u64, bytes: usize) {
        let running = host("cuMemAlloc_v2")?;
        let (gpu, _) = current(&running)?;
        if bytes == 0 || bytes as u64 > free_bytes(gpu)? {
            return Err(OUT_OF_MEMORY);
        }
        let before = taken()?.fetch_add(bytes as u64, Ordering::Relaxed);
        put(address, (1 << 40) + before)
    }

    fn cuLaunchKernel(
        function: *mut c_void, blocks: c_uint, _blocks_y: c_uint, _blocks_z: c_uint,
        threads: c_uint, _threads_y: c_uint, _threads_z: c_uint, _shared: c_uint,
        _stream: *mut c_void, arguments: *mut *mut c_void, _extra: *mut *mut c_void
    ) {
        let running = host("cuLaunchKernel")?;
        let (_, compute) = current(&running)?;
        if blocks == 0 || threads == 0 || threads > 1024 || arguments.is_null() {
            return Err(INVALID_VALUE);
        }
        // The kernels have as many parameters as are looked at, and the caller points to each.
        let number = |place: usize| f64::from((*arguments.add(place)).cast::<u32>().read());
        let seconds = match function as usize {
            ARITHMETIC => {
                let all = f64::from(blocks) * f64::from(threads);
                all * number(1) * OPERATIONS_PER_ROUND / compute.flop_per_s
            }
            COPY => number(2) * BYTES_PER_ELEMENT / compute.bytes_per_s,
            _ => return Err(INVALID_VALUE),
        };
        OWED_NS.set(OWED_NS.get() + (seconds * 1e9) as u64);
        Ok(())
    }

    fn cuGetErrorString(status: Status, words: *mut *const c_char) {
        let text: &CStr = match status {
            INVALID_VALUE => c"invalid argument",
            OUT_OF_MEMORY => c"out of memory",
            NOT_INITIALIZED => c"initialization error",
            NO_DEVICE => c"no CUDA-capable device is detected",
            INVALID_IMAGE => c"device kernel image is invalid",
            INVALID_CONTEXT => c"invalid device context",
            NOT_FOUND => c"named symbol not found",
            LAUNCH_FAILED => c"unspecified launch failure",
            _ => return Err(INVALID_VALUE),
        };
        put(words, text.as_ptr())
    }
}

/// What was taken on the thread's GPU.
fn taken() -> Result<&'static AtomicU64, Status> {
    CURRENT.get().and_then(|number| TAKEN.get(number)).ok_or(INVALID_CONTEXT)
}

fn free_bytes(gpu: &Gpu) -> Result<u64, Status> {
    Ok((gpu.memory_mib.free << 20).saturating_sub(taken()?.load(Ordering::Relaxed)))
}
