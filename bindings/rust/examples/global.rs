//! A program whose every Vec, String and Box is hakmem's; it counts words and says what the heap holds.
//!
//!     cargo run --example global

use std::collections::HashMap;

#[global_allocator]
static GLOBAL: hakmem::Hakmem = hakmem::Hakmem;

fn main() {
    let text =
        "a thread keeps for each size class an array of pointers to free blocks ".repeat(10_000);
    let mut counts: HashMap<String, u64> = HashMap::new();
    for word in text.split_whitespace() {
        *counts.entry(word.to_string()).or_default() += 1;
    }
    println!(
        "{} words, hakmem {} ({})",
        counts.len(),
        hakmem::version(),
        hakmem::variant()
    );
    println!("{:?}", hakmem::stats());
    drop((text, counts));
    println!("{} bytes given back", hakmem::purge());
}

#[test]
fn its_blocks_are_of_hakmem() {
    let block = Box::new([0u8; 100]);
    // SAFETY: the block is ours alone.
    assert!(unsafe { hakmem::usable_size(block.as_ptr()) } >= 100);
}
