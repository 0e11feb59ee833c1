//! The ends of threads, and fork: the same with libc's malloc beside hakmem as where hakmem is all there is.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

#[global_allocator]
static GLOBAL: hakmem::Hakmem = hakmem::Hakmem;

extern "C" {
    fn fork() -> c_int;
    fn waitpid(process: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn _exit(status: c_int) -> !;
}

/// The tests measure the whole process: one at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn work(seed: usize) -> Vec<String> {
    (0..200)
        .map(|at| "y".repeat((seed * 7 + at * 13) % 2000))
        .collect()
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// What a thread held serves the next one: 3,000 threads that leave a block each take no more than the first 300.
#[test]
fn threads_that_end_leave_nothing() {
    let _alone = alone();
    let churn = |threads: usize| {
        let mut left = Vec::new();
        for number in 0..threads {
            let one = thread::spawn(move || work(number).swap_remove(number % 200));
            left.push(one.join().unwrap());
        }
        left.truncate(1);
        left
    };
    churn(300);
    let (held, resident) = (hakmem::stats().mapped_bytes, resident_kib());
    churn(3000);
    let (held_after, resident_after) = (hakmem::stats().mapped_bytes, resident_kib());
    assert!(held_after <= held + (16 << 20), "{held} {held_after}");
    assert!(
        resident_after <= resident + (16 << 10),
        "{resident} {resident_after}"
    );
}

/// Values of thread-local storage are dropped when the thread ends, and allocate while they are.
#[test]
fn thread_locals_allocate_to_the_last() {
    let _alone = alone();
    struct Last(Vec<String>);
    impl Drop for Last {
        fn drop(&mut self) {
            self.0.extend(work(3));
            assert!(self.0.len() == 400);
        }
    }
    thread_local!(static LAST: Last = Last(work(1)));
    for _ in 0..100 {
        thread::spawn(|| LAST.with(|last| assert_eq!(last.0.len(), 200)))
            .join()
            .unwrap();
    }
}

/// The child frees what its parent had, allocates, starts threads of its own, and ends, while other threads allocate.
///
/// None of them may still be starting: the standard library has a lock for that, which a child would find taken for good.
#[test]
fn forks_of_a_threaded_program() {
    let _alone = alone();
    let stop = AtomicBool::new(false);
    let rounds = AtomicUsize::new(0);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..3)
            .map(|seed| {
                let (stop, rounds) = (&stop, &rounds);
                scope.spawn(move || {
                    let mut left = 100;
                    while !stop.load(Ordering::Relaxed) {
                        assert_eq!(work(seed).len(), 200);
                        rounds.fetch_add(left.min(1), Ordering::Relaxed);
                        left = left.saturating_sub(1);
                    }
                })
            })
            .collect();
        while rounds.load(Ordering::Relaxed) < 300 {
            assert!(workers.iter().all(|worker| !worker.is_finished()));
            thread::yield_now();
        }
        for round in 0..60 {
            let mut inherited = Some(work(round));
            let child = unsafe { fork() };
            assert!(child >= 0);
            if child == 0 {
                let counted = inherited.take().map_or(0, |texts| texts.len());
                let own = work(round + 1).len();
                let of_thread = thread::Builder::new()
                    .spawn(move || work(round).len())
                    .map_or(0, |one| one.join().unwrap_or(0));
                unsafe { _exit(i32::from(counted + own + of_thread != 600)) };
            }
            let mut status = 0;
            assert_eq!(unsafe { waitpid(child, &mut status, 0) }, child);
            assert_eq!(status, 0, "round {round}");
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// What was freed goes home without a call: the thread that sees to it runs in a program that has hakmem built in.
#[test]
fn freed_memory_goes_home_by_itself() {
    let _alone = alone();
    const MIB: u64 = 1 << 20;
    let many: Vec<Vec<u8>> = (0..200_000).map(|_| vec![1; 500]).collect();
    let with = resident_kib() * 1024;
    drop(many);
    let waited = (0..400).any(|_| {
        thread::sleep(std::time::Duration::from_millis(50));
        resident_kib() * 1024 + 70 * MIB < with
    });
    assert!(waited, "{with} {}", resident_kib() * 1024);
}
