use crate::error::{Error, ErrorKind, Result};
use crate::kustomization::ConfigMapArgs;
use crate::loader::Loader;

type Pair = (String, Vec<u8>);

/// Reads all sources: env files, then literals, then files.
pub(super) fn read(args: &ConfigMapArgs, loader: &Loader<'_>) -> Result<Vec<Pair>> {
    let mut pairs = Vec::new();
    for path in &args.envs {
        let loaded = loader.load(path)?;
        pairs.extend(parse_env_file(&loaded.contents).map_err(|error| error.in_file(loaded.name))?);
    }
    for literal in &args.literals {
        pairs.push(parse_literal(literal)?);
    }
    for source in &args.files {
        let (key, path) = parse_file_source(source)?;
        pairs.push((key, loader.load(path)?.contents.to_vec()));
    }
    Ok(pairs)
}

fn parse_env_file(contents: &[u8]) -> Result<Vec<Pair>> {
    let mut pairs = Vec::new();
    for (index, line) in contents.split(|byte| *byte == b'\n').enumerate() {
        let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = std::str::from_utf8(line).map_err(|_| {
            Error::new(ErrorKind::Generator, "the line is not UTF-8")
                .at_line(number)
                .remedy("save the file as UTF-8")
        })?;
        let line = if index == 0 {
            line.strip_prefix('\u{feff}').unwrap_or(line)
        } else {
            line
        };
        let line = line.trim_start();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        if !key.is_empty() {
            pairs.push((key.to_owned(), value.as_bytes().to_vec()));
        }
    }
    Ok(pairs)
}

fn parse_literal(literal: &str) -> Result<Pair> {
    match literal.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), unquote(value).as_bytes().to_vec())),
        _ => Err(Error::new(
            ErrorKind::Generator,
            format!("the literal {literal:?} is not key=value"),
        )
        .remedy("write key=value")),
    }
}

fn unquote(text: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return inner;
        }
    }
    text
}

/// Key and path of `[key=]path`; without a key it is the file's name.
fn parse_file_source(source: &str) -> Result<(String, &str)> {
    let problem = |problem: &str| {
        Error::new(ErrorKind::Generator, format!("{problem} in {source:?}")).remedy("write path or key=path")
    };
    match source.split_once('=') {
        None => {
            let name = source.trim_end_matches('/').rsplit('/').next().unwrap_or(source);
            let name = match (name, source) {
                (_, "") => ".",
                ("", _) => "/",
                (name, _) => name,
            };
            Ok((name.to_owned(), source))
        }
        Some((_, path)) if path.contains('=') => Err(problem("the key or the path holds =")),
        Some(("", _)) => Err(problem("the key is missing")),
        Some((_, "")) => Err(problem("the path is missing")),
        Some((key, path)) => Ok((key.to_owned(), path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_file_sources_are_split_once() {
        assert_eq!(parse_literal("a=b=c").unwrap(), ("a".to_owned(), b"b=c".to_vec()));
        assert_eq!(parse_literal("a='x'").unwrap().1, b"x");
        assert_eq!(parse_literal("a='").unwrap().1, b"'");
        assert!(parse_literal("=b").is_err() && parse_literal("b").is_err());
        assert_eq!(
            parse_file_source("dir/f.txt").unwrap(),
            ("f.txt".to_owned(), "dir/f.txt")
        );
        assert_eq!(
            parse_file_source("k=dir/f.txt").unwrap(),
            ("k".to_owned(), "dir/f.txt")
        );
        assert!(parse_file_source("a=b=c").is_err() && parse_file_source("=b").is_err());
    }

    #[test]
    fn env_files_hold_pairs_comments_and_bare_keys() {
        let pairs = parse_env_file("\u{feff}A=1\r\n  # comment\n\n  B=x=y \nC".as_bytes()).unwrap();
        let text: Vec<(String, String)> = pairs
            .into_iter()
            .map(|(key, value)| (key, String::from_utf8(value).unwrap()))
            .collect();
        let expected =
            [("A", "1"), ("B", "x=y "), ("C", "")].map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(text, expected);
    }
}
