//! Writing artifacts: a tar whose bytes depend on paths, contents and executable bits alone.
//!
//! The headers are chosen as Go's `archive/tar` chooses them (USTAR, with the prefix field for long names
//! where it fits, else PAX records), and normalised as Flux does: owner 0, no owner names, time zero, mode
//! 0600 for files, 0700 for executable ones, 0750 for directories. So the tar of a tree equals Flux's, byte
//! for byte; the gzip layer around it is deterministic but of another compressor.

use std::io::{self, Read, Write};

use flate2::{Compression, GzBuilder, write::GzEncoder};

const BLOCK: usize = 512;
const NAME_SIZE: usize = 100;
const PREFIX_SIZE: usize = 155;
/// The largest number that the eleven octal digits of the size field hold.
const LARGEST_OCTAL_SIZE: u64 = 0o777_7777_7777;

/// The mode of a file in an artifact.
pub const FILE_MODE: u32 = 0o600;
/// The mode of an executable file in an artifact.
pub const EXECUTABLE_MODE: u32 = 0o700;
/// The mode of a directory in an artifact.
pub const DIRECTORY_MODE: u32 = 0o750;

/// Writes entries in the order in which they are given. For bytes equal to Flux's, that is the root first,
/// a directory before its contents and names in a directory in bytewise order (see [`sluice_vfs::walk`]).
///
/// Paths are relative and slash separated, the empty one is the root. They need not be UTF-8, as Git demands
/// no encoding either.
#[derive(Debug)]
pub struct TarWriter<W> {
    inner: W,
}

impl<W: Write> TarWriter<W> {
    /// Writes to `inner`.
    pub fn new(inner: W) -> Self {
        Self { inner }
    }

    /// Adds a directory; the root is written as `.`.
    ///
    /// # Errors
    /// What the underlying writer fails with.
    pub fn directory(&mut self, path: impl AsRef<[u8]>) -> io::Result<()> {
        let path = path.as_ref();
        self.header(if path.is_empty() { b"." } else { path }, b'5', DIRECTORY_MODE, 0)
    }

