//! A result from the cache is the result of a build, whatever has changed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sluice_apply::Object;
use sluice_vfs::{MemoryFileSystem, VirtualPath};

use super::*;

/// Where Kustomizations look.
const DIRECTORIES: [&str; 4] = ["", "apps/a", "apps/b", "base"];

/// The paths that mutations write and delete.
const PATHS: [&str; 22] = [
    "kustomization.yaml",
    "apps/a/kustomization.yaml",
    "apps/a/kustomization.yml",
    "apps/a/Kustomization",
    "apps/a/x.yaml",
    "apps/a/patch.yaml",
    "apps/a/settings.env",
    "apps/a/part/kustomization.yaml",
    "apps/a/part/x.yaml",
    "apps/b/x.yaml",
    "apps/b/y.yml",
    "apps/b/notes.txt",
    "apps/b/deep/z.yaml",
    "apps/b/deep/kustomization.yaml",
    "apps/b/kustomization.yaml",
    "apps/b/part/kustomization.yaml",
    "base/kustomization.yaml",
    "base/x.yaml",
    "base/web.yaml",
    "base/deep",
    "base/settings.env",
    "transformer.yaml",
];

/// What stands in files; `N` becomes a small number.
const CONTENTS: [&str; 21] = [
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cN}\ndata: {k: 'N', v: \"${v:-none}\"}\n",
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {k: 'N'}\n",
    "apiVersion: v1\nkind: Secret\nmetadata: {name: sN}\nstringData: {k: 'N'}\n",
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: N\n  template:\n    spec:\n      containers:\n      - {name: web, image: 'app:N'}\n",
    "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: t}\nspec: {ratio: 0.N1, list: [N, 4.35]}\n",
    "resources: [x.yaml]\n",
    "resources: [x.yaml, ../../base]\nnamePrefix: pN-\n",
    "resources: [../../base]\npatches:\n- path: patch.yaml\n",
    "resources: [x.yaml, web.yaml]\nimages:\n- {name: app, newTag: 'N'}\n",
    "resources: [x.yaml, deep]\n",
    "configMapGenerator:\n- {name: generated, envs: [settings.env], files: [x.yaml]}\n",
    "configMapGenerator:\n- {name: generated, literals: [a=N]}\n",
    "resources: [apps/a]\n",
    "resources: [apps/b/x.yaml]\ntransformers: [transformer.yaml]\n",
    "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ncommonAnnotations: {part: 'N'}\n",
    "apiVersion: builtin\nkind: PrefixTransformer\nmetadata: {name: p}\nprefix: tN-\nfieldSpecs:\n- {path: metadata/name}\n",
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: N}\n",
    "a=N\nb=2\n",
    "",
    "a: [\n",
    "no: object\n",
];

/// Small, quick and the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % (limit as u64)).unwrap()
    }

    fn pick<'a>(&mut self, items: &[&'a str]) -> &'a str {
        items[self.below(items.len())]
    }
}

fn start() -> BTreeMap<String, String> {
    let file = |path: &str, content: usize| (path.to_owned(), CONTENTS[content].replace('N', "1"));
    [
        file("kustomization.yaml", 12),
        file("apps/a/kustomization.yaml", 6),
        file("apps/a/x.yaml", 0),
        file("apps/b/x.yaml", 4),
        file("apps/b/deep/z.yaml", 2),
        file("base/kustomization.yaml", 8),
        file("base/x.yaml", 2),
        file("base/web.yaml", 3),
    ]
    .into()
}

fn mutate(files: &mut BTreeMap<String, String>, random: &mut Random) {
    let path = random.pick(&PATHS).to_owned();
    if random.below(3) == 0 {
        files.remove(&path);
        return;
    }
    let number = (1 + random.below(3)).to_string();
    // What stands as a file cannot be a directory above others.
    let below = format!("{path}/");
    files.retain(|other, _| !other.starts_with(&below));
    files.insert(path, random.pick(&CONTENTS).replace('N', &number));
}

fn input(files: &Arc<MemoryFileSystem>, directory: &str, spec: &Value, value: &str) -> BuildInput {
    let mut whole = json!({
        "interval": "1m", "prune": true, "sourceRef": {"kind": "GitRepository", "name": "x"},
        "components": ["part", "../part"], "ignoreMissingComponents": true,
        "postBuild": {"substituteStrategy": "Always"},
    });
    whole
        .as_object_mut()
        .unwrap()
        .extend(spec.as_object().unwrap().clone());
    BuildInput {
        files: Arc::<MemoryFileSystem>::clone(files),
        directory: VirtualPath::parse(directory).unwrap(),
        spec: serde_json::from_value(whole).unwrap(),
        variables: Ok([("v".to_owned(), value.to_owned())].into()),
        strict: true,
        owner_labels: vec![("owner".to_owned(), "k".to_owned())],
        ignored: None,
        remote: None,
        deadline: Instant::now() + Duration::from_secs(60),
    }
}

/// What a build comes to, in a form that can be compared.
type Shown = Result<(Vec<Value>, String), String>;

fn show(built: Result<Built, BuildError>) -> Shown {
    let built = built.map_err(|error| error.to_string())?;
    let objects = built.objects.into_iter().map(Object::into_value).collect();
    Ok((objects, built.digest))
}

