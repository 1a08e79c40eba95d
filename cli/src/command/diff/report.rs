//! Deviations as text.

use serde_json::Value;

use super::structure::{Detail, Deviation};
use crate::error::Result;
use crate::output::yaml;

/// Longer texts are not compared line by line: the work grows with the product of their lines.
const MOST_LINES: usize = 2000;

/// Writes deviations, each under its path, with an empty line around each.
///
/// # Errors
/// A value that YAML cannot hold.
pub(super) fn write(deviations: &[Deviation]) -> Result<String> {
    let mut text = String::new();
    for deviation in deviations {
        let path = if deviation.path.is_empty() {
            "(root level)".to_owned()
        } else {
            deviation.path.join(".")
        };
        text.push_str(&format!("\n{path}\n"));
        for detail in &deviation.details {
            text.push_str(&describe(detail)?);
        }
    }
    text.push('\n');
    Ok(text)
}

fn describe(detail: &Detail) -> Result<String> {
    Ok(match detail {
        Detail::Removed(entries) => format!("- {} removed:\n{}", count(entries), indented(entries)?),
        Detail::Added(entries) => format!("+ {} added:\n{}", count(entries), indented(entries)?),
        Detail::Reordered(before, after) => format!(
            "⇆ order changed\n- {}\n+ {}\n",
            before.join(", "),
            after.join(", ")
        ),
        Detail::Changed(Value::String(before), Value::String(after)) => describe_texts(before, after),
        Detail::Changed(before, after) => {
            let headline = match (kind_of(before), kind_of(after)) {
                (from, to) if from == to => "± value change".to_owned(),
                (from, to) => format!("± type change from {from} to {to}"),
            };
            format!(
                "{headline}\n{}{}",
                prefixed("- ", &scalar(before)?),
                prefixed("+ ", &scalar(after)?)
            )
        }
    })
}

fn describe_texts(before: &str, after: &str) -> String {
    let is_blank_change = before.split_whitespace().eq(after.split_whitespace());
    if is_blank_change {
        let shown = |text: &str| text.replace(' ', "·").replace('\n', "↵\n");
        return format!(
            "± whitespace only change\n{}{}",
            prefixed("- ", &shown(before)),
            prefixed("+ ", &shown(after))
        );
    }
    if before.contains('\n') || after.contains('\n') {
        return describe_lines(before, after);
    }
    format!("± value change\n- {before}\n+ {after}\n")
}

/// A change within a text of several lines: only the lines that differ.
fn describe_lines(before: &str, after: &str) -> String {
    let before: Vec<&str> = before.lines().collect();
    let after: Vec<&str> = after.lines().collect();
    let (mut inserts, mut deletions) = (0, 0);
    let mut lines = String::new();
    for (sign, line) in line_changes(&before, &after) {
        if sign == '+' {
            inserts += 1;
        } else {
            deletions += 1;
        }
        lines.push_str(&format!("{sign} {line}\n"));
    }
    format!(
        "± value change in multiline text ({}, {})\n{lines}\n",
        plural(inserts, "insert", "inserts"),
        plural(deletions, "deletion", "deletions")
    )
}

/// The lines that come and go, from a longest common subsequence.
fn line_changes<'text>(before: &[&'text str], after: &[&'text str]) -> Vec<(char, &'text str)> {
    if before.len() > MOST_LINES || after.len() > MOST_LINES {
        let gone = before.iter().map(|line| ('-', *line));
        return gone.chain(after.iter().map(|line| ('+', *line))).collect();
    }
    let width = after.len() + 1;
    let mut common = vec![0_u32; (before.len() + 1) * width];
    for row in (0..before.len()).rev() {
        for column in (0..after.len()).rev() {
            common[row * width + column] = if before[row] == after[column] {
                common[(row + 1) * width + column + 1] + 1
            } else {
                common[(row + 1) * width + column].max(common[row * width + column + 1])
            };
        }
    }
    let mut changes = Vec::new();
    let (mut row, mut column) = (0, 0);
    while row < before.len() || column < after.len() {
        let both = row < before.len() && column < after.len();
        if both && before[row] == after[column] {
            row += 1;
            column += 1;
        } else if column == after.len()
            || (both && common[(row + 1) * width + column] >= common[row * width + column + 1])
        {
            changes.push(('-', before[row]));
            row += 1;
        } else {
            changes.push(('+', after[column]));
            column += 1;
        }
    }
    changes
}

fn count(entries: &Value) -> String {
    match entries {
        Value::Object(map) => plural(map.len(), "map entry", "map entries"),
        Value::Array(list) => plural(list.len(), "list entry", "list entries"),
        _ => plural(1, "entry", "entries"),
    }
}

fn plural(count: usize, one: &str, many: &str) -> String {
    const WORDS: [&str; 13] = [
        "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
        "twelve",
    ];
    let number = WORDS
        .get(count)
        .map_or_else(|| count.to_string(), |word| (*word).to_owned());
    format!("{number} {}", if count == 1 { one } else { many })
}

fn indented(entries: &Value) -> Result<String> {
    Ok(yaml(entries)?.lines().map(|line| format!("  {line}\n")).collect())
}

fn scalar(value: &Value) -> Result<String> {
    match value {
        Value::Null => Ok("<nil>".to_owned()),
        Value::String(text) => Ok(text.clone()),
        other => Ok(yaml(other)?.trim_end().to_owned()),
    }
}

/// The text with the prefix before its first line and as much space before the others.
fn prefixed(prefix: &str, text: &str) -> String {
    let mut prefixed = String::new();
    for (number, line) in text.split('\n').enumerate() {
        prefixed.push_str(if number == 0 { prefix } else { "  " });
        prefixed.push_str(line);
        prefixed.push('\n');
    }
    prefixed
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float",
        Value::Number(_) => "int",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "map",
    }
}

#[cfg(test)]
mod tests {
    use super::super::structure::compare;
    use super::*;
    use serde_json::json;

    #[test]
    fn deviations_read_like_those_of_flux() {
        let before = json!({"spec": {"ports": [{"name": "http", "port": 9899}], "type": "ClusterIP", "size": 1},
            "data": {"text": "one\ntwo\nthree\n", "old": "x", "blank": "a b"}});
        let after = json!({"spec": {"ports": [{"name": "http", "port": 9898}, {"name": "grpc", "port": 9}],
            "type": "NodePort", "size": "1"}, "data": {"text": "one\n2\nthree\nfour\n", "new": "y", "blank": "a  b"}});
        insta::assert_snapshot!(write(&compare(&before, &after)).unwrap(), @r#"
    data
    - one map entry removed:
      old: x
    + one map entry added:
      new: "y"

    data.blank
    ± whitespace only change
    - a·b
    + a··b

    data.text
    ± value change in multiline text (two inserts, one deletion)
    - two
    + 2
    + four


    spec.ports
    + one list entry added:
      - name: grpc
        port: 9

    spec.ports.http.port
    ± value change
    - 9899
    + 9898

    spec.size
    ± type change from int to string
    - 1
    + 1

    spec.type
    ± value change
    - ClusterIP
    + NodePort
    "#);
    }
}
