use super::*;
use crate::data::SecretData;

fn app(data: &[(&str, &str)]) -> GitHubApp {
    SecretData::new("apps", "app", data.iter().map(|(key, value)| (*key, *value)))
        .github_app()
        .unwrap()
}

fn refusal(data: &[(&str, &str)]) -> String {
    GitHubAppClient::new(&app(data), None, None, false)
        .unwrap_err()
        .to_string()
}

#[test]
fn what_is_missing_or_broken_is_named_as_in_flux() {
    let id = ("githubAppID", "7");
    let installation = ("githubAppInstallationID", "9");
    let key = ("githubAppPrivateKey", "not a key");
    assert_eq!(
        refusal(&[("githubAppID", "seven"), installation, key]),
        "app ID must be provided to use github app authentication"
    );
    for broken in [
        ("githubAppInstallationID", "nine"),
        ("githubAppInstallationOwner", ""),
    ] {
        assert_eq!(
            refusal(&[id, broken, key]),
            "app installation owner or ID must be provided to use github app authentication"
        );
    }
    assert_eq!(
        refusal(&[id, installation, ("githubAppPrivateKey", "")]),
        "private key must be provided to use github app authentication"
    );
    assert_eq!(
        refusal(&[id, installation, key]),
        "could not parse private key: invalid key: Key must be a PEM encoded PKCS1 or PKCS8 key"
    );
    let elliptic = rcgen::KeyPair::generate().unwrap().serialize_pem();
    let message = refusal(&[id, installation, ("githubAppPrivateKey", &elliptic)]);
    assert!(
        message.starts_with("could not parse private key: key is not a valid RSA private key"),
        "{message}"
    );
}

#[test]
fn the_api_is_used_as_it_is_given() {
    assert_eq!(api(None).unwrap().as_str(), "https://api.github.com/");
    assert_eq!(
        api(Some("https://ghe.example/api")).unwrap().as_str(),
        "https://ghe.example/api"
    );
    for bad in ["ghe.example", "file:///x"] {
        let message = api(Some(bad)).unwrap_err().to_string();
        assert!(message.starts_with("invalid API URL: "), "{message}");
    }
}

#[test]
fn whatever_makes_the_token_is_in_its_key() {
    let base = [
        ("githubAppID", "7"),
        ("githubAppInstallationID", "9"),
        ("githubAppPrivateKey", "k"),
    ];
    let key = |change: &[(&str, &str)], slug| cache_key(&app(&[&base, change].concat()), slug);
    let same = key(&[], false);
    assert_eq!(same, key(&[], false));
    let others = [
        key(&[("githubAppID", "8")], false),
        key(&[("githubAppInstallationID", "8")], false),
        key(&[("githubAppPrivateKey", "l")], false),
        key(&[("githubAppBaseURL", "https://ghe.example")], false),
        key(&[], true),
    ];
    for other in &others {
        assert_ne!(*other, same);
    }
    // printf 'githubAppID=7,githubAppInstallationOwner=,githubAppInstallationID=9,githubAppBaseURL=,githubAppPrivateKey=k,reflectSlug=false' | sha256sum
    assert_eq!(
        same,
        "8f2645720194fb5e348fb11ac4061c582f6a799dc91668a49d1b480b0e9c0dc4"
    );
}
