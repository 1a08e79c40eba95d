//! Random packs, sound and unsound, against the verdict of git. `PROPTEST_CASES` sets how many are tried.

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;

use super::builder::{BLOB, Builder, Instruction, delta, seal};
use super::{git_accepts, index, read_all};

/// An entry that is often sound.
#[derive(Debug, Clone)]
struct RandomEntry {
    form: Form,
    /// What is added to announced sizes.
    lie: Option<(Lie, i8)>,
    instructions: Vec<RandomInstruction>,
}

#[derive(Debug, Clone)]
enum Form {
    Whole { kind: u8, contents: Vec<u8> },
    Offset(Index),
    Reference(Index),
}

#[derive(Debug, Clone)]
enum Lie {
    Entry,
    Base,
    Object,
}

#[derive(Debug, Clone)]
enum RandomInstruction {
    Copy(Index, Index),
    WildCopy(u32, u32),
    Insert(Vec<u8>),
    Unknown,
}

fn entry() -> impl Strategy<Value = RandomEntry> {
    let contents = prop_oneof![
        4 => prop::collection::vec(any::<u8>(), 0..60),
        1 => (any::<u8>(), 0_usize..200_000).prop_map(|(byte, count)| vec![byte; count]),
    ];
    let kind = prop_oneof![20 => 1_u8..=4, 1 => any::<u8>().prop_map(|kind| kind & 7)];
    let form = prop_oneof![
        (kind, contents).prop_map(|(kind, contents)| Form::Whole { kind, contents }),
        any::<Index>().prop_map(Form::Offset),
        any::<Index>().prop_map(Form::Reference),
    ];
    let instruction = prop_oneof![
        20 => (any::<Index>(), any::<Index>()).prop_map(|(start, end)| RandomInstruction::Copy(start, end)),
        20 => prop::collection::vec(any::<u8>(), 1..40).prop_map(RandomInstruction::Insert),
        1 => (any::<u32>(), 0_u32..1 << 24).prop_map(|(start, count)| RandomInstruction::WildCopy(start, count)),
        1 => Just(RandomInstruction::Unknown),
    ];
    let lie = prop_oneof![Just(Lie::Entry), Just(Lie::Base), Just(Lie::Object)];
    let lie = prop::option::weighted(0.04, (lie, -3..=3_i8));
    (form, lie, prop::collection::vec(instruction, 0..6)).prop_map(|(form, lie, instructions)| RandomEntry {
        form,
        lie,
        instructions,
    })
}

/// Writes the entries; objects that could be made are bases for what follows.
fn build(entries: &[RandomEntry]) -> Vec<u8> {
    let mut builder = Builder::new();
    // Offset, kind, contents.
    let mut objects: Vec<(u64, u8, Vec<u8>)> = Vec::new();
    for entry in entries {
        let told = |lie: fn(&Lie) -> bool, truth: usize| match &entry.lie {
            Some((kind, by)) if lie(kind) => (truth as u64).saturating_add_signed(i64::from(*by)),
            _ => truth as u64,
        };
        let position = builder.position();
        let base_index = match &entry.form {
            Form::Whole { kind, contents } => {
                let size = told(|lie| matches!(lie, Lie::Entry), contents.len());
                builder.entry(*kind, size, &[], contents);
                objects.push((position, *kind, contents.clone()));
                continue;
            }
            Form::Offset(base) | Form::Reference(base) => base,
        };
        let unknown = (position.saturating_sub(9), BLOB, b"nothing".to_vec());
        let (offset, kind, base) = match objects.len() {
            0 => unknown,
            length => objects[base_index.index(length)].clone(),
        };
        let (instructions, made) = instructions(&entry.instructions, &base);
        let bytes = delta(
            told(|lie| matches!(lie, Lie::Base), base.len()),
            told(|lie| matches!(lie, Lie::Object), made.len()),
            &instructions,
        );
        match &entry.form {
            Form::Offset(_) => builder.offset_delta(position - offset, &bytes),
            _ => {
                let kinds = [
                    gix::objs::Kind::Commit,
                    gix::objs::Kind::Tree,
                    gix::objs::Kind::Blob,
                ];
                let kind = kinds.get(usize::from(kind).wrapping_sub(1)).copied();
                let kind = kind.unwrap_or(gix::objs::Kind::Tag);
                let id = gix::objs::compute_hash(super::SHA1, kind, &base).unwrap();
                builder.reference_delta(&id, &bytes)
            }
        };
        objects.push((position, kind, made));
    }
    builder.finish()
}

