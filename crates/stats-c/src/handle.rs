// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! State that a caller in C holds: opaque words; the first says what the rest is.

/// What a function of this library answers where there is nothing else to say.
pub const PUNCTUAL_OK: i32 = 0;
/// A pointer is null, the state was never initialised or is of another kind, or a number is out of range.
pub const PUNCTUAL_INVALID: i32 = -1;

/// Words of a caller, as `T`.
#[repr(C)]
pub(crate) struct Handle<T> {
    /// Tells it from memory that is zero, or another kind of state.
    kind: u64,
    value: T,
}

/// Words in memory of the caller that hold a `Handle<T>`.
///
/// # Safety
///
/// A `Handle<Self::State>` fits into `Self`, in size and alignment, and `KIND` is of no other type.
pub(crate) unsafe trait Words {
    /// What is kept in them.
    type State;
    /// What tells it from others.
    const KIND: u64;
}

/// Says at compile time whether a state fits into its words.
pub(crate) const fn fits<W: Words>() -> bool {
    size_of::<Handle<W::State>>() <= size_of::<W>()
        && align_of::<Handle<W::State>>() <= align_of::<W>()
}

/// Puts `value` into the words at `at`.
///
/// # Safety
///
/// `at` is null, or valid for writes of a `W`.
pub(crate) unsafe fn init<W: Words>(at: *mut W, value: W::State) -> i32 {
    let handle = at.cast::<Handle<W::State>>();
    if handle.is_null() || !handle.is_aligned() {
        return PUNCTUAL_INVALID;
    }
    let kind = W::KIND;
    // SAFETY: not null and aligned, and so valid for writes of a `W`, into which it fits.
    unsafe { handle.write(Handle { kind, value }) };
    PUNCTUAL_OK
}

/// Returns what is kept in the words at `at`, if [`init`] put it there.
///
/// # Safety
///
/// `at` is null, or points to a `W` whose bytes are initialised, and which nothing else uses during `'a`.
pub(crate) unsafe fn state<'a, W: Words>(at: *mut W) -> Option<&'a mut W::State> {
    if at.is_null() || !at.is_aligned() {
        return None;
    }
    // SAFETY: not null and aligned, and so it points to a `W`, whose first word is this one.
    if unsafe { at.cast::<u64>().read() } != W::KIND {
        return None;
    }
    // SAFETY: `init` alone writes this kind, with the state behind it.
    let handle = unsafe { &mut *at.cast::<Handle<W::State>>() };
    Some(&mut handle.value)
}

/// Returns memory of the caller as a slice.
///
/// # Safety
///
/// `at` is null, or points to `length` initialised values that nothing else uses as long as the state that gets them.
pub(crate) unsafe fn slice<T>(at: *mut T, length: usize) -> Option<&'static mut [T]> {
    let bytes = length.checked_mul(size_of::<T>())?;
    if at.is_null() || !at.is_aligned() || isize::try_from(bytes).is_err() {
        return None;
    }
    // SAFETY: not null, aligned, no longer than a slice may be; the caller says the rest.
    Some(unsafe { core::slice::from_raw_parts_mut(at, length) })
}

/// Writes an answer to where the caller wants it.
///
/// # Safety
///
/// `to` is null, or valid for writes.
pub(crate) unsafe fn answer<T>(to: *mut T, value: T) -> i32 {
    if to.is_null() || !to.is_aligned() {
        return PUNCTUAL_INVALID;
    }
    // SAFETY: not null and aligned; the caller says the rest.
    unsafe { to.write(value) };
    PUNCTUAL_OK
}
