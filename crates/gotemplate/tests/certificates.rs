//! Keys and certificates, read and described by Go's own library: those of sprig and ours say the same.
#![allow(clippy::unwrap_used, reason = "tests fail this way")]

mod support;

use serde_json::{Value, json};
use support::oracle;

/// Puts a certificate and its key into the output.
const SHOW: &str = "{{ define \"show\" }}{{ .Cert }}{{ .Key }}{{ end }}";

const TEMPLATES: &[&str] = &[
    "{{ genPrivateKey \"\" }}",
    "{{ genPrivateKey \"dsa\" }}",
    "{{ genPrivateKey \"ecdsa\" }}{{ genPrivateKey \"ed25519\" }}",
    // Names that need other kinds of text, or none at all.
    "{{ template \"show\" genCA \"ca.example.com\" 365 }}{{ template \"show\" genCA \"*.example.com\" 36500 }}\
     {{ template \"show\" genCA \"Ümlaut & Co\" 0 }}{{ template \"show\" genCA \"\" -1 }}",
    "{{ template \"show\" genSelfSignedCert \"a.example.com\" (list \"127.0.0.1\" \"::1\" \"::ffff:10.0.0.1\") \
     (list \"a\" \"*.b.example.com\" \"\") 100 }}",
    "{{ template \"show\" genSelfSignedCert \"\" (list) (list \"a\") 10000 }}",
    // A chain; the second authority has the name of the first, so that no key id is written.
    "{{ $ca := genCA \"ca\" 365 }}{{ template \"show\" $ca }}\
     {{ template \"show\" genSignedCert \"a\" (list \"10.0.0.1\") (list \"a.svc\" \"a.svc.cluster.local\") 365 $ca }}\
     {{ template \"show\" genSignedCert \"ca\" nil nil 365 $ca }}\
     {{ $leaf := genSignedCert \"leaf\" nil nil 365 $ca }}\
     {{ template \"show\" $leaf }}{{ template \"show\" genSignedCert \"below\" nil nil 1 $leaf }}",
    // Every kind of key signs every kind of key.
    "{{ $kinds := list \"ecdsa\" \"ed25519\" \"rsa\" }}{{ range $kinds }}{{ $ca := genCAWithKey \"ca\" 9 (genPrivateKey .) }}\
     {{ template \"show\" $ca }}{{ range $kinds }}\
     {{ template \"show\" genSignedCertWithKey \"a\" nil (list \"a\") 9 $ca (genPrivateKey .) }}{{ end }}\
     {{ template \"show\" genSelfSignedCertWithKey \"b\" nil (list \"b\") 9 $ca.Key }}{{ end }}",
    // Keys of kinds that no function makes, without their public halves, one with too short a number.
    "{{ $keys := list (list \"EC PRIVATE KEY\" (print \"\\x30\\x3e\\x02\\x01\\x01\\x04\\x30\" (repeat 48 \"k\") \
     \"\\xa0\\x07\\x06\\x05\\x2b\\x81\\x04\\x00\\x22\")) \
     (list \"PRIVATE KEY\" (print \"\\x30\\x60\\x02\\x01\\x00\\x30\\x10\\x06\\x07\\x2a\\x86\\x48\\xce\\x3d\\x02\\x01\\x06\\x05\\x2b\
     \\x81\\x04\\x00\\x23\\x04\\x49\\x30\\x47\\x02\\x01\\x01\\x04\\x42\\x00\" (repeat 65 \"k\"))) \
     (list \"PRIVATE KEY\" (print \"\\x30\\x40\\x02\\x01\\x00\\x30\\x13\\x06\\x07\\x2a\\x86\\x48\\xce\\x3d\\x02\\x01\\x06\\x08\\x2a\
     \\x86\\x48\\xce\\x3d\\x03\\x01\\x07\\x04\\x26\\x30\\x24\\x02\\x01\\x01\\x04\\x1f\" (repeat 31 \"k\"))) }}\
     {{ range $keys }}{{ $key := printf \"-----BEGIN %s-----\\n%s\\n-----END %[1]s-----\\n\" (first .) (last . | b64enc) }}\
     {{ $ca := genCAWithKey \"ca\" 9 $key }}{{ template \"show\" $ca }}\
     {{ template \"show\" genSignedCertWithKey \"a\" nil (list \"a\") 9 $ca $key }}\
     {{ template \"show\" buildCustomCert (b64enc $ca.Cert) (b64enc $key) }}{{ end }}",
];

fn describe(texts: &[String]) -> Option<Vec<Value>> {
    oracle::run("certificates", serde_json::to_vec(texts).unwrap())
        .map(|answer| serde_json::from_slice(&answer).unwrap())
}

#[test]
fn keys_and_certificates_say_what_those_of_sprig_say() {
    let data = json!({});
    let templates: Vec<String> = TEMPLATES
        .iter()
        .map(|template| format!("{SHOW}{template}"))
        .collect();
    let cases: Vec<Value> = templates
        .iter()
        .map(|template| json!({"template": template, "data": data, "library": "helm"}))
        .collect();
    let Some(answers) = oracle::ask(&cases) else {
        return;
    };
    let theirs: Vec<String> = answers
        .iter()
        .map(|answer| oracle::outcome(answer).unwrap())
        .collect();
    let ours: Vec<String> = templates
        .iter()
        .map(|template| support::render_chart(template, &data).unwrap())
        .collect();
    let theirs = describe(&theirs).unwrap();
    let ours = describe(&ours).unwrap();
    for (template, (theirs, ours)) in TEMPLATES.iter().zip(theirs.iter().zip(&ours)) {
        let blocks = theirs.as_array().unwrap();
        assert!(!blocks.is_empty(), "{template}");
        assert!(
            blocks.iter().all(|block| block["err"].is_null()),
            "{template}\n{theirs:#}"
        );
        assert_eq!(ours, theirs, "{template}");
    }
}

#[test]
fn a_seed_gives_the_same_keys_and_certificates() {
    let template = "{{ genPrivateKey \"ecdsa\" }}{{ genPrivateKey \"ed25519\" }}{{ genCA \"ca\" 1 }}";
    let first = support::render_seeded(template, 1);
    assert_eq!(first, support::render_seeded(template, 1));
    assert_ne!(first, support::render_seeded(template, 2));
}
