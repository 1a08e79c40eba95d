//! `known_hosts`, compared with the library by which Flux reads it.

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::Mac as _;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngSeed, TestRunner};
use serde::{Deserialize, Serialize};
use sluice_git::{HostKeyProblem, KnownHosts, PublicKey};
use sluice_testbed::tools;

use crate::keys::Vec64;

/// Public keys of every kind, two of the most usual ones.
const KEYS: [&str; 6] = [
    "AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ",
    "AAAAC3NzaC1lZDI1NTE5AAAAIKtQkrPCMTgqKdQTLXmTkpKDzt6Q9nQWhKpSEVsfWXJQ",
    "AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBEmKSENjQEezOmxkZMy7opKgwFB9nkt5YRrYMjNuG5N87uRgg6CLrbo5wAdT/y6v0mKV0U2w0WZ2YB/++Tpockg=",
    "AAAAB3NzaC1yc2EAAAADAQABAAAAQQDVpPnVUJiFEfAnEVKNmjdPZBbZCnYrXgpUq5x2LM3oCGq1u3fZ7kH/0gQZG2rBYg2W8bbNWDWeBkxkFbVRmC3H",
    "AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tAAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJAAAABHNzaDo=",
    "AAAAC3NzaC1lZDI1NTE5AAAAIA",
];

#[derive(Serialize, Debug, Clone)]
#[serde(rename_all = "camelCase")]
struct Case {
    known_hosts: Vec64,
    address: String,
    key: Vec64,
    #[serde(skip)]
    host: String,
    #[serde(skip)]
    port: u16,
}

impl std::fmt::Debug for Vec64 {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{:?}", String::from_utf8_lossy(&self.0))
    }
}

#[derive(Deserialize, Debug)]
struct Verdict {
    verdict: String,
    reason: String,
}

fn case(known_hosts: &[u8], host: &str, port: u16, key: &[u8]) -> Case {
    let address = match host.contains(':') {
        true => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    };
    Case {
        known_hosts: Vec64(known_hosts.to_vec()),
        address,
        key: Vec64(key.to_vec()),
        host: host.to_owned(),
        port,
    }
}

fn judge(case: &Case) -> &'static str {
    let Ok(known) = KnownHosts::parse(&case.known_hosts.0) else {
        return "bad known hosts";
    };
    let Ok(key) = PublicKey::parse(&case.key.0) else {
        return "bad key";
    };
    match known
        .check(&case.host, case.port, &key)
        .map_err(|error| error.problem)
    {
        Ok(()) => "ok",
        Err(HostKeyProblem::Unknown) => "unknown",
        Err(HostKeyProblem::Mismatch) => "mismatch",
        Err(HostKeyProblem::Revoked) => "revoked",
        Err(HostKeyProblem::Certificate(_)) => "certificate",
    }
}

/// Compares verdicts and returns how often each was given; `None` without the oracle.
fn compare(cases: &[Case]) -> Option<std::collections::BTreeMap<&'static str, usize>> {
    let verdicts: Vec<Verdict> = tools::require_or_skip(tools::ask_oracle("known-hosts", cases))?;
    let mut counts = std::collections::BTreeMap::new();
    for (case, verdict) in cases.iter().zip(&verdicts) {
        let ours = judge(case);
        assert_eq!(ours, verdict.verdict, "{case:?}: {}", verdict.reason);
        *counts.entry(ours).or_default() += 1;
    }
    Some(counts)
}

fn key(index: usize) -> Vec<u8> {
    STANDARD.decode(KEYS[index]).unwrap()
}

fn hashed(address: &str, salt: &[u8]) -> String {
    let mut mac = hmac::Hmac::<sha1::Sha1>::new_from_slice(salt).unwrap();
    mac.update(address.as_bytes());
    let hash = mac.finalize().into_bytes();
    format!("|1|{}|{}", STANDARD.encode(salt), STANDARD.encode(hash))
}

