//! A plugin for programs that are not written in Rust: its own heap is hakmem, the program's malloc stays what it is.
//! tests/plugin.rs opens it with dlopen, and closes it.

#[global_allocator]
static GLOBAL: hakmem::Hakmem = hakmem::Hakmem;

/// The sum of the digits of all numbers below `end`, by way of many strings.
#[no_mangle]
pub extern "C" fn plugin_digits(end: u64) -> u64 {
    let texts: Vec<String> = (0..end).map(|number| number.to_string()).collect();
    let digits = texts.iter().flat_map(|text| text.bytes());
    digits.map(|byte| u64::from(byte - b'0')).sum()
}

/// What hakmem holds for this plugin.
#[no_mangle]
pub extern "C" fn plugin_mapped_bytes() -> u64 {
    hakmem::stats().mapped_bytes
}
