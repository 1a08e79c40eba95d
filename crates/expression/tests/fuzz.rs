//! Mutated expressions for as long as one likes:
//! `SLUICE_FUZZ_SECONDS=600 cargo test --release -p sluice-expression --test fuzz -- --nocapture`; a few seconds
//! otherwise.
#[path = "oracle/cases.rs"]
mod cases;

use std::time::{Duration, Instant};

use serde_json::json;
use sluice_expression::{Expression, Output};

/// A generator of numbers: xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit.max(1) as u64).unwrap_or_default()
    }

    fn pick<'a>(&mut self, seeds: &[&'a str]) -> &'a str {
        seeds[self.below(seeds.len())]
    }

    /// A place between two characters.
    fn place(&mut self, text: &str) -> usize {
        let mut at = self.below(text.len() + 1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    }

    fn mutate(&mut self, seeds: &[&str], text: &str) -> String {
        let (first, second) = (self.place(text), self.place(text));
        let (from, to) = (first.min(second), first.max(second));
        let other = self.pick(seeds);
        match self.below(7) {
            0 => format!("{}{}", &text[..from], &text[to..]),
            1 => format!("{}{}{}", &text[..to], &text[from..to], &text[to..]),
            2 => format!("{}{other}{}", &text[..from], &text[to..]),
            3 => format!("({text}).map(x, {other})"),
            4 => format!("[{text}, {other}].filter(y, {text} == y)"),
            5 => text.replacen(other, "x", 1),
            _ => {
                let signs = [
                    "(", ")", "[", "]", "{", "}", ".", ",", "?", "'", "\\", "0", "x", " in ", "-", "u", "%",
                    "ü", "\0", "`",
                ];
                format!("{}{}{}", &text[..from], self.pick(&signs), &text[from..])
            }
        }
    }
}

#[test]
fn mutated_expressions_are_taken_or_refused() {
    let seconds = std::env::var("SLUICE_FUZZ_SECONDS")
        .ok()
        .and_then(|text| text.parse().ok());
    let time = Duration::from_secs(seconds.unwrap_or(3));
    let seeds: Vec<&str> = [cases::VALUES, cases::ERRORS, cases::BROKEN].concat();
    let object = json!({
        "self": {"metadata": {"name": "a"}}, "dep": {"status": {"conditions": [{"type": "Ready"}], "n": [1, 2.5, null, "ü"]}},
        "spec": {"names": ["a", "b"], "replicas": 3, "word": "Grüße"}, "status": {"phase": "Done"}, "x": [1, 2, 3],
    });
    let seed = std::env::var("SLUICE_SEED")
        .ok()
        .and_then(|text| text.parse().ok());
    let mut random = Random(seed.unwrap_or(0x5eed_1234_5678_9abc));
    let began = Instant::now();
    let (mut runs, mut compiled, mut valued, mut slowest) = (0_u64, 0_u64, 0_u64, Duration::ZERO);
    while began.elapsed() < time {
        let mut text = random.pick(&seeds).to_owned();
        for _ in 0..=random.below(6) {
            text = random.mutate(&seeds, &text);
            if text.len() > 4000 {
                break;
            }
        }
        let start = Instant::now();
        let parsed = Expression::parse(&text);
        let checked = Expression::compile(&text, &["self", "dep"], Output::Any);
        for expression in [parsed, checked].into_iter().flatten() {
            compiled += 1;
            valued += u64::from(expression.print_fields(&object).is_ok());
        }
        slowest = slowest.max(start.elapsed());
        runs += 1;
    }
    eprintln!("{runs} texts, {compiled} compiled, {valued} with a value, the slowest took {slowest:?}");
    assert!(valued > 0 && compiled < 2 * runs);
}
