//! The memory allocator hakmem as a global allocator, for Linux with glibc on x86-64 and aarch64.
//!
//! ```
//! #[global_allocator]
//! static GLOBAL: hakmem::Hakmem = hakmem::Hakmem;
//!
//! let words: Vec<String> = "memory that goes home".split(' ').map(String::from).collect();
//! assert_eq!(words.len(), 4);
//! assert!(hakmem::stats().live_bytes > 0);
//! ```
//!
//! The C source is compiled in, by the `cc` crate; there is no other dependency, and none at run time.
//!
//! # Features
//!
//! Without a feature only the names `hakmem_*` exist: C code of the process keeps libc's malloc.
//!
//! | feature | what it does |
//! |---|---|
//! | `override` | malloc, free, their kin and the C++ operators of the whole process are hakmem's too: one heap |
//! | `fast` | the library without the word about pointers that are not its own |
//! | `observe` | every call is counted exactly, and where asked for timed and kept |
//! | `hardened` | double frees and pointers that are not its own stop the process, with last words; slower |
//!
//! Of several variants the most careful one is built: `hardened`, then `observe`, then `fast`.
//!
//! # Options
//!
//! The environment variables `HAKMEM_*` work as for the preloaded library: `HAKMEM_STATS=1` prints a summary at exit,
//! `HAKMEM_PURGE_DELAY` says after how many milliseconds free memory goes home, `HAKMEM_VERBOSE=1` prints all values.
//!
//! # Threads
//!
//! Everything here may be called by any thread at any time, and any thread may free any block. What an ended thread held
//! serves others. A forked process may go on allocating, also when it was forked from a program with many threads.

#![no_std]
#![warn(missing_docs)]
#![deny(unsafe_op_in_unsafe_fn)]

use core::alloc::{GlobalAlloc, Layout};
use core::ffi::{c_char, c_void, CStr};
use core::mem::size_of;
use core::ptr;

extern "C" {
    fn hakmem_malloc(size: usize) -> *mut c_void;
    fn hakmem_calloc(count: usize, size: usize) -> *mut c_void;
    fn hakmem_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn hakmem_free(block: *mut c_void);
    fn hakmem_aligned_alloc(alignment: usize, size: usize) -> *mut c_void;
    fn hakmem_usable_size(block: *const c_void) -> usize;
    fn hakmem_purge() -> usize;
    fn hakmem_stats(stats: *mut Statistics, bytes: usize) -> usize;
    fn hakmem_version() -> *const c_char;
    fn hakmem_variant() -> *const c_char;
}

/// Every block is aligned to this many bytes at least (include/hakmem.h): the shortest calls do for such layouts.
const ALIGNED_ANYWAY: usize = 16;

/// The allocator: `#[global_allocator] static GLOBAL: Hakmem = Hakmem;`
///
/// All values of this type are the one heap of the process. A failed call returns null, as [`GlobalAlloc`] asks; nothing
/// that existed is changed then. Alignments up to 64 MiB work wherever the size does.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hakmem;

// SAFETY: the C functions hand out blocks of at least the size and the alignment asked for, each of them the caller's alone
// until it is freed, to any thread; they return null on failure and never unwind.
unsafe impl GlobalAlloc for Hakmem {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: both functions take any size; a layout's alignment is a power of two.
        let block = unsafe {
            if layout.align() <= ALIGNED_ANYWAY {
                hakmem_malloc(layout.size())
            } else {
                hakmem_aligned_alloc(layout.align(), layout.size())
            }
        };
        block.cast()
    }

    /// The library finds out by itself what the block is: size and alignment would not make this faster.
    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, _layout: Layout) {
        // SAFETY: the caller gives back a block of this allocator.
        unsafe { hakmem_free(block.cast()) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.align() <= ALIGNED_ANYWAY {
            // SAFETY: any size may be asked for.
            unsafe { hakmem_calloc(1, layout.size()).cast() }
        } else {
            zeroed_and_aligned(layout)
        }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if layout.align() <= ALIGNED_ANYWAY {
            // SAFETY: the caller gives a block of this allocator, and a new size that is not zero.
            unsafe { hakmem_realloc(block.cast(), new_size).cast() }
        } else {
            // SAFETY: what the caller promises is what is asked for.
            unsafe { realloc_aligned(block, layout, new_size) }
        }
    }
}

