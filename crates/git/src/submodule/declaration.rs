//! What `.gitmodules` says.

use gix::bstr::ByteSlice as _;
use gix::config::File;

/// A submodule that is to be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Submodule {
    /// Where it stands, slash separated, without a slash at either end.
    pub(super) path: String,
    /// Its address, which may be relative to that of the repository around it.
    pub(super) url: String,
}

/// Reads all submodules in their order. Those whose name or path climbs out of the repository are left out,
/// as git and go-git leave them out.
pub(super) fn read(text: &[u8]) -> Result<Vec<Submodule>, String> {
    let text = text.to_str().map_err(|_| "is not UTF-8".to_owned())?;
    let file = File::try_from(text).map_err(|error| error.to_string())?;
    let mut submodules: Vec<Submodule> = Vec::new();
    for section in file.sections_by_name("submodule").into_iter().flatten() {
        let name = section
            .header()
            .subsection_name()
            .map(|name| name.to_string())
            .unwrap_or_default();
        let value = |key: &str| section.body().value(key).map(|value| value.to_string());
        let path = value("path").unwrap_or_default();
        let url = value("url").unwrap_or_default();
        if name.is_empty() || climbs(&name) || climbs(&path) {
            continue;
        }
        let path = path.trim_end_matches('/').to_owned();
        if path.is_empty() {
            return Err(format!("submodule '{name}' has no path"));
        }
        if url.is_empty() {
            return Err(format!("submodule '{name}' has no url"));
        }
        // A section that stands twice is one, and the later value counts.
        match submodules.iter_mut().find(|known| known.path == path) {
            Some(known) => known.url = url,
            None => submodules.push(Submodule { path, url }),
        }
    }
    Ok(submodules)
}

fn climbs(path: &str) -> bool {
    path.split(['/', '\\']).any(|part| part == "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(path: &str, url: &str) -> Submodule {
        Submodule {
            path: path.to_owned(),
            url: url.to_owned(),
        }
    }

    #[test]
    fn paths_and_addresses_are_read_as_git_writes_them() {
        let text = "# ours\n[submodule \"base\"]\n\tpath = libs/base\n\turl = ../base.git\n\tbranch = main\n[submodule \"a \\\"b\\\"\"]\n\turl = \"https://example.com/a b.git\" ; remark\n\tpath = \"a b/\"\n[core]\n\tpath = x\n";
        assert_eq!(
            read(text.as_bytes()).unwrap(),
            [
                one("libs/base", "../base.git"),
                one("a b", "https://example.com/a b.git")
            ]
        );
        assert_eq!(read(b"").unwrap(), []);
    }

    #[test]
    fn what_climbs_is_left_out_and_what_is_incomplete_is_named() {
        let text = "[submodule \"../x\"]\npath=a\nurl=u\n[submodule \"y\"]\npath=a/../../b\nurl=u\n[submodule \"z\"]\npath=..\\\\b\nurl=u\n";
        assert_eq!(read(text.as_bytes()).unwrap(), []);
        assert_eq!(
            read(b"[submodule \"a\"]\npath=a\n").unwrap_err(),
            "submodule 'a' has no url"
        );
        assert_eq!(
            read(b"[submodule \"a\"]\nurl=u\n").unwrap_err(),
            "submodule 'a' has no path"
        );
        assert!(read(b"[submodule").is_err());
        assert_eq!(read(b"\xff").unwrap_err(), "is not UTF-8");
    }
}
