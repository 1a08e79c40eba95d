//! Private keys and certificates.
//!
//! They are the certificates that Go writes: the same fields in the same order and form, so that only what is
//! random differs.

mod key;
mod pem;
mod sign;

use core::net::IpAddr;
use std::any::Any;
use std::borrow::Cow;
use std::rc::Rc;

use self::key::PrivateKey;
use self::sign::{Issuer, Request};
use super::encoding::decode_base64;
use super::{INT, LIST, Outcome, Registry, TEXT};
use crate::error::Failure;
use crate::format::describe;
use crate::function::{Arguments, Scope};
use crate::text::Text;
use crate::value::{Object, Operand, Shape, Type, Value};

const CERTIFICATE: Type = Type::Named(Cow::Borrowed("sprig.certificate"), None);

pub(super) fn register(registry: &mut Registry) {
    registry.fixed("genPrivateKey", &[TEXT], TEXT, generate_key);
    registry.fixed("buildCustomCert", &[TEXT, TEXT], CERTIFICATE, |_, arguments| {
        read_certificate(&arguments.text(0), &arguments.text(1))
    });
    registry.fixed("genCA", &[TEXT, INT], CERTIFICATE, |scope, arguments| {
        let request = authority(scope, arguments);
        certify(scope, &request, None, None)
    });
    registry.fixed(
        "genCAWithKey",
        &[TEXT, INT, TEXT],
        CERTIFICATE,
        |scope, arguments| {
            let request = authority(scope, arguments);
            let key = given_key(&arguments.text(2))?;
            certify(scope, &request, Some(key), None)
        },
    );
    let subject = [TEXT, LIST, LIST, INT];
    registry.fixed("genSelfSignedCert", &subject, CERTIFICATE, |scope, arguments| {
        let request = server(scope, arguments)?;
        certify(scope, &request, None, None)
    });
    let with_key = [&subject[..], &[TEXT]].concat();
    registry.fixed(
        "genSelfSignedCertWithKey",
        &with_key,
        CERTIFICATE,
        |scope, arguments| {
            let key = given_key(&arguments.text(4))?;
            let request = server(scope, arguments)?;
            certify(scope, &request, Some(key), None)
        },
    );
    let with_issuer = [&subject[..], &[CERTIFICATE]].concat();
    registry.fixed("genSignedCert", &with_issuer, CERTIFICATE, |scope, arguments| {
        let issuer = issuer(&arguments.value(4))?;
        let request = server(scope, arguments)?;
        certify(scope, &request, None, Some(&issuer))
    });
    let with_both = [&subject[..], &[CERTIFICATE, TEXT]].concat();
    registry.fixed(
        "genSignedCertWithKey",
        &with_both,
        CERTIFICATE,
        |scope, arguments| {
            let key = given_key(&arguments.text(5))?;
            let issuer = issuer(&arguments.value(4))?;
            let request = server(scope, arguments)?;
            certify(scope, &request, Some(key), Some(&issuer))
        },
    );
}

/// A certificate and its key, both as PEM.
#[derive(PartialEq)]
struct Certificate {
    certificate: Text,
    key: Text,
}

impl Object for Certificate {
    fn type_name(&self) -> Cow<'static, str> {
        Cow::Borrowed("sprig.certificate")
    }

    fn shape(&self) -> Shape {
        let field = |text: &Text| Operand::concrete(Value::String(text.clone()));
        Shape::Struct(vec![
            ("Cert", field(&self.certificate)),
            ("Key", field(&self.key)),
        ])
    }

    fn equals(&self, other: &dyn Object) -> Option<bool> {
        Some(other.as_any()?.downcast_ref() == Some(self))
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

fn certificate(certificate: impl Into<Text>, key: impl Into<Text>) -> Value {
    Value::Object(Rc::new(Certificate {
        certificate: certificate.into(),
        key: key.into(),
    }))
}

/// Takes up to some seconds, so the clock is looked at before it.
fn generate_key(scope: &mut Scope<'_>, arguments: &Arguments) -> Outcome {
    let kind = arguments.text(0);
    scope.run().look_at_clock()?;
    let Some(key) = PrivateKey::generate(&kind, scope.run().random()?) else {
        return Ok(Value::string([b"Unknown type ", &*kind].concat()));
    };
    let text = key.and_then(|key| key.to_pem());
    Ok(Value::from(text.unwrap_or_else(|error| {
        format!("failed to generate private key: {error}")
    })))
}

/// Checks a certificate and a key that are given.
fn read_certificate(coded_certificate: &[u8], coded_key: &[u8]) -> Outcome {
    let text = decode_base64(coded_certificate).map_err(|_| "unable to decode base64 certificate")?;
    let key = decode_base64(coded_key).map_err(|_| "unable to decode base64 private key")?;
    let block = pem::decode(&text).ok_or("unable to decode certificate")?;
    sign::read(&block.bytes)
        .map_err(|error| format!("error parsing certificate: decodedCert.Bytes: {error}"))?;
    PrivateKey::from_pem(&key).map_err(|error| format!("error parsing private key: {error}"))?;
    Ok(certificate(text, key))
}

fn given_key(text: &[u8]) -> Result<PrivateKey, Failure> {
    PrivateKey::from_pem(text).map_err(|error| format!("parsing private key: {error}").into())
}

fn issuer(value: &Value) -> Result<Issuer, Failure> {
    let given = match value {
        Value::Object(object) => object
            .as_any()
            .and_then(|object| object.downcast_ref::<Certificate>()),
        _ => None,
    };
    let given = given.ok_or("unable to decode certificate")?;
    Ok(Issuer::read(&given.certificate, &given.key)?)
}

fn authority(scope: &mut Scope<'_>, arguments: &Arguments) -> Request {
    Request {
        common_name: arguments.text(0).to_vec(),
        addresses: Vec::new(),
        names: Vec::new(),
        days: arguments.integer(1),
        is_authority: true,
        now: scope.run().now(),
    }
}

fn server(scope: &mut Scope<'_>, arguments: &Arguments) -> Result<Request, Failure> {
    let mut addresses = Vec::new();
    for value in arguments.list(1).as_slice() {
        let Value::String(text) = value else {
            return Err(format!("error parsing ip: {} is not a string", describe(value, 'v')).into());
        };
        let address: IpAddr = text
            .to_text()
            .parse()
            .map_err(|_| format!("error parsing ip: {}", text.to_text()))?;
        addresses.push(address.to_canonical());
    }
    let mut names = Vec::new();
    for value in arguments.list(2).as_slice() {
        let Value::String(text) = value else {
            let shown = describe(value, 'v');
            return Err(format!("error processing alternate dns name: {shown} is not a string").into());
        };
        names.push(text.to_vec());
    }
    Ok(Request {
        common_name: arguments.text(0).to_vec(),
        addresses,
        names,
        days: arguments.integer(3),
        is_authority: false,
        now: scope.run().now(),
    })
}

/// Makes a certificate, and a key if there is none; signed by the issuer, or by the key.
fn certify(
    scope: &mut Scope<'_>,
    request: &Request,
    key: Option<PrivateKey>,
    issuer: Option<&Issuer>,
) -> Outcome {
    scope.run().look_at_clock()?;
    let random = scope.run().random()?;
    let key = match key {
        Some(key) => key,
        None => PrivateKey::for_certificate(random)
            .map_err(|error| format!("error generating rsa key: {error}"))?,
    };
    let text = sign::sign(request, &key, issuer, random)?;
    let key = key
        .to_pem()
        .map_err(|error| format!("error pem-encoding key: {error}"))?;
    Ok(certificate(text, key))
}
