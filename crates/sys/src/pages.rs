// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Memory of whole pages: large, aligned, present before it is used, on a memory node if one is asked for.

use std::io;
use std::marker::PhantomData;
use std::mem::size_of;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::errno::done;

/// A number of a memory node, as in `/sys/devices/system/node/nodeN`.
pub type NodeId = u32;

/// Nodes from this number on cannot be asked for: what the node mask of a call holds.
pub const NODE_LIMIT: NodeId = 1_024;

/// Whether memory should lie in transparent huge pages, where the kernel has them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HugePages {
    /// Asks for them (`MADV_HUGEPAGE`).
    Ask,
    /// Refuses them (`MADV_NOHUGEPAGE`).
    Refuse,
    /// Leaves it to the kernel's setting.
    Leave,
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for u8 {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
    impl Sealed for f64 {}
}

/// Numbers that [`Pages`] can hold: any bytes are one, and zero bytes are zero.
pub trait Number: sealed::Sealed + Copy + Send + Sync + 'static {}

impl Number for u8 {}
impl Number for u32 {}
impl Number for u64 {}
impl Number for f64 {}

/// Numbers in pages of their own, zero at first; given back to the kernel when this is dropped.
#[derive(Debug)]
pub struct Pages<T: Number> {
    start: NonNull<T>,
    len: usize,
    bytes: usize,
    holds: PhantomData<T>,
}

// SAFETY: the pages are owned by this value alone, and numbers may move between threads.
unsafe impl<T: Number> Send for Pages<T> {}
// SAFETY: through a shared reference the numbers can only be read.
unsafe impl<T: Number> Sync for Pages<T> {}

