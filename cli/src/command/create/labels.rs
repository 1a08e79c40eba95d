//! Labels on the command line.

/// Reads `key=value`.
///
/// # Errors
/// A text that is none, or a key or value that no label can have.
pub(super) fn parse(text: &str) -> Result<(String, String), String> {
    let (key, value) = text
        .split_once('=')
        .filter(|(_, value)| !value.contains('='))
        .ok_or_else(|| format!("invalid label format '{text}', must be key=value"))?;
    let name = match key.split_once('/') {
        Some((prefix, name)) if is_domain(prefix) => name,
        Some(_) => {
            return Err(format!(
                "invalid label '{key}': what stands before the slash must be a domain"
            ));
        }
        None => key,
    };
    if name.is_empty() || !is_word(name) {
        return Err(format!(
            "invalid label '{key}': at most 63 letters, digits, '-', '_' and '.', the first and the last a letter or digit"
        ));
    }
    if !is_word(value) {
        return Err(format!(
            "invalid label value '{value}': at most 63 letters, digits, '-', '_' and '.', the first and the last a letter or digit"
        ));
    }
    Ok((key.to_owned(), value.to_owned()))
}

fn is_word(text: &str) -> bool {
    let outer = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    bytes.len() <= 63
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
        && outer(bytes.first())
        && outer(bytes.last())
}

fn is_domain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(crate::cluster::is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_those_that_the_api_server_accepts() {
        assert_eq!(parse("team=a"), Ok(("team".into(), "a".into())));
        assert_eq!(
            parse("example.com/part_of=x.Y"),
            Ok(("example.com/part_of".into(), "x.Y".into()))
        );
        assert_eq!(parse("empty="), Ok(("empty".into(), String::new())));
        for wrong in ["team", "=a", "a=b=c", "-a=b", "a=b-", "A_b/c=d", "/c=d", "a/=d"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
