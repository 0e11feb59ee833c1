//! Whose malloc is whose. By default C code of the process keeps libc's; with the feature `override` there is one heap.

use std::ffi::{c_char, c_int, c_void};

#[global_allocator]
static GLOBAL: hakmem::Hakmem = hakmem::Hakmem;

extern "C" {
    fn malloc(size: usize) -> *mut c_void;
    fn calloc(count: usize, size: usize) -> *mut c_void;
    fn realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn posix_memalign(block: *mut *mut c_void, alignment: usize, size: usize) -> c_int;
    fn free(block: *mut c_void);
    fn strdup(text: *const c_char) -> *mut c_char;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void;
}

const OVERRIDDEN: bool = cfg!(feature = "override");

fn is_ours<T>(block: *const T) -> bool {
    assert!(!block.is_null());
    unsafe { hakmem::usable_size(block.cast()) > 0 }
}

#[test]
fn blocks_of_rust_are_ours() {
    assert!(is_ours(Box::into_raw(Box::new(7u64)))); // left to the end of the process
}

#[test]
fn blocks_of_c_are_ours_only_where_overridden() {
    unsafe {
        let mut aligned = std::ptr::null_mut();
        assert_eq!(posix_memalign(&mut aligned, 64, 100), 0);
        for block in [
            malloc(100),
            calloc(10, 10),
            realloc(malloc(10), 3000),
            aligned,
        ] {
            assert_eq!(is_ours(block), OVERRIDDEN);
            free(block);
        }
    }
}

#[test]
fn blocks_that_libc_makes_are_ours_only_where_overridden() {
    unsafe {
        let copy = strdup(b"a text that libc copies\0".as_ptr().cast());
        assert_eq!(is_ours(copy), OVERRIDDEN);
        free(copy.cast());
    }
}

#[test]
fn malloc_is_the_name_of_libc_unless_overridden() {
    const RTLD_LAZY: c_int = 1;
    unsafe {
        let libc = dlopen(b"libc.so.6\0".as_ptr().cast(), RTLD_LAZY);
        assert!(!libc.is_null());
        for name in [
            "malloc\0",
            "free\0",
            "calloc\0",
            "realloc\0",
            "aligned_alloc\0",
            "malloc_usable_size\0",
        ] {
            let name = name.as_ptr().cast();
            let (of_process, of_libc) = (dlsym(std::ptr::null_mut(), name), dlsym(libc, name));
            assert_eq!(of_process != of_libc, OVERRIDDEN);
        }
    }
}
