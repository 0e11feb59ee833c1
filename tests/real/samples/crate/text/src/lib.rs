//! Seeded random words and what can be counted in them.

use std::collections::{BTreeMap, HashMap};

pub struct Words {
    state: u64,
}

impl Words {
    pub fn new(seed: u64) -> Self {
        Words { state: seed }
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.state = self.state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.state >> 33) % below
    }
}

impl Iterator for Words {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let length = 2 + self.draw(6);
        Some((0..length).map(|_| char::from(b'a' + self.draw(26) as u8)).collect())
    }
}

/// How often each pair of letters occurs.
pub fn pairs<'a>(words: impl Iterator<Item = &'a str>) -> BTreeMap<String, usize> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for word in words {
        for pair in word.as_bytes().windows(2) {
            *counts.entry(String::from_utf8_lossy(pair).into_owned()).or_default() += 1;
        }
    }
    counts.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_pairs() {
        assert_eq!(pairs(["abab"].into_iter())["ab"], 2);
    }
}