/// Mutates, adds and deletes files at random (`SLUICE_BUILD_MUTATIONS` says how often): a result from the cache
/// always equals that of a full build.
#[test]
fn a_skipped_build_equals_a_full_one() {
    let count: usize = std::env::var("SLUICE_BUILD_MUTATIONS")
        .ok()
        .map_or(400, |text| text.parse().unwrap());
    let mut random = Random(0x5eed_0fb1_11d5);
    let mut files = start();
    let cache = BuildCache::new(1 << 20);
    let (mut reused, mut built, mut failed) = (0, 0, 0);
    let (mut spec, mut value) = (json!({}), "1");
    for step in 0..count {
        if step % 8 == 0 {
            // Too many mutations leave nothing that builds.
            files = start();
        }
        mutate(&mut files, &mut random);
        match random.below(40) {
            0 => spec = json!({}),
            1 => spec = json!({"namePrefix": "spec-"}),
            2 => value = random.pick(&["1", "2"]),
            _ => {}
        }
        let borrowed = files
            .iter()
            .map(|(path, content)| (path.as_str(), content.clone()));
        let Ok(tree) = MemoryFileSystem::from_files(borrowed) else {
            files = start();
            continue;
        };
        let tree = Arc::new(tree);
        let artifact = step.to_string();
        for directory in DIRECTORIES {
            let full = show(build(&input(&tree, directory, &spec, value)));
            let answer = cache.build(directory, &artifact, input(&tree, directory, &spec, value));
            match &answer {
                Ok((_, true)) => reused += 1,
                Ok((_, false)) => built += 1,
                Err(_) => failed += 1,
            }
            let answer = show(answer.map(|(built, _)| built));
            assert_eq!(answer, full, "step {step}, directory {directory:?}: {files:#?}");
        }
    }
    println!("{count} mutations: {reused} skipped, {built} built, {failed} failed");
    assert!(
        reused > count / 4 && built > count / 20 && failed > 0,
        "{reused} {built} {failed}"
    );
}

fn tree(files: &[(&str, &str)]) -> Arc<MemoryFileSystem> {
    let owned = files.iter().map(|(path, content)| (*path, (*content).to_owned()));
    Arc::new(MemoryFileSystem::from_files(owned).unwrap())
}

const CONFIG: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n";

fn is_reused(cache: &BuildCache, artifact: &str, input: BuildInput) -> bool {
    let (built, reused) = cache.build("k", artifact, input).unwrap();
    assert!(built.digest.starts_with("sha256:") && !built.objects.is_empty());
    reused
}

#[test]
fn what_a_build_does_not_look_at_does_not_count() {
    let cache = BuildCache::new(1 << 20);
    let plain = json!({});
    let one = tree(&[("a/c.yaml", CONFIG), ("b/c.yaml", CONFIG)]);
    assert!(!is_reused(&cache, "1", input(&one, "a", &plain, "1")));
    assert!(is_reused(&cache, "1", input(&one, "a", &plain, "1")));
    let other = tree(&[("a/c.yaml", CONFIG), ("b/d.yaml", "broken: [")]);
    assert!(is_reused(&cache, "2", input(&other, "a", &plain, "1")));
    // Everything else does: a new file, the spec, the variables.
    let added = tree(&[
        ("a/c.yaml", CONFIG),
        ("a/kustomization.yaml", "resources: [c.yaml]"),
    ]);
    assert!(!is_reused(&cache, "3", input(&added, "a", &plain, "1")));
    assert!(!is_reused(
        &cache,
        "3",
        input(&added, "a", &json!({"interval": "2m"}), "1")
    ));
    assert!(!is_reused(&cache, "3", input(&added, "a", &plain, "1")));
    assert!(!is_reused(&cache, "3", input(&added, "a", &plain, "2")));
    assert!(is_reused(&cache, "3", input(&added, "a", &plain, "2")));
}

#[test]
fn decrypted_results_are_not_kept() {
    let cache = BuildCache::new(1 << 20);
    let files = tree(&[("c.yaml", CONFIG)]);
    let spec = json!({"decryption": {"provider": "sops"}});
    assert!(!is_reused(&cache, "1", input(&files, "", &spec, "1")));
    assert!(!is_reused(&cache, "1", input(&files, "", &spec, "1")));
    assert_eq!(cache.bytes(), 0);
}

#[test]
fn memory_is_bounded_and_those_not_used_for_longest_go_first() {
    let files = tree(&[("c.yaml", CONFIG)]);
    let size = {
        let cache = BuildCache::new(1 << 20);
        is_reused(&cache, "1", input(&files, "", &json!({}), "1"));
        cache.bytes()
    };
    let cache = BuildCache::new(3 * size + size / 2);
    let ask = |name: &str| {
        let input = input(&files, "", &json!({}), "1");
        cache.build(name, "1", input).unwrap().1
    };
    for name in ["a", "b", "c"] {
        assert!(!ask(name));
    }
    assert!(ask("a"));
    assert!(!ask("d"));
    assert!(cache.bytes() <= 3 * size + size / 2);
    assert!(ask("a") && ask("c") && ask("d"));
    assert!(!ask("b"));
    for name in ["a", "b", "c", "d"] {
        cache.forget(name);
    }
    assert_eq!(cache.bytes(), 0);
    let nothing = BuildCache::new(0);
    for _ in 0..2 {
        let input = input(&files, "", &json!({}), "1");
        assert!(!nothing.build("k", "1", input).unwrap().1);
    }
}
