//! Every call of GlobalAlloc by itself: sizes, alignments, contents. The program's own allocator is another one.

use hakmem::{usable_size, Hakmem};
use std::alloc::{GlobalAlloc, Layout};

const ALIGNMENTS: [usize; 17] = [
    1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536,
];
const SIZES: [usize; 22] = [
    1, 2, 3, 7, 8, 15, 16, 17, 24, 48, 63, 100, 192, 1000, 1024, 1025, 4096, 5000, 32_768, 32_769,
    65_537, 1_500_000,
];

fn layout(size: usize, alignment: usize) -> Layout {
    Layout::from_size_align(size, alignment).unwrap()
}

/// What byte `at` of a block numbered `number` has.
fn pattern(number: usize, at: usize) -> u8 {
    (number.wrapping_mul(31) ^ at ^ (at >> 8)) as u8
}

/// Fills a block; a large one at its ends only.
unsafe fn fill(block: *mut u8, size: usize, number: usize) {
    for at in (0..size.min(5000)).chain(size.max(10_000) - 5000..size) {
        block.add(at).write(pattern(number, at));
    }
}

unsafe fn verify(block: *const u8, size: usize, number: usize) {
    for at in 0..size.min(5000) {
        assert_eq!(
            block.add(at).read(),
            pattern(number, at),
            "byte {at} of {size}"
        );
    }
}

fn check_place(block: *const u8, wanted: Layout) {
    assert!(!block.is_null(), "{wanted:?}");
    assert_eq!(block as usize % wanted.align(), 0, "{block:?} {wanted:?}");
    assert!(unsafe { usable_size(block) } >= wanted.size(), "{wanted:?}");
}

#[test]
fn every_layout_fits() {
    let mut blocks = Vec::new();
    for alignment in ALIGNMENTS {
        for size in SIZES {
            for _ in 0..3 {
                let wanted = layout(size, alignment);
                let block = unsafe { Hakmem.alloc(wanted) };
                check_place(block, wanted);
                unsafe { fill(block, size, blocks.len()) };
                blocks.push((block, wanted));
            }
        }
    }
    for (number, &(block, wanted)) in blocks.iter().enumerate() {
        unsafe {
            verify(block, wanted.size(), number);
            Hakmem.dealloc(block, wanted);
        }
    }
}

#[test]
fn realloc_keeps_content_and_alignment() {
    for alignment in ALIGNMENTS {
        for old in SIZES {
            for new in SIZES {
                let (before, after) = (layout(old, alignment), layout(new, alignment));
                unsafe {
                    let block = Hakmem.alloc(before);
                    check_place(block, before);
                    fill(block, old, alignment + old);
                    let block = Hakmem.realloc(block, before, new);
                    check_place(block, after);
                    verify(block, old.min(new), alignment + old);
                    fill(block, new, new);
                    verify(block, new, new);
                    Hakmem.dealloc(block, after);
                }
            }
        }
    }
}

#[test]
fn a_block_grows_and_shrinks_step_by_step() {
    for alignment in [8, 16, 64, 4096] {
        let mut size = 10;
        let mut block = unsafe { Hakmem.alloc(layout(size, alignment)) };
        unsafe { fill(block, size, 5) };
        let up = (0..400).map(|step| 10 + step * 731);
        for new in up.clone().chain(up.rev()) {
            unsafe {
                block = Hakmem.realloc(block, layout(size, alignment), new);
                check_place(block, layout(new, alignment));
                verify(block, 10, 5);
                if new > 10 {
                    block.add(new - 1).write(1);
                }
            }
            size = new;
        }
        unsafe {
            // No block may stay much larger than what is asked for.
            assert!(
                usable_size(block) <= 128.max(2 * alignment),
                "{}",
                usable_size(block)
            );
            Hakmem.dealloc(block, layout(size, alignment));
        }
    }
}

#[test]
fn zeroed_memory_is_zero_again() {
    for _ in 0..3 {
        for alignment in ALIGNMENTS {
            for size in SIZES {
                let wanted = layout(size, alignment);
                unsafe {
                    let block = Hakmem.alloc_zeroed(wanted);
                    check_place(block, wanted);
                    let bytes = std::slice::from_raw_parts_mut(block, size);
                    assert!(bytes.iter().all(|&byte| byte == 0), "{wanted:?}");
                    bytes.fill(0xa5);
                    Hakmem.dealloc(block, wanted);
                }
            }
        }
    }
}

#[test]
fn large_zeroed_memory_is_not_touched() {
    let resident = || {
        let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
        statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
    };
    let wanted = layout(256 << 20, 64);
    let before = resident();
    let block = unsafe { Hakmem.alloc_zeroed(wanted) };
    check_place(block, wanted);
    assert!(resident() < before + (64 << 20));
    unsafe { Hakmem.dealloc(block, wanted) };
}

#[test]
fn what_is_impossible_is_null() {
    let wanted = layout(isize::MAX as usize - 4096, 1);
    let aligned = layout(isize::MAX as usize - 4095, 4096);
    unsafe {
        assert!(Hakmem.alloc(wanted).is_null());
        assert!(Hakmem.alloc_zeroed(wanted).is_null());
        assert!(Hakmem.alloc(aligned).is_null());
        assert!(Hakmem.alloc_zeroed(aligned).is_null());
        for alignment in [8, 256] {
            let small = layout(100, alignment);
            let block = Hakmem.alloc(small);
            fill(block, 100, 9);
            assert!(Hakmem
                .realloc(block, small, isize::MAX as usize - 4095)
                .is_null());
            verify(block, 100, 9);
            Hakmem.dealloc(block, small);
        }
    }
}

#[test]
fn usable_size_of_others_is_nothing() {
    static OBJECT: [u8; 64] = [0; 64];
    let local = [0u8; 64];
    unsafe {
        assert_eq!(usable_size(std::ptr::null()), 0);
        assert_eq!(usable_size(OBJECT.as_ptr()), 0);
        assert_eq!(usable_size(local.as_ptr()), 0);
    }
}

#[test]
fn it_says_what_it_is() {
    assert_eq!(hakmem::version(), env!("CARGO_PKG_VERSION"));
    let wanted = if cfg!(feature = "hardened") {
        "hardened"
    } else if cfg!(feature = "observe") {
        "observe"
    } else if cfg!(feature = "fast") {
        "fast"
    } else {
        "standard"
    };
    assert_eq!(hakmem::variant(), wanted);
}
