//! How answers are written, and how functions are declared.

use std::os::raw::{c_char, c_uint};

use nvml_wrapper_sys::bindings as sys;

use crate::state::{Fault, INVALID_ARGUMENT, TOO_SMALL};

/// Declares functions of a device. Each looks its handle up, which is where descriptions put faults, and
/// writes its answer.
macro_rules! device_calls {
    ($(fn $name:ident($found:ident $(, $argument:ident: $kind:ty)*) $body:block)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            device: nvml_wrapper_sys::bindings::nvmlDevice_t
            $(, $argument: $kind)*
        ) -> $crate::state::Fault {
            let answer = || -> Result<(), $crate::state::Fault> {
                let $found = $crate::state::find(device, stringify!($name))?;
                // SAFETY: the caller gives pointers to what nvml.h says, or null, which is refused.
                unsafe { $body }
            };
            $crate::exports::write::code(answer())
        }
    )*};
}

/// The same for functions of no device.
macro_rules! system_calls {
    ($(fn $name:ident($($argument:ident: $kind:ty),*) $body:block)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $kind),*) -> $crate::state::Fault {
            let answer = || -> Result<(), $crate::state::Fault> {
                // SAFETY: the caller gives pointers to what nvml.h says, or null, which is refused.
                unsafe { $body }
            };
            $crate::exports::write::code(answer())
        }
    )*};
}

pub(super) use {device_calls, system_calls};

pub(super) fn code(answer: Result<(), Fault>) -> Fault {
    answer.err().unwrap_or(sys::nvmlReturn_enum_NVML_SUCCESS)
}

/// Writes a value.
///
/// # Safety
/// `to` is null or may be written to.
pub(super) unsafe fn put<T>(to: *mut T, value: T) -> Result<(), Fault> {
    if to.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    // SAFETY: it is not null, and the caller says that it may be written to.
    unsafe { to.write(value) };
    Ok(())
}

/// Writes a text with a zero at its end.
///
/// # Safety
/// `to` is null or has room for `room` bytes.
pub(super) unsafe fn put_text(to: *mut c_char, room: c_uint, text: &str) -> Result<(), Fault> {
    if to.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    if text.len() >= room as usize {
        return Err(TOO_SMALL);
    }
    for (place, byte) in text.bytes().chain([0]).enumerate() {
        // SAFETY: there is room for all bytes and the zero.
        unsafe { to.add(place).write(byte.cast_signed()) };
    }
    Ok(())
}

/// Writes a list as nvml.h has it: with too little room, only its length and the fault that says so.
///
/// # Safety
/// `count` is null or points to the number of elements that `to` has room for.
pub(super) unsafe fn put_list<T: Copy>(
    to: *mut T,
    count: *mut c_uint,
    list: &[T],
) -> Result<(), Fault> {
    if count.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    // SAFETY: it is not null, and the caller says that it holds the room.
    let room = unsafe { count.read() } as usize;
    // SAFETY: as above.
    unsafe { count.write(list.len() as c_uint) };
    if list.len() > room || (to.is_null() && !list.is_empty()) {
        return Err(TOO_SMALL);
    }
    for (place, value) in list.iter().enumerate() {
        // SAFETY: there is room for the whole list.
        unsafe { to.add(place).write(*value) };
    }
    Ok(())
}

/// A text in a buffer of a struct, with zeros behind it.
pub(super) fn buffer<const N: usize>(text: &str) -> [c_char; N] {
    let mut buffer = [0; N];
    // The last byte stays zero.
    for (place, byte) in buffer.iter_mut().take(N - 1).zip(text.bytes()) {
        *place = byte.cast_signed();
    }
    buffer
}

pub(super) fn milli(value: f64) -> u32 {
    (value * 1000.0).round() as u32
}
