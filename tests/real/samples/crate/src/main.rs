use std::collections::BTreeMap;
use std::env;
use text::{pairs, Words};

fn main() {
    let count = env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(1000);
    let words: Vec<String> = Words::new(7).take(count).collect();
    let mut lengths: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    for word in &words {
        lengths.entry(word.len()).or_default().push(word);
    }
    for (length, list) in &lengths {
        println!("{length}: {} words, first {}", list.len(), list[0]);
    }
    let mut counts: Vec<(String, usize)> = pairs(words.iter().map(String::as_str)).into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    println!("{:?}", &counts[..10]);
}
