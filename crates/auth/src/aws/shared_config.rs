//! The files `~/.aws/credentials` and `~/.aws/config`.

use std::collections::BTreeMap;

use crate::environment::Environment;
use crate::provider::ProviderError;

/// What a profile says, from both files; the one with credentials wins.
#[derive(Default)]
pub(super) struct Profile(BTreeMap<String, zeroize::Zeroizing<String>>);

impl Profile {
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.0
            .get(key)
            .map(|value| value.as_str())
            .filter(|value| !value.is_empty())
    }

    /// The profile of `AWS_PROFILE`, else `default`. Files that are not there say nothing.
    ///
    /// # Errors
    /// A file cannot be read, or a profile that is asked for by name is in none.
    pub(super) async fn read(environment: &Environment) -> Result<Self, ProviderError> {
        let named = environment.get("AWS_PROFILE");
        let name = named.clone().unwrap_or_else(|| "default".to_owned());
        let home = environment.get("HOME").unwrap_or_default();
        let mut profile = Self::default();
        let files = [
            ("AWS_CONFIG_FILE", "config", true),
            ("AWS_SHARED_CREDENTIALS_FILE", "credentials", false),
        ];
        for (variable, file, prefixed) in files {
            let path = environment
                .get(variable)
                .unwrap_or_else(|| format!("{home}/.aws/{file}"));
            match tokio::fs::read_to_string(&path).await {
                Ok(text) => profile.add(&zeroize::Zeroizing::new(text), &name, prefixed),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => {
                    return Err(ProviderError::Configuration(format!(
                        "failed to read shared config file {path}: {error}"
                    )));
                }
            }
        }
        match named {
            Some(name) if profile.0.is_empty() => Err(ProviderError::Configuration(format!(
                "failed to get shared config profile, {name}"
            ))),
            _ => Ok(profile),
        }
    }

    /// Adds what a file says about a profile. In the config file all profiles but `default` are called
    /// `profile NAME`.
    fn add(&mut self, text: &str, name: &str, prefixed: bool) {
        let mut inside = false;
        for line in text.lines() {
            let trimmed = line.trim();
            if let Some(section) = trimmed.strip_prefix('[') {
                let section = section.split(']').next().unwrap_or_default().trim();
                let bare = match section.strip_prefix("profile ") {
                    Some(bare) if prefixed => Some(bare.trim()),
                    _ if prefixed && section != "default" => None,
                    _ => Some(section),
                };
                inside = bare == Some(name);
                continue;
            }
            // Lines that begin with a space belong to the setting before them, and none of ours has such.
            let nested = line.starts_with([' ', '\t']);
            if !inside || nested || trimmed.starts_with(['#', ';']) {
                continue;
            }
            if let Some((key, value)) = trimmed.split_once('=') {
                let value = value.split(" #").next().unwrap_or_default().trim().to_owned();
                self.0.insert(key.trim().to_ascii_lowercase(), value.into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_found_in_both_files_and_credentials_win() {
        let mut profile = Profile::default();
        let config = "[default]\nregion = a\n[profile dev]\naws_access_key_id = old\nrole_arn=r # why\ns3 =\n  x = 1\n[dev]\nregion = no\n";
        profile.add(config, "dev", true);
        profile.add(
            "# keys\n[dev]\nAWS_ACCESS_KEY_ID = new\n; no\n[x]\nrole_arn = no\n",
            "dev",
            false,
        );
        assert_eq!(profile.get("aws_access_key_id"), Some("new"));
        assert_eq!(profile.get("role_arn"), Some("r"));
        assert_eq!(
            (profile.get("region"), profile.get("x"), profile.get("s3")),
            (None, None, None)
        );
    }
}
