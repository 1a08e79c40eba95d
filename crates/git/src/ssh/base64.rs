//! Base64 as Go's `base64.StdEncoding` reads it.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

const ENGINE: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical)
        .with_decode_allow_trailing_bits(true),
);

/// Decodes padded base64. Line ends in it do not count, surplus bits at the end neither.
pub(crate) fn decode(text: &[u8]) -> Result<Vec<u8>, String> {
    let text: Vec<u8> = text
        .iter()
        .copied()
        .filter(|byte| !matches!(byte, b'\r' | b'\n'))
        .collect();
    ENGINE.decode(text).map_err(|_| "illegal base64 data".to_owned())
}