/// calloc knows memory that is fresh, and a block of a large size, or of a round one to the length of a cache line, is nearly always
/// aligned far beyond 16 bytes: then nothing has to be written, and nothing of it be resident.
#[cold]
fn zeroed_and_aligned(layout: Layout) -> *mut u8 {
    // SAFETY: as in alloc and alloc_zeroed; what is freed was handed out here, and what is written to is the new block.
    unsafe {
        let block: *mut u8 = hakmem_calloc(1, layout.size()).cast();
        if block.is_null() || block as usize % layout.align() == 0 {
            return block;
        }
        hakmem_free(block.cast());
        let block: *mut u8 = hakmem_aligned_alloc(layout.align(), layout.size()).cast();
        if !block.is_null() {
            ptr::write_bytes(block, 0, layout.size());
        }
        block
    }
}

/// realloc where more than the usual alignment is to be kept, which hakmem_realloc does not do.
///
/// # Safety
///
/// That of [`GlobalAlloc::realloc`].
#[cold]
unsafe fn realloc_aligned(block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
    // SAFETY: `block` is one of this allocator, of layout.size() bytes, and the caller's alone.
    unsafe {
        let usable = hakmem_usable_size(block.cast());
        if new_size <= usable && new_size >= usable / 2 {
            return block;
        }
        let fresh: *mut u8 = hakmem_aligned_alloc(layout.align(), new_size).cast();
        if fresh.is_null() {
            // One that is to be smaller stays what it is.
            return if new_size <= usable { block } else { fresh };
        }
        ptr::copy_nonoverlapping(block, fresh, layout.size().min(new_size));
        hakmem_free(block.cast());
        fresh
    }
}

/// What the heap holds, in bytes: see [`stats`].
#[repr(C)]
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Address space held for blocks: `live_bytes + free_bytes`.
    pub mapped_bytes: u64,
    /// In use: large blocks, and the slabs of small ones with the gaps between them.
    pub live_bytes: u64,
    /// In no use, whether or not the system has its pages back.
    pub free_bytes: u64,
    /// The allocator's own records, apart from all the above.
    pub metadata_bytes: u64,
}

/// Adds up what the heap of the process holds.
///
/// Threads that allocate meanwhile make the figures approximate: each by itself was true at some moment of the call. The
/// call takes locks and visits all heaps: for a report now and then, not for a loop.
pub fn stats() -> Statistics {
    let mut stats = Statistics::default();
    // SAFETY: the library writes the bytes it is told, all of them plain numbers.
    unsafe { hakmem_stats(&mut stats, size_of::<Statistics>()) };
    stats
}

/// Gives the memory of free blocks back to the system now, as far as whole pages of it are free, and returns the bytes
/// given back.
///
/// Nobody has to call it: memory goes home by itself some 200 ms after it came to rest. What other threads hold at hand
/// stays. Slow (system calls): meant for the end of a phase.
pub fn purge() -> usize {
    // SAFETY: it may be called at any time.
    unsafe { hakmem_purge() }
}

/// The bytes of `block` that may be used, at least the size asked for: 0 for null and for a pointer that is not a block
/// of hakmem.
///
/// With [`Hakmem`] as the global allocator, bytes beyond a collection's own capacity are not its bytes to use.
///
/// # Safety
///
/// The block must not be freed or resized by another thread at the same time. No other promise is asked for: the pointer is
/// not read through.
pub unsafe fn usable_size(block: *const u8) -> usize {
    // SAFETY: what is asked for of the caller.
    unsafe { hakmem_usable_size(block.cast()) }
}

/// The version of the library, `major.minor.patch`: that of this crate.
pub fn version() -> &'static str {
    // SAFETY: a constant string.
    unsafe { constant(hakmem_version()) }
}

/// Which variant of the library is built in: `standard`, `fast`, `observe` or `hardened`.
pub fn variant() -> &'static str {
    // SAFETY: a constant string.
    unsafe { constant(hakmem_variant()) }
}

/// # Safety
///
/// `text` is a constant of the library, which ends in a zero byte.
unsafe fn constant(text: *const c_char) -> &'static str {
    // SAFETY: as above.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap_or("")
}

/// What README.md shows is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