/// Instructions on a base, and what they make of it.
fn instructions(random: &[RandomInstruction], base: &[u8]) -> (Vec<Instruction>, Vec<u8>) {
    let mut made = Vec::new();
    let written = random.iter().filter_map(|instruction| match instruction {
        RandomInstruction::Copy(start, end) => {
            let (start, end) = (start.index(base.len() + 1), end.index(base.len() + 1));
            let (start, end) = (start.min(end), start.max(end));
            made.extend_from_slice(&base[start..end]);
            // Zero means another number.
            let (position, count) = (start as u32, (end - start) as u32);
            (count > 0 && count != 0x1_0000).then_some(Instruction::Copy { position, count })
        }
        RandomInstruction::WildCopy(position, count) => Some(Instruction::Copy {
            position: *position,
            count: *count,
        }),
        RandomInstruction::Insert(bytes) => {
            made.extend_from_slice(bytes);
            Some(Instruction::Insert(bytes.clone()))
        }
        RandomInstruction::Unknown => Some(Instruction::Unknown),
    });
    let written = written.collect();
    (written, made)
}

/// Damage to a finished pack.
#[derive(Debug, Clone)]
struct Blow {
    flips: Vec<(Index, u8)>,
    cut: Option<Index>,
    sealed: bool,
}

fn blow() -> impl Strategy<Value = Blow> {
    let flips = prop::collection::vec((any::<Index>(), any::<u8>()), 0..4);
    let cut = prop::option::weighted(0.1, any::<Index>());
    (flips, cut, any::<bool>()).prop_map(|(flips, cut, sealed)| Blow { flips, cut, sealed })
}

impl Blow {
    fn strike(&self, pack: &[u8]) -> Vec<u8> {
        let mut body = pack[..pack.len() - 20].to_vec();
        for (at, value) in &self.flips {
            let at = at.index(body.len());
            body[at] = *value;
        }
        if let Some(at) = &self.cut {
            body.truncate(at.index(body.len()));
        }
        if self.sealed {
            return seal(body);
        }
        body.extend_from_slice(&pack[pack.len() - 20..]);
        body
    }
}

/// Reads the pack if it is one, and asks git whether it should be.
fn judge(pack: &[u8]) -> Result<(), TestCaseError> {
    let indexed = index(pack);
    let accepted = git_accepts(pack);
    match indexed {
        Ok((pack, _directory)) => {
            prop_assert!(accepted, "git refuses it");
            read_all(&pack);
        }
        Err(error) => prop_assert!(!accepted, "git accepts it: {error}"),
    }
    Ok(())
}

fn runner() -> TestRunner {
    let mut config = ProptestConfig::default();
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = 100;
    }
    TestRunner::new(config)
}

#[test]
fn packs_are_accepted_as_git_accepts_them() {
    let entries = prop::collection::vec(entry(), 0..12);
    runner().run(&entries, |entries| judge(&build(&entries))).unwrap();
}

#[test]
fn damaged_packs_are_accepted_as_git_accepts_them() {
    let cases = (prop::collection::vec(entry(), 1..8), blow());
    runner()
        .run(&cases, |(entries, blow)| judge(&blow.strike(&build(&entries))))
        .unwrap();
}

#[test]
fn damaged_packs_of_git_are_never_misread() {
    let packs = [
        super::repositories::history(30, &["--window=20", "--depth=30", "--delta-base-offset"]),
        super::repositories::history(12, &["--window=5", "--depth=4"]),
    ];
    let sound: Vec<_> = packs
        .iter()
        .map(|pack| read_all(&index(pack).unwrap().0))
        .collect();
    runner()
        .run(&(0..packs.len(), blow()), |(which, blow)| {
            if let Ok((pack, _directory)) = index(&blow.strike(&packs[which])) {
                // Each object has been compared with its hash; most blows hit something.
                prop_assert!(!read_all(&pack).is_empty() || sound[which].is_empty());
            }
            Ok(())
        })
        .unwrap();
}
