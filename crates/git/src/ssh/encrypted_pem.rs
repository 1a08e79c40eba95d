//! The old encryption of PEM blocks (RFC 1423), which `ssh-keygen -m PEM` and `openssl` still write.

use aes::cipher::block_padding::NoPadding;
use aes::cipher::{BlockDecryptMut, KeyIvInit};
use md5::{Digest, Md5};
use zeroize::Zeroizing;

use super::pem::Block;
use super::private_key::PrivateKeyError;

impl Block {
    /// Whether the block says that it is encrypted.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.headers
            .get("Proc-Type")
            .is_some_and(|kind| kind.contains("ENCRYPTED"))
    }

    /// Decrypts the content.
    ///
    /// # Errors
    /// [`PrivateKeyError::Passphrase`], which the format cannot always tell, or a header that makes no sense.
    pub(crate) fn decrypt(&self, passphrase: &[u8]) -> Result<Zeroizing<Vec<u8>>, PrivateKeyError> {
        let malformed = |what| {
            PrivateKeyError::Malformed(format!("ssh: cannot decode encrypted private keys: x509: {what}"))
        };
        let info = self
            .headers
            .get("DEK-Info")
            .ok_or_else(|| PrivateKeyError::Malformed("ssh: not an encrypted key".to_owned()))?;
        let (mode, vector) = info
            .split_once(',')
            .ok_or_else(|| malformed("malformed DEK-Info header"))?;
        let (key_bytes, block_bytes) = match mode {
            "DES-CBC" => (8, 8),
            "DES-EDE3-CBC" => (24, 8),
            "AES-128-CBC" => (16, 16),
            "AES-192-CBC" => (24, 16),
            "AES-256-CBC" => (32, 16),
            _ => return Err(malformed("unknown encryption mode")),
        };
        let vector = hex::decode(vector).map_err(|_| malformed("malformed DEK-Info header"))?;
        if vector.len() != block_bytes {
            return Err(malformed("incorrect IV size"));
        }
        if self.bytes.is_empty() {
            return Err(malformed("invalid padding"));
        }
        let key = derive(passphrase, &vector[..8], key_bytes);
        let mut data = self.bytes.clone();
        let whole = match mode {
            "DES-CBC" => decrypt::<des::Des>(&key, &vector, &mut data),
            "DES-EDE3-CBC" => decrypt::<des::TdesEde3>(&key, &vector, &mut data),
            "AES-128-CBC" => decrypt::<aes::Aes128>(&key, &vector, &mut data),
            "AES-192-CBC" => decrypt::<aes::Aes192>(&key, &vector, &mut data),
            _ => decrypt::<aes::Aes256>(&key, &vector, &mut data),
        };
        whole.ok_or_else(|| malformed("encrypted PEM data is not a multiple of the block size"))?;
        let padding = data.last().copied().unwrap_or_default();
        let kept = data.len().saturating_sub(usize::from(padding));
        let is_padded = (1..=block_bytes).contains(&usize::from(padding))
            && data[kept..].iter().all(|byte| *byte == padding);
        if !is_padded {
            return Err(PrivateKeyError::Passphrase);
        }
        data.truncate(kept);
        Ok(data)
    }
}

/// OpenSSL's old key derivation: MD5 over and over.
fn derive(passphrase: &[u8], salt: &[u8], length: usize) -> Zeroizing<Vec<u8>> {
    let mut key = Zeroizing::new(Vec::new());
    let mut digest = Zeroizing::new(Vec::new());
    while key.len() < length {
        let mut hash = Md5::new();
        hash.update(digest.as_slice());
        hash.update(passphrase);
        hash.update(salt);
        *digest = hash.finalize().to_vec();
        key.extend_from_slice(&digest);
    }
    key.truncate(length);
    key
}

fn decrypt<Cipher>(key: &[u8], vector: &[u8], data: &mut [u8]) -> Option<()>
where
    Cipher: aes::cipher::BlockCipher + BlockDecryptMut + aes::cipher::KeyInit,
{
    let decryptor = cbc::Decryptor::<Cipher>::new_from_slices(key, vector).ok()?;
    decryptor.decrypt_padded_mut::<NoPadding>(data).ok().map(drop)
}