#[test]
fn lines_of_every_form_are_judged_as_flux_judges_them() {
    let (a, b, ecdsa) = (KEYS[0], KEYS[1], KEYS[2]);
    let hash = hashed("a.example", b"salt");
    let hash_with_port = hashed("[a.example]:2222", b"salt");
    let hash_of_address = hashed("fe80::1", b"salt");
    let long = "x".repeat(65_600);
    let lines = [
        format!("a.example ssh-ed25519 {a}"),
        format!("a.example ssh-ed25519 {b}\na.example ssh-ed25519 {a}"),
        format!("a.example ssh-ed25519 {a}\na.example ssh-ed25519 {b}"),
        format!("a.example ecdsa-sha2-nistp256 {ecdsa}"),
        format!("[a.example]:2222 ssh-ed25519 {a} comment here"),
        format!("a.example:2222 nonsense {a}"),
        format!("*.example,!b.example k {a}"),
        format!("*.example,!a.example k {a}"),
        format!("!a.example k {a}"),
        format!("? k {a}\na.exampl? k {b}"),
        format!("a.example* k {a}"),
        format!("*a.example k {a}"),
        format!("* k {a}"),
        format!("[*]:2222 k {a}"),
        format!(",,a.example,, k {a}"),
        format!("{hash} k {a}"),
        format!("{hash_with_port} k {a}"),
        format!("{hash_of_address} k {a}\n[fe80::1]:2222 k {a}\n[fe80::1]:22 k {b}"),
        format!("fe80::1 k {a}"),
        format!("|1|{}|{} k {a}", STANDARD.encode("s"), STANDARD.encode("short")),
        format!("|2|c2FsdA==|c2FsdA== k {a}"),
        format!("|1|c2FsdA== k {a}"),
        format!("|1|!|c2FsdA== k {a}"),
        format!("@revoked * k {a}\na.example k {a}"),
        format!("@revoked nothing k {a}"),
        format!("@cert-authority *.example k {a}"),
        format!("@cert-authority *.example k {b}\na.example k {a}"),
        format!("@unknown a.example k {a}"),
        format!("  \t a.example \t k \t {a}  \u{a0}"),
        format!("# comment\n\n   # another\r\na.example k {a}\r\n"),
        format!("#comment\u{2003}\n\u{2003}a.example k {a}"),
        format!("a.example k {a}\nbroken"),
        "a.example k".to_owned(),
        "a.example".to_owned(),
        "@revoked".to_owned(),
        "@cert-authority a.example".to_owned(),
        format!("a.example k {}", KEYS[5]),
        format!("a.example k {}", KEYS[4]),
        format!("a.example k {}=", KEYS[1]),
        "a.example k AAAA".to_owned(),
        format!("[a.example k {a}"),
        format!("[a.example] k {a}"),
        format!("[a.example]2222 k {a}"),
        format!("[a.example]:22:22 k {a}"),
        format!("[a.example]: k {a}"),
        format!("a.example: k {a}"),
        format!("! k {a}"),
        format!("!,a.example k {a}"),
        format!("{long} k {a}"),
        format!("# {long}\na.example k {a}"),
        String::new(),
    ];
    let mut cases = Vec::new();
    for text in &lines {
        for (host, port) in [
            ("a.example", 22),
            ("a.example", 2222),
            ("b.example", 22),
            ("fe80::1", 22),
            ("fe80::1", 2222),
            ("A.example", 22),
        ] {
            for index in 0..3 {
                cases.push(case(text.as_bytes(), host, port, &key(index)));
            }
        }
    }
    let Some(counts) = compare(&cases) else { return };
    for verdict in ["ok", "unknown", "mismatch", "revoked", "bad known hosts"] {
        assert!(counts.get(verdict).is_some_and(|count| *count > 10), "{counts:?}");
    }
}

/// Hosts that patterns have a chance to match.
fn host() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => prop::sample::select(vec!["a", "b", "a.b", "10.0.0.1", "fe80::1"]).prop_map(str::to_owned),
        2 => "[ab]{1,3}(\\.[ab]{1,2})?",
        1 => "[ab*?!,]{1,4}",
    ]
}

fn port() -> impl Strategy<Value = u16> {
    prop_oneof![9 => Just(22_u16), 3 => Just(2222_u16), 1 => any::<u16>()]
}

fn pattern() -> impl Strategy<Value = String> {
    let plain = prop_oneof!["[ab*?.]{1,5}", host(), Just("*".to_owned())];
    let with_port =
        (prop_oneof!["[ab*?.]{1,4}", host()], port()).prop_map(|(host, port)| format!("[{host}]:{port}"));
    let colon = (host(), port()).prop_map(|(host, port)| format!("{host}:{port}"));
    (
        prop_oneof![12 => plain, 6 => with_port, 2 => colon, 1 => "[ab\\[\\]:!22]{1,6}"],
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(pattern, first, second)| match first && second {
            true => format!("!{pattern}"),
            false => pattern,
        })
}

fn hosts_field() -> impl Strategy<Value = String> {
    let salt = prop::collection::vec(any::<u8>(), 0..24);
    let address = (host(), port()).prop_map(|(host, port)| match port {
        22 => host,
        port => format!("[{host}]:{port}"),
    });
    prop_oneof![
        12 => prop::collection::vec(pattern(), 1..4).prop_map(|patterns| patterns.join(",")),
        9 => (address, salt).prop_map(|(address, salt)| hashed(&address, &salt)),
        1 => "\\|[12]?\\|[A-Za-z0-9+/=]{0,8}\\|[A-Za-z0-9+/=]{0,8}",
    ]
}

