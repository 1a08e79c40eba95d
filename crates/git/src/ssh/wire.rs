//! Values as SSH writes them: numbers in network order, texts with their length before them.

use num_bigint::BigInt;

/// The input ends in the middle of a value, or a length in it is a lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Short;

/// Takes one value after the other from the front of bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// What was not taken yet.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.0
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Short> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Short)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn number(&mut self) -> Result<u32, Short> {
        let bytes = self.take(4)?.try_into().map_err(|_| Short)?;
        Ok(u32::from_be_bytes(bytes))
    }

    pub(crate) fn long_number(&mut self) -> Result<u64, Short> {
        let bytes = self.take(8)?.try_into().map_err(|_| Short)?;
        Ok(u64::from_be_bytes(bytes))
    }

    pub(crate) fn string(&mut self) -> Result<&'a [u8], Short> {
        let length = usize::try_from(self.number()?).map_err(|_| Short)?;
        self.take(length)
    }

    pub(crate) fn integer(&mut self) -> Result<BigInt, Short> {
        Ok(BigInt::from_signed_bytes_be(self.string()?))
    }
}

/// Appends a text with its length.
pub(crate) fn put_string(output: &mut Vec<u8>, bytes: &[u8]) {
    // What is written was read from, or goes into, one packet.
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    output.extend_from_slice(&length.to_be_bytes());
    output.extend_from_slice(bytes);
}

/// Appends an integer in its shortest form.
pub(crate) fn put_integer(output: &mut Vec<u8>, integer: &BigInt) {
    match integer.sign() {
        num_bigint::Sign::NoSign => put_string(output, b""),
        _ => put_string(output, &integer.to_signed_bytes_be()),
    }
}
