//! Private keys, compared with what Go's library makes of them, and tried on a server.

use std::process::Command;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde::{Deserialize, Serialize};
use sluice_git::{ErrorKind, PrivateKey, PrivateKeyError, Secret, SshCredentials, is_encrypted};
use sluice_testbed::ssh::{KeyPair, SshServerOptions};
use sluice_testbed::tools;

use crate::Bench;

/// Every kind of key.
const KINDS: [&[&str]; 5] = [
    &["-t", "ed25519"],
    &["-t", "ecdsa", "-b", "256"],
    &["-t", "ecdsa", "-b", "384"],
    &["-t", "ecdsa", "-b", "521"],
    &["-t", "rsa", "-b", "2048"],
];

const PASSPHRASE: &str = "correct horse";

#[derive(Serialize, Clone)]
struct Case {
    pem: Vec64,
    passphrase: String,
}

/// Bytes that JSON carries as base64, as Go does.
#[derive(Clone)]
pub(crate) struct Vec64(pub(crate) Vec<u8>);

impl Serialize for Vec64 {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use base64::Engine as _;
        serializer.serialize_str(&base64::engine::general_purpose::STANDARD.encode(&self.0))
    }
}

#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
struct Verdict {
    public_key: String,
    error: String,
}

fn case(pem: impl Into<Vec<u8>>, passphrase: &str) -> Case {
    Case {
        pem: Vec64(pem.into()),
        passphrase: passphrase.to_owned(),
    }
}

fn parse(case: &Case) -> Result<PrivateKey, PrivateKeyError> {
    PrivateKey::parse(&case.pem.0, Some(case.passphrase.as_bytes()))
}

/// Compares ours with the oracle's; returns how many keys were good. Ours may refuse keys that Go takes only if they
/// are damaged: Go does not look whether both halves in a file belong together.
fn compare(cases: &[Case], are_damaged: bool) -> Option<usize> {
    let verdicts: Vec<Verdict> = tools::require_or_skip(tools::ask_oracle("ssh-keys", cases))?;
    let mut good = 0;
    for (case, verdict) in cases.iter().zip(&verdicts) {
        let text = String::from_utf8_lossy(&case.pem.0);
        match parse(case) {
            // What can be computed from the rest of an RSA key is computed, not believed.
            Ok(_) if verdict.error.contains("CRT") => {}
            Ok(key) => {
                let public = key.public_key().unwrap();
                assert_eq!(
                    format!("{public}\n"),
                    verdict.public_key,
                    "{text}\n{}",
                    verdict.error
                );
                good += 1;
            }
            Err(error) => assert!(are_damaged || !verdict.error.is_empty(), "{error}\n{text}"),
        }
    }
    Some(good)
}

/// Runs openssl, which reads from its standard input.
fn openssl(arguments: &[&str], input: &[u8]) -> Vec<u8> {
    tools::pipe(
        Command::new(tools::system("openssl").unwrap()).args(arguments),
        input.to_vec(),
    )
    .unwrap()
}