fn line() -> impl Strategy<Value = String> {
    let marker = prop_oneof![
        6 => Just(""),
        1 => Just("@revoked "),
        1 => Just("@cert-authority "),
        1 => Just("@other "),
    ];
    let blob = prop_oneof![
        60 => prop::sample::select(&KEYS[..5]).prop_map(str::to_owned),
        1 => (0_usize..5, any::<prop::sample::Index>(), any::<u8>()).prop_map(|(index, place, value)| {
            let mut bytes = key(index);
            let place = place.index(bytes.len());
            bytes[place] = value;
            STANDARD.encode(bytes)
        }),
        1 => "[A-Za-z0-9+/=]{0,20}",
    ];
    let gap = prop_oneof![30 => Just(" "), 1 => Just("\t"), 1 => Just("  \t"), 1 => Just("\u{b}"), 1 => Just("\u{a0}")];
    let end = prop_oneof![5 => Just(""), 1 => Just("\r"), 1 => Just(" comment"), 1 => Just(" \u{2028}")];
    prop_oneof![
        40 => (marker, hosts_field(), gap.clone(), blob, gap, end)
            .prop_map(|(marker, hosts, first, blob, second, end)| {
                format!("{marker}{hosts}{first}ssh-ed25519{second}{blob}{end}")
            }),
        1 => Just(String::new()),
        1 => "[# ]{1,3}[a-z ]{0,9}",
        1 => "\\PC{0,12}",
    ]
}

fn random_case() -> impl Strategy<Value = Case> {
    let bytes = (
        prop::collection::vec(line(), 0..4),
        prop::option::weighted(0.1, (any::<prop::sample::Index>(), any::<u8>())),
    )
        .prop_map(|(lines, change)| {
            let mut bytes = lines.join("\n").into_bytes();
            if let Some((place, value)) = change.filter(|_| !bytes.is_empty()) {
                let place = place.index(bytes.len());
                bytes[place] = value;
            }
            bytes
        });
    (bytes, host(), port(), 0_usize..5)
        .prop_map(|(bytes, host, port, index)| case(&bytes, &host, port, &key(index)))
}

/// `SLUICE_FUZZ_SECONDS` makes this go on for so long, from a seed of the clock, and print how far it came.
#[test]
fn random_lines_are_judged_as_flux_judges_them() {
    let seconds = std::env::var("SLUICE_FUZZ_SECONDS")
        .ok()
        .and_then(|text| text.parse().ok());
    let seed = match seconds {
        Some(_) => RngSeed::Random,
        None => RngSeed::Fixed(42),
    };
    let mut runner = TestRunner::new(proptest::test_runner::Config {
        rng_seed: seed,
        ..Default::default()
    });
    let began = Instant::now();
    let limit = seconds.map_or(Duration::ZERO, Duration::from_secs);
    let strategy = random_case();
    let mut total = std::collections::BTreeMap::<&str, usize>::new();
    loop {
        let cases: Vec<Case> = (0..2_000)
            .map(|_| strategy.new_tree(&mut runner).unwrap().current())
            .collect();
        let Some(counts) = compare(&cases) else { return };
        for (verdict, count) in counts {
            *total.entry(verdict).or_default() += count;
        }
        if began.elapsed() >= limit {
            break;
        }
    }
    if seconds.is_some() {
        use std::io::Write as _;
        writeln!(
            std::io::stderr(),
            "known_hosts: {total:?} in {:?}",
            began.elapsed()
        )
        .unwrap();
    }
    for verdict in ["ok", "unknown", "mismatch", "bad known hosts"] {
        assert!(total.get(verdict).is_some_and(|count| *count > 20), "{total:?}");
    }
}

/// A pattern over which Go's matcher thinks for years.
#[test]
fn patterns_are_matched_in_bounded_time() {
    let pattern = "*a".repeat(30_000);
    let text = format!("{pattern}b k {}", KEYS[0]);
    let known = KnownHosts::parse(text.as_bytes()).unwrap();
    let host = "a".repeat(255);
    let began = Instant::now();
    let error = known
        .check(&host, 22, &PublicKey::parse(&key(0)).unwrap())
        .unwrap_err();
    assert_eq!(error.problem, HostKeyProblem::Unknown);
    assert!(began.elapsed() < Duration::from_secs(30));
}

proptest! {
    #[test]
    fn no_bytes_make_the_parsers_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = KnownHosts::parse(&bytes);
        let _ = PublicKey::parse(&bytes);
        let line = [b"a.example k ".as_slice(), STANDARD.encode(&bytes).as_bytes()].concat();
        let _ = KnownHosts::parse(&line);
    }
}
