//! Where signatures stand in Git objects, and what they cover.

use bytes::Bytes;
use gix::hash::Kind;

/// What begins a signature at the end of a tag, as Git and go-git take it.
const BLOCKS: [&[u8]; 5] = [
    b"-----BEGIN PGP SIGNATURE-----",
    b"-----BEGIN PGP MESSAGE-----",
    b"-----BEGIN SSH SIGNATURE-----",
    b"-----BEGIN SIGNED MESSAGE-----",
    b"-----BEGIN CERTIFICATE-----",
];

/// The headers that hold signatures; each repository signs with the one of its own hash.
const SHA1_HEADER: &[u8] = b"gpgsig ";
const SHA256_HEADER: &[u8] = b"gpgsig-sha256 ";

/// A signature and the exact bytes that it covers.
pub(crate) struct Signed {
    pub(crate) signature: Option<Vec<u8>>,
    pub(crate) payload: Bytes,
}

/// Takes the signatures out of the headers of a commit. Several signatures follow each other in the result, as
/// Git has it, so that no reader takes another one than a second reader does.
pub(crate) fn split_commit(commit: &[u8], format: Kind) -> Signed {
    let wanted = match format {
        Kind::Sha256 => SHA256_HEADER,
        _ => SHA1_HEADER,
    };
    let (signature, payload) = split_headers(commit, wanted);
    Signed {
        signature: (!signature.is_empty()).then_some(signature),
        payload: payload.into(),
    }
}

/// Takes the signature from the end of a tag: the last block, with all that follows it.
pub(crate) fn split_tag(tag: &[u8]) -> Signed {
    let mut start = None;
    let mut position = 0;
    for line in tag.split_inclusive(|byte| *byte == b'\n') {
        if BLOCKS.iter().any(|block| line.starts_with(block)) {
            start = Some(position);
        }
        position += line.len();
    }
    let (covered, signature) = tag.split_at(start.unwrap_or(tag.len()));
    Signed {
        signature: (!signature.is_empty()).then(|| signature.to_vec()),
        payload: split_headers(covered, SHA1_HEADER).1.into(),
    }
}

/// The values of the wanted headers, and the object without the headers of either kind.
fn split_headers(object: &[u8], wanted: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (mut signature, mut payload) = (Vec::new(), Vec::with_capacity(object.len()));
    let mut lines = object.split_inclusive(|byte| *byte == b'\n');
    let (mut inside, mut taking) = (false, false);
    for line in lines.by_ref() {
        if inside && line.starts_with(b" ") {
            if taking {
                signature.extend_from_slice(&line[1..]);
            }
            continue;
        }
        taking = line.starts_with(wanted);
        inside = line.starts_with(SHA1_HEADER) || line.starts_with(SHA256_HEADER);
        if taking {
            signature.extend_from_slice(&line[wanted.len()..]);
        }
        if !inside {
            payload.extend_from_slice(line);
        }
        if line == b"\n" {
            break;
        }
    }
    for line in lines {
        payload.extend_from_slice(line);
    }
    (signature, payload)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMIT: &str = "tree 1\nauthor a\ngpgsig -----BEGIN SSH SIGNATURE-----\n AAAA\n -----END SSH SIGNATURE-----\nencoding x\ngpgsig-sha256 other\n more\nhg yes\n continued\n\nSubject\n\ngpgsig stays\n it does\n";

    fn text(signed: &Signed) -> (Option<&str>, &str) {
        let signature = signed.signature.as_deref();
        (
            signature.map(|bytes| std::str::from_utf8(bytes).unwrap()),
            std::str::from_utf8(&signed.payload).unwrap(),
        )
    }

    #[test]
    fn a_commit_is_covered_without_its_signature_headers() {
        let payload =
            "tree 1\nauthor a\nencoding x\nhg yes\n continued\n\nSubject\n\ngpgsig stays\n it does\n";
        let armor = "-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----\n";
        assert_eq!(
            text(&split_commit(COMMIT.as_bytes(), Kind::Sha1)),
            (Some(armor), payload)
        );
        assert_eq!(
            text(&split_commit(COMMIT.as_bytes(), Kind::Sha256)),
            (Some("other\nmore\n"), payload)
        );
        let unsigned = "tree 1\n\n gpgsig x\n";
        assert_eq!(
            text(&split_commit(unsigned.as_bytes(), Kind::Sha1)),
            (None, unsigned)
        );
    }

    #[test]
    fn several_signatures_are_taken_together() {
        let commit = "tree 1\ngpgsig one\n two\ngpgsig three\n\nx";
        assert_eq!(
            text(&split_commit(commit.as_bytes(), Kind::Sha1)),
            (Some("one\ntwo\nthree\n"), "tree 1\n\nx")
        );
    }

    #[test]
    fn a_tag_is_covered_up_to_its_last_block() {
        let tag = "object 1\ngpgsig-sha256 x\n y\n\nnotes\n-----BEGIN PGP SIGNATURE-----\nfirst\n-----BEGIN PGP SIGNATURE-----\nlast\n";
        assert_eq!(
            text(&split_tag(tag.as_bytes())),
            (
                Some("-----BEGIN PGP SIGNATURE-----\nlast\n"),
                "object 1\n\nnotes\n-----BEGIN PGP SIGNATURE-----\nfirst\n"
            )
        );
        let unsigned = "object 1\n\n see -----BEGIN PGP SIGNATURE-----\n";
        assert_eq!(text(&split_tag(unsigned.as_bytes())), (None, unsigned));
    }
}