/// Each kind of key in each form that ssh-keygen and openssl write.
fn all_forms() -> Vec<(String, Case)> {
    let mut forms = Vec::new();
    for kind in KINDS {
        for passphrase in ["", PASSPHRASE] {
            for format in ["RFC4716", "PEM", "PKCS8"] {
                let arguments = [kind, &["-m", format]].concat();
                let pair = KeyPair::generate(&arguments, passphrase).unwrap();
                forms.push((
                    format!("{arguments:?} {passphrase}"),
                    case(pair.private, passphrase),
                ));
            }
        }
    }
    for cipher in ["aes256-cbc", "aes256-ctr", "aes128-ctr", "aes256-gcm@openssh.com"] {
        let arguments = ["-t", "ed25519", "-Z", cipher, "-a", "2"];
        let pair = KeyPair::generate(&arguments, PASSPHRASE).unwrap();
        forms.push((cipher.to_owned(), case(pair.private, PASSPHRASE)));
    }
    let rsa = openssl(&["genrsa", "-traditional", "2048"], b"");
    let curve = openssl(&["ecparam", "-name", "secp384r1", "-genkey", "-noout"], b"");
    for (kind, key) in [("rsa", &rsa), ("ec", &curve)] {
        for cipher in ["-aes128", "-aes192", "-aes256", "-des3"] {
            let pass = format!("pass:{PASSPHRASE}");
            let arguments = match kind {
                "rsa" => vec!["rsa", "-traditional", cipher, "-passout", pass.as_str()],
                kind => vec![kind, cipher, "-passout", pass.as_str()],
            };
            forms.push((
                format!("{kind} {cipher}"),
                case(openssl(&arguments, key), PASSPHRASE),
            ));
        }
        forms.push((
            format!("{kind} pkcs8"),
            case(openssl(&["pkcs8", "-topk8", "-nocrypt"], key), ""),
        ));
    }
    let parameters = openssl(&["ecparam", "-name", "prime256v1", "-genkey"], b"");
    forms.push(("parameters before the key".to_owned(), case(parameters, "")));
    let other_curve = openssl(&["ecparam", "-name", "secp256k1", "-genkey", "-noout"], b"");
    forms.push(("another curve".to_owned(), case(other_curve, "")));
    forms
}

// SRC-002
#[test]
fn every_form_of_every_kind_is_read_as_go_reads_it() {
    let forms = all_forms();
    let mut cases: Vec<Case> = forms.iter().map(|(_, case)| case.clone()).collect();
    for (_, form) in &forms {
        cases.push(case(form.pem.0.clone(), ""));
        cases.push(case(form.pem.0.clone(), "wrong"));
        cases.push(case(
            [b"before\n", form.pem.0.as_slice(), b"after"].concat(),
            PASSPHRASE,
        ));
        let windows = String::from_utf8_lossy(&form.pem.0).replace('\n', "\r\n");
        cases.push(case(windows, PASSPHRASE));
    }
    let Some(good) = compare(&cases, false) else {
        return;
    };
    assert!(good > 60, "{good} of {} keys are good", cases.len());
}

/// A key whose number begins with a zero byte, which ssh-keygen leaves out, as it does for one key of 256.
const SHORT_NUMBER: &str = "-----BEGIN OPENSSH PRIVATE KEY-----
b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAaAAAABNlY2RzYS
1zaGEyLW5pc3RwMjU2AAAACG5pc3RwMjU2AAAAQQSoLinKeWGiJ8rZ7BHHJRA7dFZ+m/oG
oHSqyvr6A6OAXeAr9LL2wbFfX4IettE8ohpSpaGlQKqdzBEa+W6rKIYOAAAAoBp2+Twadv
k8AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBKguKcp5YaInytns
EcclEDt0Vn6b+gagdKrK+voDo4Bd4Cv0svbBsV9fgh620TyiGlKloaVAqp3MERr5bqsohg
4AAAAfPWCYtAqrxEX293HPpxVyNhcyhepKHKSHzSXSYMTUGwAAAAR0ZXN0AQIDBAU=
-----END OPENSSH PRIVATE KEY-----
";

// SRC-002
#[test]
fn a_number_that_begins_with_a_zero_byte_is_whole() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("key");
    std::fs::write(&file, SHORT_NUMBER).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let encrypted = Command::new(tools::system("ssh-keygen").unwrap())
        .args(["-q", "-p", "-P", "", "-a", "2", "-N", PASSPHRASE, "-f"])
        .arg(&file)
        .status()
        .unwrap();
    assert!(encrypted.success());
    let encrypted = std::fs::read_to_string(&file).unwrap();
    let cases = [
        case(SHORT_NUMBER, ""),
        case(encrypted.clone(), PASSPHRASE),
        case(encrypted.clone(), "wrong"),
        case(encrypted, ""),
    ];
    assert!(compare(&cases, false).is_none_or(|good| good == 2));
    assert_eq!(parse(&cases[2]), Err(PrivateKeyError::Passphrase));
    assert_eq!(parse(&cases[3]), Err(PrivateKeyError::PassphraseMissing));
}