    /// Adds a regular file of exactly `size` bytes.
    ///
    /// # Errors
    /// What the reader or the underlying writer fails with; [`io::ErrorKind::InvalidData`] if the reader
    /// gives fewer or more bytes than `size`.
    pub fn file(
        &mut self,
        path: impl AsRef<[u8]>,
        executable: bool,
        size: u64,
        contents: &mut dyn Read,
    ) -> io::Result<()> {
        let mode = if executable { EXECUTABLE_MODE } else { FILE_MODE };
        let path = path.as_ref();
        self.header(path, b'0', mode, size)?;
        let copied = io::copy(&mut contents.take(size.saturating_add(1)), &mut self.inner)?;
        if copied != size {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!(
                    "{}: holds {copied} bytes or more where {size} were announced",
                    String::from_utf8_lossy(path)
                ),
            ));
        }
        self.pad(size)
    }

    /// Ends the archive with its two empty blocks and gives back the writer.
    ///
    /// # Errors
    /// What the underlying writer fails with.
    pub fn finish(mut self) -> io::Result<W> {
        self.inner.write_all(&[0; 2 * BLOCK])?;
        Ok(self.inner)
    }

    fn pad(&mut self, size: u64) -> io::Result<()> {
        let over = (size % BLOCK as u64) as usize;
        if over == 0 {
            Ok(())
        } else {
            self.inner.write_all(&[0; BLOCK][over..])
        }
    }

    fn header(&mut self, name: &[u8], kind: u8, mode: u32, size: u64) -> io::Result<()> {
        let mut block = [0; BLOCK];
        let split = split_name(name);
        let plain = is_ascii(name) && (name.len() <= NAME_SIZE || split.is_some());
        if plain && size <= LARGEST_OCTAL_SIZE {
            let (prefix, suffix) = split.unwrap_or((b"", name));
            fill_header(&mut block, suffix, kind, mode, size);
            put_text(&mut block[345..500], prefix);
        } else {
            self.pax_records(name, is_ascii(name) && name.len() <= NAME_SIZE, size)?;
            let ascii = to_ascii(name);
            let octal_size = if size <= LARGEST_OCTAL_SIZE { size } else { 0 };
            fill_header(&mut block, &ascii, kind, mode, octal_size);
        }
        seal(&mut block);
        self.inner.write_all(&block)
    }

    /// Writes the extended header with what the plain one cannot say.
    fn pax_records(&mut self, name: &[u8], plain_name: bool, size: u64) -> io::Result<()> {
        let mut records = Vec::new();
        if !plain_name {
            records.extend(pax_record("path", name));
        }
        if size > LARGEST_OCTAL_SIZE {
            records.extend(pax_record("size", size.to_string().as_bytes()));
        }
        let directory = name
            .iter()
            .rposition(|byte| *byte == b'/')
            .map_or(0, |slash| slash + 1);
        let header_name = [&name[..directory], b"PaxHeaders.0/", &name[directory..]].concat();
        let mut ascii = to_ascii(&header_name);
        ascii.truncate(NAME_SIZE);
        while ascii.last() == Some(&b'/') {
            ascii.pop();
        }
        let mut block = [0; BLOCK];
        put_text(&mut block[0..NAME_SIZE], &ascii);
        put_octal(&mut block[100..108], 0);
        put_octal(&mut block[108..116], 0);
        put_octal(&mut block[116..124], 0);
        put_octal(&mut block[124..136], records.len() as u64);
        put_octal(&mut block[136..148], 0);
        block[156] = b'x';
        seal(&mut block);
        self.inner.write_all(&block)?;
        self.inner.write_all(&records)?;
        self.pad(records.len() as u64)
    }
}

/// Writes a whole artifact: `fill` adds the entries, the gzip and tar layers are closed after it.
///
/// # Errors
/// What `fill` or the writer fails with.
pub fn write_gzip<W: Write, E: From<io::Error>>(
    writer: W,
    fill: impl FnOnce(&mut TarWriter<GzEncoder<W>>) -> Result<(), E>,
) -> Result<W, E> {
    let encoder = GzBuilder::new()
        .mtime(0)
        .operating_system(255)
        .write(writer, Compression::default());
    let mut tar = TarWriter::new(encoder);
    fill(&mut tar)?;
    Ok(tar.finish()?.finish()?)
}

fn is_ascii(name: &[u8]) -> bool {
    name.iter().all(|byte| *byte < 0x80 && *byte != 0)
}

fn to_ascii(name: &[u8]) -> Vec<u8> {
    name.iter()
        .copied()
        .filter(|byte| *byte < 0x80 && *byte != 0)
        .collect()
}

/// Splits a long name for the prefix and name fields, as late as the prefix field allows.
fn split_name(name: &[u8]) -> Option<(&[u8], &[u8])> {
    if name.len() <= NAME_SIZE || !is_ascii(name) {
        return None;
    }
    let window = name.len().min(PREFIX_SIZE + 1);
    let slash = name[..window].iter().rposition(|byte| *byte == b'/')?;
    let suffix = &name[slash + 1..];
    let fits = slash > 0 && !suffix.is_empty() && suffix.len() <= NAME_SIZE && slash <= PREFIX_SIZE;
    fits.then(|| (&name[..slash], suffix))
}

fn fill_header(block: &mut [u8; BLOCK], name: &[u8], kind: u8, mode: u32, size: u64) {
    put_text(&mut block[0..NAME_SIZE], name);
    put_octal(&mut block[100..108], u64::from(mode));
    put_octal(&mut block[108..116], 0);
    put_octal(&mut block[116..124], 0);
    put_octal(&mut block[124..136], size);
    put_octal(&mut block[136..148], 0);
    block[156] = kind;
    put_octal(&mut block[329..337], 0);
    put_octal(&mut block[337..345], 0);
}

