//! Builds the HTTP client of a remote.

use base64::Engine;
use http::HeaderValue;
use reqwest::{Certificate, Client, ClientBuilder, Identity, Proxy, redirect};

use super::describe;
use crate::{Authentication, Error, ErrorKind, Remote};

/// A client for `remote`; with `identify`, one that shows the client certificate. Redirects are not
/// followed: the caller decides what may travel along.
pub(super) fn build(remote: &Remote, identify: bool) -> Result<Client, Error> {
    let mut builder = Client::builder()
        .redirect(redirect::Policy::none())
        .http1_title_case_headers();
    if let Some(bundle) = &remote.tls.certificate_authorities {
        let certificates = Certificate::from_pem_bundle(bundle)
            .ok()
            .filter(|certificates| !certificates.is_empty())
            .ok_or_else(|| Error::new(ErrorKind::Invalid, "failed to parse CA certificate"))?;
        builder = builder.tls_certs_merge(certificates);
    }
    if let Some(identity) = remote.tls.client_certificate.as_ref().filter(|_| identify) {
        let mut pem = zeroize::Zeroizing::new(identity.certificate.clone());
        pem.push(b'\n');
        pem.extend_from_slice(identity.key.expose());
        let identity = Identity::from_pem(&pem)
            .map_err(|_| Error::new(ErrorKind::Invalid, "failed to parse TLS certificate and key"))?;
        builder = builder.identity(identity);
    }
    with_proxy(builder, remote)?.build().map_err(|error| {
        Error::new(
            ErrorKind::Invalid,
            format!("unable to set up TLS: {}", describe(&error)),
        )
    })
}

fn with_proxy(builder: ClientBuilder, remote: &Remote) -> Result<ClientBuilder, Error> {
    let Some(settings) = &remote.proxy else {
        return Ok(builder);
    };
    let invalid = || {
        Error::new(
            ErrorKind::Invalid,
            "invalid proxy address: use http, https or socks5",
        )
    };
    let mut address = url::Url::parse(&settings.address).map_err(|_| invalid())?;
    let mut username = address.username().to_owned();
    let mut password = address.password().unwrap_or_default().to_owned();
    if let Some(given) = &settings.username {
        username.clone_from(given);
        password = settings.password.as_ref().map_or_else(String::new, |secret| {
            String::from_utf8_lossy(secret.expose()).into_owned()
        });
    }
    address.set_username("").map_err(|()| invalid())?;
    address.set_password(None).map_err(|()| invalid())?;
    let address = match address.scheme() {
        "http" | "https" => address.to_string(),
        // The proxy resolves the host's name, as Go's client lets it.
        "socks5" => address.to_string().replacen("socks5:", "socks5h:", 1),
        _ => return Err(invalid()),
    };
    let mut proxy = Proxy::all(address).map_err(|_| invalid())?;
    if !username.is_empty() {
        proxy = proxy.basic_auth(&username, &password);
    }
    Ok(builder.proxy(proxy))
}

/// The `Authorization` header of a remote, marked as sensitive.
pub(super) fn authorization(authentication: &Authentication) -> Result<Option<HeaderValue>, Error> {
    let text = match authentication {
        Authentication::None => return Ok(None),
        Authentication::Basic { username, password } => {
            let mut pair = zeroize::Zeroizing::new(format!("{username}:").into_bytes());
            pair.extend_from_slice(password.expose());
            zeroize::Zeroizing::new(
                format!(
                    "Basic {}",
                    base64::engine::general_purpose::STANDARD.encode(&pair)
                )
                .into_bytes(),
            )
        }
        Authentication::Bearer(token) => {
            let mut text = zeroize::Zeroizing::new(b"Bearer ".to_vec());
            text.extend_from_slice(token.expose());
            text
        }
    };
    let mut value = HeaderValue::from_bytes(&text).map_err(|_| {
        Error::new(
            ErrorKind::Invalid,
            "the bearer token holds characters that no HTTP header may hold",
        )
    })?;
    value.set_sensitive(true);
    Ok(Some(value))
}
