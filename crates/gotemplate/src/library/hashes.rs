//! Checksums.

use sha1::{Digest, Sha1};
use sha2::{Sha256, Sha512};

use super::Registry;

pub(super) fn register(registry: &mut Registry) {
    registry.text("sha1sum", |bytes| hexadecimal(&Sha1::digest(bytes)));
    registry.text("sha256sum", |bytes| hexadecimal(&Sha256::digest(bytes)));
    registry.text("sha512sum", |bytes| hexadecimal(&Sha512::digest(bytes)));
    registry.text("adler32sum", |bytes| adler32(bytes).to_string().into_bytes());
}

fn hexadecimal(digest: &[u8]) -> Vec<u8> {
    hex::encode(digest).into_bytes()
}

fn adler32(bytes: &[u8]) -> u32 {
    const MODULUS: u32 = 65_521;
    // So many steps cannot overflow.
    const STEPS: usize = 5_552;
    let (mut low, mut high) = (1u32, 0u32);
    for chunk in bytes.chunks(STEPS) {
        for &byte in chunk {
            low += u32::from(byte);
            high += low;
        }
        low %= MODULUS;
        high %= MODULUS;
    }
    high << 16 | low
}