/// Sets magic, version and check sum.
fn seal(block: &mut [u8; BLOCK]) {
    block[257..263].copy_from_slice(b"ustar\0");
    block[263..265].copy_from_slice(b"00");
    block[148..156].fill(b' ');
    let sum: u64 = block.iter().map(|byte| u64::from(*byte)).sum();
    put_octal(&mut block[148..155], sum);
}

/// Copies as much of `text` as fits. A cut that would end in a slash is ended before it: some readers take
/// a trailing slash for a directory.
fn put_text(field: &mut [u8], text: &[u8]) {
    let count = text.len().min(field.len());
    field[..count].copy_from_slice(&text[..count]);
    if text.len() > field.len() && field[field.len() - 1] == b'/' {
        let mut end = field.len() - 1;
        while end > 0 && field[end - 1] == b'/' {
            end -= 1;
        }
        field[end] = 0;
    }
}

/// Octal digits, zero padded, with a NUL at the end.
fn put_octal(field: &mut [u8], number: u64) {
    let digits = field.len() - 1;
    let text = format!("{number:0digits$o}");
    field[..digits].copy_from_slice(&text.as_bytes()[text.len() - digits..]);
    field[digits] = 0;
}

/// `<length> <key>=<value>\n`, where the length counts itself.
fn pax_record(key: &str, value: &[u8]) -> Vec<u8> {
    let rest = key.len() + value.len() + 3;
    let mut length = rest + rest.to_string().len();
    if length.to_string().len() != rest.to_string().len() {
        length = rest + length.to_string().len();
    }
    let mut record = format!("{length} {key}=").into_bytes();
    record.extend_from_slice(value);
    record.push(b'\n');
    record
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_that_does_not_match_is_refused() {
        let mut tar = TarWriter::new(Vec::new());
        assert!(tar.file("a", false, 3, &mut &b"ab"[..]).is_err());
        let mut tar = TarWriter::new(Vec::new());
        assert!(tar.file("a", false, 1, &mut &b"ab"[..]).is_err());
    }

    #[test]
    fn reading_back_gives_names_modes_and_contents() {
        let long = format!("{}/{}", "d".repeat(160), "f".repeat(120));
        let names = [
            "a",
            "ü/ß",
            &format!("{}/{}", "d".repeat(120), "f".repeat(90)),
            long.as_str(),
        ];
        let mut tar = TarWriter::new(Vec::new());
        tar.directory("").unwrap();
        for name in names {
            tar.file(name, name == "a", 5, &mut &b"hello"[..]).unwrap();
        }
        let bytes = tar.finish().unwrap();
        let mut archive = tar::Archive::new(bytes.as_slice());
        let entries: Vec<(String, u32, String)> = archive
            .entries()
            .unwrap()
            .map(|entry| {
                let mut entry = entry.unwrap();
                let mut contents = String::new();
                entry.read_to_string(&mut contents).unwrap();
                let name = String::from_utf8(entry.path_bytes().into_owned()).unwrap();
                (name, entry.header().mode().unwrap(), contents)
            })
            .collect();
        assert_eq!(entries[0], (".".to_owned(), 0o750, String::new()));
        for (entry, name) in entries[1..].iter().zip(names) {
            let mode = if name == "a" { 0o700 } else { 0o600 };
            assert_eq!(*entry, (name.to_owned(), mode, "hello".to_owned()));
        }
    }

    #[test]
    fn a_pax_record_counts_its_own_length() {
        for length in 0..2000 {
            let record = pax_record("path", &vec![b'x'; length]);
            let digits: Vec<u8> = record.iter().copied().take_while(u8::is_ascii_digit).collect();
            let announced: usize = String::from_utf8(digits).unwrap().parse().unwrap();
            assert_eq!(announced, record.len());
        }
    }
}
