//! Hashed and derived passwords, and encryption with a password.

use aes::Aes256;
use aes::cipher::block_padding::{NoPadding, Pkcs7};
use aes::cipher::{BlockDecryptMut, BlockEncryptMut, KeyIvInit};
use hmac::{Hmac, Mac};
use rand::Rng;
use sha2::Sha256;

use super::encoding::{decode_base64, encode_base64};
use super::{Outcome, Registry, TEXT};
use crate::error::Failure;
use crate::function::{Arguments, Scope};
use crate::text::Text;
use crate::value::{Type, Unsigned, Value};

const BLOCK: usize = 16;

/// The longest password that bcrypt takes, in bytes.
const MAX_BCRYPT: usize = 72;

/// The cost of Go's `bcrypt.DefaultCost`.
const COST: u32 = 10;

pub(super) fn register(registry: &mut Registry) {
    registry.fixed("bcrypt", &[TEXT], TEXT, |scope, arguments| {
        Ok(Value::from(hash_password(scope, &arguments.text(0))?))
    });
    registry.fixed("htpasswd", &[TEXT, TEXT], TEXT, |scope, arguments| {
        let user = arguments.text(0);
        if user.contains(&b':') {
            return Ok(Value::string([b"invalid username: ", &*user].concat()));
        }
        let hash = hash_password(scope, &arguments.text(1))?;
        Ok(Value::string([&*user, b":", hash.as_bytes()].concat()))
    });
    let counter = Type::Unsigned(Unsigned::Uint32);
    registry.fixed("derivePassword", &[counter, TEXT, TEXT, TEXT, TEXT], TEXT, derive);
    registry.fixed("encryptAES", &[TEXT, TEXT], TEXT, |scope, arguments| {
        encrypt(scope, &arguments.text(0), &arguments.text(1))
    });
    registry.fixed("decryptAES", &[TEXT, TEXT], TEXT, |_, arguments| {
        decrypt(&arguments.text(0), &arguments.text(1))
    });
}

/// Each hash takes some tens of milliseconds, so the clock is looked at before it.
fn hash_password(scope: &mut Scope<'_>, password: &Text) -> Result<String, Failure> {
    const FAILED: &str = "failed to encrypt string with bcrypt";
    if password.len() > MAX_BCRYPT {
        return Ok(format!(
            "{FAILED}: bcrypt: password length exceeds {MAX_BCRYPT} bytes"
        ));
    }
    scope.run().look_at_clock()?;
    let salt = scope.run().random()?.random();
    Ok(match bcrypt::hash_with_salt(&**password, COST, salt) {
        Ok(hash) => hash.format_for_version(bcrypt::Version::TwoA),
        Err(error) => format!("{FAILED}: {error}"),
    })
}

/// The kinds of passwords of the "Master Password" algorithm: patterns of kinds of characters.
fn patterns(kind: &[u8]) -> Option<&'static [&'static str]> {
    Some(match kind {
        b"maximum" => &["anoxxxxxxxxxxxxxxxxx", "axxxxxxxxxxxxxxxxxno"],
        b"long" => &[
            "CvcvnoCvcvCvcv",
            "CvcvCvcvnoCvcv",
            "CvcvCvcvCvcvno",
            "CvccnoCvcvCvcv",
            "CvccCvcvnoCvcv",
            "CvccCvcvCvcvno",
            "CvcvnoCvccCvcv",
            "CvcvCvccnoCvcv",
            "CvcvCvccCvcvno",
            "CvcvnoCvcvCvcc",
            "CvcvCvcvnoCvcc",
            "CvcvCvcvCvccno",
            "CvccnoCvccCvcv",
            "CvccCvccnoCvcv",
            "CvccCvccCvcvno",
            "CvcvnoCvccCvcc",
            "CvcvCvccnoCvcc",
            "CvcvCvccCvccno",
            "CvccnoCvcvCvcc",
            "CvccCvcvnoCvcc",
            "CvccCvcvCvccno",
        ],
        b"medium" => &["CvcnoCvc", "CvcCvcno"],
        b"short" => &["Cvcn"],
        b"basic" => &["aaanaaan", "aannaaan", "aaannaaa"],
        b"pin" => &["nnnn"],
        _ => return None,
    })
}

