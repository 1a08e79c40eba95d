//! Paths with slashes, as Go's package path has them.

use super::{Registry, TEXT};
use crate::value::{Type, Value};

pub(super) fn register(registry: &mut Registry) {
    for (names, function) in [
        (["base", "osBase"], base as fn(&[u8]) -> Vec<u8>),
        (["dir", "osDir"], directory),
        (["clean", "osClean"], clean),
        (["ext", "osExt"], extension),
    ] {
        for name in names {
            registry.text(name, function);
        }
    }
    for name in ["isAbs", "osIsAbs"] {
        registry.fixed(name, &[TEXT], Type::Bool, |_, arguments| {
            Ok(Value::Bool(arguments.text(0).first() == Some(&b'/')))
        });
    }
}

fn base(path: &[u8]) -> Vec<u8> {
    if path.is_empty() {
        return b".".to_vec();
    }
    let end = path
        .iter()
        .rposition(|&byte| byte != b'/')
        .map_or(0, |last| last + 1);
    let name = path[..end]
        .rsplit(|&byte| byte == b'/')
        .next()
        .unwrap_or_default();
    if name.is_empty() {
        b"/".to_vec()
    } else {
        name.to_vec()
    }
}

fn directory(path: &[u8]) -> Vec<u8> {
    let end = path
        .iter()
        .rposition(|&byte| byte == b'/')
        .map_or(0, |slash| slash + 1);
    clean(&path[..end])
}

fn extension(path: &[u8]) -> Vec<u8> {
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    let dot = name.iter().rposition(|&byte| byte == b'.');
    dot.map(|dot| name[dot..].to_vec()).unwrap_or_default()
}

pub(super) fn clean(path: &[u8]) -> Vec<u8> {
    let rooted = path.first() == Some(&b'/');
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in path.split(|&byte| byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." if parts.last().is_some_and(|last| *last != b"..") => {
                parts.pop();
            }
            b".." if rooted => {}
            part => parts.push(part),
        }
    }
    let joined = parts.join(&b'/');
    match (rooted, joined.is_empty()) {
        (true, _) => [b"/", &*joined].concat(),
        (false, true) => b".".to_vec(),
        (false, false) => joined,
    }
}