impl<T: Number> Pages<T> {
    /// Maps pages for `len` numbers. Until they are touched or [`Pages::make_present`] was called they take
    /// no memory.
    ///
    /// # Errors
    ///
    /// Fails with `ENOMEM` where the address space or the commit limit is exceeded, and with `EINVAL` for no
    /// number at all.
    pub fn map(len: usize, huge: HugePages) -> io::Result<Self> {
        let bytes = len
            .checked_mul(size_of::<T>())
            .filter(|bytes| isize::try_from(*bytes).is_ok())
            .ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))?;
        // SAFETY: a new private mapping at an address of the kernel's choice touches nothing that exists.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast::<T>())
            .ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))?;
        let pages = Self {
            start,
            len,
            bytes,
            holds: PhantomData,
        };
        match huge {
            HugePages::Ask => pages.advise(libc::MADV_HUGEPAGE),
            HugePages::Refuse => pages.advise(libc::MADV_NOHUGEPAGE),
            HugePages::Leave => Ok(()),
        }
        // EINVAL is a kernel without transparent huge pages: there is nothing to ask for or to refuse.
        .or_else(|err| match err.raw_os_error() {
            Some(libc::EINVAL) => Ok(()),
            _ => Err(err),
        })?;
        Ok(pages)
    }

    /// Has the kernel take the pages from memory node `node` and from no other.
    ///
    /// Call it before they are touched.
    ///
    /// # Errors
    ///
    /// Fails with `EINVAL` where the node does not exist, has no memory or is not allowed to this process,
    /// with `ENOSYS` where the kernel knows no nodes, and with `EPERM` where a container forbids the call.
    pub fn bind_to(&self, node: NodeId) -> io::Result<()> {
        let mask = NodeMask::of(node)?;
        // SAFETY: the range is this mapping; the mask is as long as is said, counting its last bit as the
        // kernel does (mbind(2), maxnode); it is only read.
        let rc = unsafe {
            libc::syscall(
                libc::SYS_mbind,
                self.start.as_ptr(),
                self.bytes,
                libc::MPOL_BIND,
                mask.0.as_ptr(),
                NodeMask::BITS,
                0,
            )
        };
        done(rc)
    }

    /// Makes every page present, so that using one is never its first touch.
    ///
    /// # Errors
    ///
    /// Fails with `ENOMEM` where there is not enough memory, on the node if one was asked for.
    pub fn make_present(&mut self) -> io::Result<()> {
        /// `MADV_POPULATE_WRITE`, since Linux 5.14 (madvise(2)).
        const POPULATE_WRITE: libc::c_int = 23;
        match self.advise(POPULATE_WRITE) {
            // An older kernel: touch them.
            Err(err) if err.raw_os_error() == Some(libc::EINVAL) => {
                let step = (4_096 / size_of::<T>()).max(1);
                for number in self.iter_mut().step_by(step) {
                    // A compiler that sees the same value written back would leave it out.
                    *number = std::hint::black_box(*number);
                }
                Ok(())
            }
            other => other,
        }
    }

    /// Returns, for `samples` pages spread over all, the node each lies on; `None` for one that is not present.
    ///
    /// # Errors
    ///
    /// Fails with `ENOSYS` where the kernel knows no nodes, and with `EPERM` where a container forbids the call.
    pub fn nodes(&self, samples: usize) -> io::Result<Vec<Option<NodeId>>> {
        let samples = samples.clamp(1, (self.bytes / 4_096).max(1));
        let step = self.bytes / samples;
        let pages: Vec<*mut libc::c_void> = (0..samples)
            .map(|sample| {
                let first = self.start.as_ptr().cast::<u8>();
                first.wrapping_add(sample * step).cast::<libc::c_void>()
            })
            .collect();
        let mut status = vec![0_i32; samples];
        // SAFETY: both arrays have `samples` entries; without target nodes nothing is moved, only told.
        let rc = unsafe {
            libc::syscall(
                libc::SYS_move_pages,
                0,
                samples,
                pages.as_ptr(),
                std::ptr::null::<libc::c_int>(),
                status.as_mut_ptr(),
                0,
            )
        };
        done(rc)?;
        // A negative status is an error number of that page: ENOENT where it is not present.
        Ok(status
            .into_iter()
            .map(|node| NodeId::try_from(node).ok())
            .collect())
    }

    /// Returns the first and the last address, to find the mapping in `/proc/self/smaps`.
    pub fn addresses(&self) -> (usize, usize) {
        let first = self.start.as_ptr().addr();
        (first, first + self.bytes)
    }

    /// Views the memory as other numbers; what does not fill one at its end is left out.
    pub fn numbers<U: Number>(&self) -> &[U] {
        let len = self.bytes / size_of::<U>();
        // SAFETY: the mapping is aligned to a page and `len` of them lie within it; any bytes are a `U`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().cast::<U>(), len) }
    }

    /// Views the memory as other numbers to write; what does not fill one at its end is left out.
    pub fn numbers_mut<U: Number>(&mut self) -> &mut [U] {
        let len = self.bytes / size_of::<U>();
        // SAFETY: as above; `self` is borrowed mutably, so this is the only access; any bytes are a `T` as well.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().cast::<U>(), len) }
    }

    fn advise(&self, advice: libc::c_int) -> io::Result<()> {
        // SAFETY: the range is this mapping, which lives; none of the advice used here takes contents away.
        let rc = unsafe { libc::madvise(self.start.as_ptr().cast(), self.bytes, advice) };
        done(rc)
    }
}

