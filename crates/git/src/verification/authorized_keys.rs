//! Lines in the format of `authorized_keys`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ssh_key::PublicKey;

/// Reads all keys. Options and comments are left out; a line that holds no key spoils the whole text, since it
/// is a mistake that should be seen.
pub(super) fn read(text: &[u8]) -> Result<Vec<PublicKey>, String> {
    let text = String::from_utf8_lossy(text);
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(read_line)
        .collect()
}

fn read_line(line: &str) -> Result<PublicKey, String> {
    let Some((_, rest)) = line.split_once([' ', '\t']) else {
        return Err("ssh: no key found".to_owned());
    };
    let first = match read_key(rest) {
        Ok(key) => return Ok(key),
        Err(reason) => reason,
    };
    let after_options = skip_options(line);
    let reason = match after_options.split_once([' ', '\t']) {
        Some((_, rest)) => match read_key(rest) {
            Ok(key) => return Ok(key),
            Err(reason) => reason,
        },
        None => first,
    };
    Err(format!(
        "ssh: no key found; last parsing error for ignored line: {reason}"
    ))
}

/// The line behind its first word, in which blanks may stand between quotes.
fn skip_options(line: &str) -> &str {
    let mut quoted = false;
    let mut before = ' ';
    let end = line.char_indices().find(|(_, character)| {
        if *character == '"' && before != '\\' {
            quoted = !quoted;
        }
        before = *character;
        !quoted && matches!(character, ' ' | '\t')
    });
    end.map_or("", |(position, _)| line[position..].trim_start())
}

fn read_key(text: &str) -> Result<PublicKey, String> {
    let blob = text.trim().split([' ', '\t']).next().unwrap_or_default();
    let blob = STANDARD
        .decode(blob)
        .map_err(|error| format!("illegal base64 data: {error}"))?;
    PublicKey::from_bytes(&blob).map_err(|error| format!("ssh: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "AAAAC3NzaC1lZDI1NTE5AAAAIILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqt";

    #[test]
    fn options_comments_and_blank_lines_are_no_matter() {
        let text = format!(
            "# ours\n\n  ssh-ed25519 {KEY} a comment\nfrom=\"a b,\\\" c\",no-pty ssh-ed25519 {KEY}\r\nssh-ed25519\t{KEY}\n"
        );
        let keys = read(text.as_bytes()).unwrap();
        assert_eq!(keys.len(), 3);
        assert_eq!(
            keys[0].fingerprint(ssh_key::HashAlg::Sha256).to_string(),
            keys[1].fingerprint(ssh_key::HashAlg::Sha256).to_string()
        );
        assert_eq!(read(b"\n# nothing\n").unwrap(), []);
    }

    #[test]
    fn a_line_without_a_key_spoils_the_text() {
        let reason = |line: &str| read(format!("ssh-ed25519 {KEY}\n{line}\n").as_bytes()).unwrap_err();
        assert_eq!(reason("garbage"), "ssh: no key found");
        assert!(
            reason("ssh-ed25519 !!!!")
                .starts_with("ssh: no key found; last parsing error for ignored line: illegal base64 data")
        );
        assert!(
            reason("ssh-ed25519 AAAA")
                .starts_with("ssh: no key found; last parsing error for ignored line: ssh: ")
        );
        assert!(reason("from=\"open ssh-ed25519 AAAA").starts_with("ssh: no key found"));
    }
}