// SRC-002
#[test]
fn keys_of_every_kind_and_form_open_the_door() {
    let Some(bench) = Bench::start(&SshServerOptions::default()) else {
        return;
    };
    bench.repository.commit("first", 1_700_000_000);
    let mut tried = 0;
    for (name, form) in all_forms() {
        let Ok(key) = parse(&form) else { continue };
        bench
            .server
            .authorize(&key.public_key().unwrap().to_string())
            .unwrap();
        let credentials = SshCredentials {
            identity: Secret::new(form.pem.0.as_slice()),
            passphrase: Some(Secret::new(form.passphrase.as_bytes())),
            ..bench.credentials()
        };
        let fetched = bench.fetch(&bench.remote_with(credentials));
        assert!(fetched.is_ok(), "{name}: {:?}", fetched.err());
        tried += 1;
    }
    assert!(tried > 25, "{tried}");
}

#[test]
fn rsa_keys_sign_with_what_the_server_takes() {
    for accepted in ["rsa-sha2-512", "rsa-sha2-256"] {
        let line: &'static str = match accepted {
            "rsa-sha2-512" => "PubkeyAcceptedAlgorithms rsa-sha2-512",
            _ => "PubkeyAcceptedAlgorithms rsa-sha2-256",
        };
        let Some(bench) = Bench::start(&SshServerOptions {
            lines: vec![line],
            ..SshServerOptions::default()
        }) else {
            return;
        };
        bench.repository.commit("first", 1_700_000_000);
        let pair = KeyPair::generate(&["-t", "rsa", "-b", "2048"], "").unwrap();
        bench.server.authorize(&pair.public).unwrap();
        let credentials = SshCredentials {
            identity: Secret::new(pair.private.as_str()),
            ..bench.credentials()
        };
        bench.fetch(&bench.remote_with(credentials)).unwrap();
    }
}

