//! A program whose global allocator is hakmem: collections, threads, figures.

use std::collections::{BTreeMap, HashMap};
use std::sync::mpsc;
use std::thread;

#[global_allocator]
static GLOBAL: hakmem::Hakmem = hakmem::Hakmem;

fn is_ours<T: ?Sized>(block: *const T) -> bool {
    unsafe { hakmem::usable_size(block.cast()) > 0 }
}

/// A small generator: the same numbers in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

#[test]
fn collections_live_in_hakmem() {
    let vector: Vec<u32> = (0..1000).collect();
    let text = String::from("a text on the heap");
    let boxed: Box<dyn Fn(u32) -> u32> = Box::new(move |at| vector[at as usize] + 1);
    assert!(is_ours(text.as_ptr()) && is_ours(&*boxed));
    assert_eq!(boxed(41), 42);
}

#[test]
fn a_workload_of_maps_and_strings() {
    let mut numbers = Numbers(88172645463325252);
    let mut hashed: HashMap<String, Vec<u64>> = HashMap::new();
    let mut ordered: BTreeMap<u64, String> = BTreeMap::new();
    let mut sum = 0u64;
    for step in 0..60_000u64 {
        let key = numbers.below(3000);
        hashed.entry(format!("key {key}")).or_default().push(step);
        sum += step;
        ordered.insert(
            key,
            "x".repeat(numbers.below(600) as usize) + &step.to_string(),
        );
        if step % 3 == 0 {
            if let Some(gone) = hashed.remove(&format!("key {}", numbers.below(3000))) {
                sum -= gone.iter().sum::<u64>();
            }
        }
    }
    assert_eq!(hashed.values().flatten().sum::<u64>(), sum);
    assert!(ordered
        .values()
        .all(|text| text.trim_start_matches('x').parse::<u64>().is_ok()));
}

#[test]
fn over_aligned_values() {
    #[repr(align(256))]
    #[derive(Clone, Copy)]
    struct Wide([u8; 300]);
    let mut wide = Vec::new();
    for number in 0..2000u32 {
        wide.push(Wide([number as u8; 300]));
        assert_eq!(wide.as_ptr() as usize % 256, 0);
    }
    wide.truncate(3);
    wide.shrink_to_fit();
    assert!(is_ours(wide.as_ptr()) && wide.as_ptr() as usize % 256 == 0);
    assert!((0..3).all(|number| wide[number].0.iter().all(|&byte| byte == number as u8)));
}

#[test]
fn threads_free_the_blocks_of_others() {
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..4)
        .map(|_| mpsc::sync_channel::<(u64, Vec<u8>)>(64))
        .unzip();
    thread::scope(|scope| {
        for receiver in receivers {
            scope.spawn(move || {
                let mut count = 0u64;
                for (seed, bytes) in receiver {
                    assert!(bytes.iter().all(|&byte| byte == seed as u8));
                    count += 1;
                }
                assert_eq!(count, 4 * 5000);
            });
        }
        for number in 1..=4u64 {
            let senders = senders.clone();
            scope.spawn(move || {
                let mut numbers = Numbers(number.wrapping_mul(0x9e3779b97f4a7c15));
                for sender in senders.iter().cycle().take(4 * 5000) {
                    let seed = numbers.below(1 << 30);
                    sender
                        .send((seed, vec![seed as u8; 1 + seed as usize % 1500]))
                        .unwrap();
                }
            });
        }
        drop(senders);
    });
}

#[test]
fn figures_follow_what_is_live() {
    const BYTES: u64 = 200 << 20;
    let before = hakmem::stats();
    let large = vec![1u8; BYTES as usize];
    let with = hakmem::stats();
    assert!(
        with.live_bytes >= before.live_bytes + BYTES - (32 << 20),
        "{before:?} {with:?}"
    );
    assert!(with.metadata_bytes > 0 && with.mapped_bytes >= BYTES);
    drop(large);
    hakmem::purge();
    let after = hakmem::stats();
    assert!(
        after.live_bytes + BYTES / 2 < with.live_bytes,
        "{with:?} {after:?}"
    );
}
