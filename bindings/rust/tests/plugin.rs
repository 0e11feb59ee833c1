//! A program whose allocator is libc's opens a plugin that has hakmem built in, uses it in threads, and closes it: what hakmem
//! has registered (a thread's end, fork) and its own thread, which gives memory home, then still find their code.

use std::ffi::{c_char, c_int, c_void, CString};
use std::mem::transmute;
use std::thread;
use std::time::Duration;

extern "C" {
    fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlclose(handle: *mut c_void) -> c_int;
    fn fork() -> c_int;
    fn waitpid(process: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn _exit(status: c_int) -> !;
}

const RTLD_NOW: c_int = 2;

#[test]
fn a_plugin_is_used_and_closed() {
    // Beside the tests cargo has put the examples.
    let program = std::env::current_exe().unwrap();
    let file = program
        .parent()
        .unwrap()
        .with_file_name("examples")
        .join("libplugin.so");
    let file = CString::new(file.to_str().unwrap()).unwrap();
    for _ in 0..3 {
        unsafe {
            let plugin = dlopen(file.as_ptr(), RTLD_NOW);
            assert!(!plugin.is_null(), "{file:?}: cargo build --example plugin");
            let digits: extern "C" fn(u64) -> u64 =
                transmute(dlsym(plugin, b"plugin_digits\0".as_ptr().cast()));
            let mapped: extern "C" fn() -> u64 =
                transmute(dlsym(plugin, b"plugin_mapped_bytes\0".as_ptr().cast()));
            assert_eq!(digits(1000), 13_500);
            let lasting = thread::spawn(move || {
                assert_eq!(digits(10_000), 180_000);
                thread::sleep(Duration::from_millis(700)); // it ends after dlclose, with a heap
            });
            assert_eq!(digits(100_000), 2_250_000);
            assert!(mapped() > 0);
            thread::sleep(Duration::from_millis(100));
            assert_eq!(dlclose(plugin), 0);
            let child = fork();
            if child == 0 {
                _exit(0);
            }
            let mut status = 1;
            assert_eq!(waitpid(child, &mut status, 0), child);
            assert_eq!(status, 0);
            lasting.join().unwrap();
        }
    }
}