#[test]
fn keys_that_cannot_be_used_say_so_as_in_flux() {
    let locked = KeyPair::generate(&["-t", "ed25519"], PASSPHRASE).unwrap().private;
    let old = KeyPair::generate(&["-t", "rsa", "-b", "2048", "-m", "PEM"], PASSPHRASE)
        .unwrap()
        .private;
    let pkcs8 = KeyPair::generate(&["-t", "rsa", "-b", "2048", "-m", "PKCS8"], PASSPHRASE)
        .unwrap()
        .private;
    let missing = "ssh: this private key is passphrase protected";
    let wrong = "x509: decryption password incorrect";
    for (pem, passphrase, expected) in [
        ("nonsense", "", "ssh: no key found"),
        (locked.as_str(), "", missing),
        (old.as_str(), "", missing),
        (locked.as_str(), "wrong", wrong),
        (old.as_str(), "wrong", wrong),
        (
            pkcs8.as_str(),
            PASSPHRASE,
            "ssh: unsupported key type \"ENCRYPTED PRIVATE KEY\"",
        ),
    ] {
        let error = PrivateKey::parse(pem.as_bytes(), Some(passphrase.as_bytes())).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    assert!(is_encrypted(locked.as_bytes()) && is_encrypted(old.as_bytes()));
    assert!(!is_encrypted(b"nonsense") && !is_encrypted(pkcs8.as_bytes()));
    let url = "ssh://git@127.0.0.1:1/repo";
    let credentials = SshCredentials {
        user: "git".to_owned(),
        identity: Secret::new("nonsense"),
        passphrase: None,
        known_hosts: Vec::new(),
        algorithms: sluice_git::SshAlgorithms::default(),
    };
    let error =
        sluice_git::list_references(&crate::remote(url, credentials), &[], &crate::budget()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert_eq!(
        error.to_string(),
        "unable to construct auth method with options: ssh: no key found"
    );
}

#[test]
fn key_that_asks_for_endless_work_is_refused() {
    use base64::Engine as _;
    let standard = base64::engine::general_purpose::STANDARD;
    let pair = KeyPair::generate(&["-t", "ed25519", "-a", "3"], PASSPHRASE).unwrap();
    let body: String = pair
        .private
        .lines()
        .filter(|line| !line.starts_with('-'))
        .collect();
    let mut bytes = standard.decode(body).unwrap();
    // The salt of sixteen bytes stands between its length and the rounds.
    let place = bytes
        .windows(4)
        .position(|window| window == [0, 0, 0, 16])
        .unwrap()
        + 20;
    assert_eq!(bytes[place..place + 4], [0, 0, 0, 3]);
    bytes[place..place + 4].copy_from_slice(&[0xff; 4]);
    let pem = format!(
        "-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n-----END OPENSSH PRIVATE KEY-----\n",
        standard.encode(&bytes)
    );
    let error = PrivateKey::parse(pem.as_bytes(), Some(PASSPHRASE.as_bytes())).unwrap_err();
    assert!(error.to_string().contains("4294967295 rounds"), "{error}");
}

/// Keys with bytes changed, taken out and put in, in the text or below the base64.
fn damaged(keys: Vec<String>) -> impl Strategy<Value = Vec<u8>> {
    let change = (any::<prop::sample::Index>(), any::<u8>(), 0..3_u8);
    (
        prop::sample::select(keys),
        prop::collection::vec(change, 0..4),
        any::<bool>(),
    )
        .prop_map(|(key, changes, below)| {
            use base64::Engine as _;
            let standard = base64::engine::general_purpose::STANDARD;
            let body: String = key.lines().filter(|line| !line.starts_with('-')).collect();
            match (below, standard.decode(&body)) {
                (true, Ok(mut bytes)) => {
                    apply(&mut bytes, &changes);
                    let first = key.lines().next().unwrap_or_default();
                    let last = first.replace("BEGIN", "END");
                    format!("{first}\n{}\n{last}\n", standard.encode(&bytes)).into_bytes()
                }
                _ => {
                    let mut bytes = key.into_bytes();
                    apply(&mut bytes, &changes);
                    bytes
                }
            }
        })
}

fn apply(bytes: &mut Vec<u8>, changes: &[(prop::sample::Index, u8, u8)]) {
    for (place, value, action) in changes {
        if bytes.is_empty() {
            return;
        }
        let place = place.index(bytes.len());
        match action {
            0 => bytes[place] = *value,
            1 => drop(bytes.remove(place)),
            _ => bytes.insert(place, *value),
        }
    }
}

fn cases_wanted(default: usize) -> usize {
    std::env::var("SLUICE_FUZZ_CASES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

/// Ours accepts no damaged key that Go refuses, and reads from the others the same key; nothing panics.
#[test]
fn damaged_keys_are_read_as_go_reads_them_or_refused() {
    let keys: Vec<String> = KINDS
        .iter()
        .flat_map(|kind| {
            ["RFC4716", "PEM", "PKCS8"].map(|format| {
                KeyPair::generate(&[kind, ["-m", format].as_slice()].concat(), "")
                    .unwrap()
                    .private
            })
        })
        .collect();
    let strategy = damaged(keys);
    let mut runner = TestRunner::deterministic();
    let mut left = cases_wanted(300);
    while left > 0 {
        let batch = left.min(300);
        left -= batch;
        let cases: Vec<Case> = (0..batch)
            .map(|_| case(strategy.new_tree(&mut runner).unwrap().current(), ""))
            .collect();
        if compare(&cases, true).is_none() {
            return;
        }
    }
}

proptest! {
    #[test]
    fn no_text_makes_the_key_parser_panic(text in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = PrivateKey::parse(&text, Some(b"x"));
        let framed = [b"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: ".as_slice(), &text,
            b"\n-----END RSA PRIVATE KEY-----"].concat();
        let _ = PrivateKey::parse(&framed, Some(b"x"));
    }
}