fn characters(kind: u8) -> &'static [u8] {
    match kind {
        b'C' => b"BCDFGHJKLMNPQRSTVWXYZ",
        b'v' => b"aeiou",
        b'c' => b"bcdfghjklmnpqrstvwxyz",
        b'a' => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz",
        b'n' => b"0123456789",
        b'o' => b"@&%?,=[]_:-+*$#!'^~;()/.",
        _ => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz0123456789!@#$%^&*()",
    }
}

const SEED: &[u8] = b"com.lyndir.masterpassword";

fn with_length(text: &[u8]) -> Vec<u8> {
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
    [SEED, &length.to_be_bytes(), text].concat()
}

fn derive(scope: &mut Scope<'_>, arguments: &Arguments) -> Outcome {
    let kind = arguments.text(1);
    let Some(patterns) = patterns(&kind) else {
        return Ok(Value::string(
            [b"cannot find password template ", &*kind].concat(),
        ));
    };
    scope.run().look_at_clock()?;
    // The working memory of scrypt with these parameters.
    scope.run().produce(32 << 20)?;
    let failure = |error: &dyn std::fmt::Display| Failure::new(format!("failed to derive password: {error}"));
    let parameters = scrypt::Params::new(15, 8, 2, 64).map_err(|error| failure(&error))?;
    let mut key = [0; 64];
    let salt = with_length(&arguments.text(3));
    scrypt::scrypt(&arguments.text(2), &salt, &parameters, &mut key).map_err(|error| failure(&error))?;
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).map_err(|error| failure(&error))?;
    mac.update(&with_length(&arguments.text(4)));
    let counter = u32::try_from(arguments.integer(0)).unwrap_or(0);
    mac.update(&counter.to_be_bytes());
    let seed = mac.finalize().into_bytes();
    let pattern = patterns[usize::from(seed[0]) % patterns.len()];
    let password: Vec<u8> = pattern
        .bytes()
        .zip(&seed[1..])
        .map(|(kind, &number)| {
            let characters = characters(kind);
            characters[usize::from(number) % characters.len()]
        })
        .collect();
    Ok(Value::string(password))
}

/// The password cut or filled up with zeros.
fn key_of(password: &[u8]) -> [u8; 32] {
    let mut key = [0; 32];
    let length = password.len().min(key.len());
    key[..length].copy_from_slice(&password[..length]);
    key
}

fn encrypt(scope: &mut Scope<'_>, password: &[u8], text: &[u8]) -> Outcome {
    if text.is_empty() {
        return Ok(Value::from(""));
    }
    scope.run().produce(text.len().saturating_mul(2))?;
    let start: [u8; BLOCK] = scope.run().random()?.random();
    let cipher = cbc::Encryptor::<Aes256>::new(&key_of(password).into(), &start.into());
    let encrypted = cipher.encrypt_padded_vec_mut::<Pkcs7>(text);
    Ok(Value::string(encode_base64(&[&start[..], &encrypted].concat())))
}

fn decrypt(password: &[u8], text: &[u8]) -> Outcome {
    if text.is_empty() {
        return Ok(Value::from(""));
    }
    let bytes = decode_base64(text)?;
    let Some((start, encrypted)) = bytes.split_first_chunk::<BLOCK>() else {
        let capacity = text.len() / 4 * 3;
        return Err(
            format!("runtime error: slice bounds out of range [:16] with capacity {capacity}").into(),
        );
    };
    if encrypted.len() % BLOCK != 0 {
        return Err("crypto/cipher: input not full blocks".into());
    }
    let cipher = cbc::Decryptor::<Aes256>::new(&key_of(password).into(), &(*start).into());
    let mut decrypted = cipher
        .decrypt_padded_vec_mut::<NoPadding>(encrypted)
        .map_err(|error| error.to_string())?;
    let Some(&padding) = decrypted.last() else {
        return Err("runtime error: index out of range [-1]".into());
    };
    match decrypted.len().checked_sub(usize::from(padding)) {
        Some(length) => {
            decrypted.truncate(length);
            Ok(Value::string(decrypted))
        }
        None => {
            let excess = usize::from(padding) - decrypted.len();
            Err(format!("runtime error: slice bounds out of range [:-{excess}]").into())
        }
    }
}