impl<T: Number> Deref for Pages<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the mapping holds `len` numbers, aligned to a page, initialised to zero by the kernel.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T: Number> DerefMut for Pages<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above; `self` is borrowed mutably, so this is the only access.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl<T: Number> Drop for Pages<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` and nothing borrows it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// Returns the element that lies `share` 2^-64ths of the way through `all`; `None` where there is none at all.
///
/// An index is compared with the length before it is used, and in a loop of reads at random places that
/// comparison takes the place of one more read that could be under way. Here no comparison is needed.
#[inline]
pub fn at_share<T>(all: &[T], share: u64) -> Option<&T> {
    let place = place(all.len(), share)?;
    // SAFETY: the place is below the length, see there.
    Some(unsafe { all.get_unchecked(place) })
}

/// Returns the element that lies `share` 2^-64ths of the way through `all`, to change it; as [`at_share`].
#[inline]
pub fn at_share_mut<T>(all: &mut [T], share: u64) -> Option<&mut T> {
    let place = place(all.len(), share)?;
    // SAFETY: the place is below the length, see there.
    Some(unsafe { all.get_unchecked_mut(place) })
}

/// Returns `floor(share len / 2^64)`, which is below `len` for any `share`, since that is below 2^64; `None` if `len`
/// is zero.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "below a length, which is a usize"
)]
const fn place(len: usize, share: u64) -> Option<usize> {
    match len {
        0 => None,
        _ => Some(((share as u128 * len as u128) >> 64) as usize),
    }
}

/// A set of one memory node.
struct NodeMask([libc::c_ulong; NODE_LIMIT as usize / WORD_BITS]);

const WORD_BITS: usize = libc::c_ulong::BITS as usize;

impl NodeMask {
    /// The number of bits, and one more: the kernel takes one off (mbind(2), BUGS).
    const BITS: usize = NODE_LIMIT as usize + 1;

    fn of(node: NodeId) -> io::Result<Self> {
        let mut mask = [0; NODE_LIMIT as usize / WORD_BITS];
        let word = mask
            .get_mut(node as usize / WORD_BITS)
            .ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
        *word = 1 << (node as usize % WORD_BITS);
        Ok(Self(mask))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_share_of_a_slice_is_an_element_of_it() {
        for len in [1_usize, 2, 3, 1_000] {
            let mut all: Vec<usize> = (0..len).collect();
            for share in [0, 1, u64::MAX / 3, 1 << 63, u64::MAX - 1, u64::MAX] {
                // In floating point, but for the ends.
                let near = share as f64 / 2_f64.powi(64) * len as f64;
                let at = *at_share(&all, share).unwrap();
                assert!(
                    at < len && (at as f64 - near).abs() <= 1.0,
                    "{share} of {len}"
                );
                *at_share_mut(&mut all, share).unwrap() += len;
                assert_eq!(all[at], at + len);
                all[at] = at;
            }
            assert_eq!(at_share(&all, 0), Some(&0));
            assert_eq!(at_share(&all, u64::MAX), Some(&(len - 1)));
        }
        assert_eq!(at_share::<u8>(&[], u64::MAX), None);
        assert_eq!(at_share_mut::<u8>(&mut [], 0), None);
    }

    #[test]
    fn pages_are_zero_writable_and_present_when_asked() {
        let mut pages = Pages::<u64>::map(100_000, HugePages::Refuse).unwrap();
        assert!(pages.iter().all(|number| *number == 0));
        pages.make_present().unwrap();
        let last = pages.len() - 1;
        pages[last] = 7;
        assert_eq!((pages[last], pages.len()), (7, 100_000));
    }

    #[test]
    fn the_same_memory_is_other_numbers_too() {
        let mut pages = Pages::<u8>::map(20, HugePages::Leave).unwrap();
        pages.numbers_mut::<f64>().fill(1.0);
        let words: &[u64] = pages.numbers();
        assert_eq!(words, [1.0_f64.to_bits(); 2]);
        assert_eq!(pages.numbers::<u32>().len(), 5);
    }

    #[test]
    fn pages_lie_on_the_node_that_was_asked_for() {
        let mut pages = Pages::<u8>::map(1 << 20, HugePages::Leave).unwrap();
        match pages.bind_to(0) {
            // Every machine with nodes has node 0, but a container may forbid the call.
            Err(err) => assert!(
                matches!(err.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)),
                "{err}"
            ),
            Ok(()) => {
                pages.make_present().unwrap();
                let nodes = pages.nodes(16).unwrap();
                assert_eq!(nodes, vec![Some(0); 16]);
            }
        }
    }

    #[test]
    fn a_node_that_does_not_exist_is_refused() {
        let pages = Pages::<u8>::map(4_096, HugePages::Leave).unwrap();
        assert!(pages.bind_to(NODE_LIMIT - 1).is_err());
        assert!(pages.bind_to(NODE_LIMIT).is_err());
    }

    #[test]
    fn no_memory_at_all_and_too_much_are_errors() {
        assert!(Pages::<f64>::map(0, HugePages::Leave).is_err());
        assert!(Pages::<f64>::map(usize::MAX, HugePages::Leave).is_err());
        assert!(Pages::<f64>::map(1 << 57, HugePages::Leave).is_err());
    }
}
