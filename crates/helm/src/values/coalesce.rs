//! How values of a user, of a chart and of the charts inside it become one, with all the rules for nulls.
//!
//! Tables are [`Map`]s, which share their entries when cloned as Go's maps do. That is no accident: where
//! Helm forgets to copy, a change shows in two places, and charts see it.

use sluice_gotemplate::{List, Map, Text, Value};

use super::GLOBAL;
use crate::dependencies::Branch;
use crate::log::Log;

/// The chart has a section that is no table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("type mismatch on {chart}: {printed}")]
pub struct TypeMismatch {
    /// The name of the chart inside the chart.
    pub chart: String,
    /// What stands under its name, as Helm prints it.
    pub printed: String,
}

/// The values for `chart` and those inside it, `values` over the defaults. Nulls take keys away.
pub(crate) fn coalesce_values(chart: &Branch, values: &Map, log: &mut Log) -> Result<Map, TypeMismatch> {
    let target = copy_map(values);
    Coalescing { log }.chart(chart, &target, "", false)?;
    Ok(target)
}

/// As [`coalesce_values`], but nulls stay.
pub(crate) fn merge_values(chart: &Branch, values: &Map, log: &mut Log) -> Result<Map, TypeMismatch> {
    let target = copy_map(values);
    Coalescing { log }.chart(chart, &target, "", true)?;
    Ok(target)
}

/// Merges `source` under `target`, in place; nulls stay.
pub(crate) fn merge_tables(target: &Map, source: &Map, log: &mut Log) {
    Coalescing { log }.tables(target, source, "", true);
}

/// A copy that shares nothing.
pub(crate) fn deep_copy(value: &Value) -> Value {
    match value {
        Value::Map(map) => Value::Map(copy_map(map)),
        Value::List(list) => Value::List(List::typed(
            list.element_type(),
            list.as_slice().iter().map(deep_copy).collect(),
        )),
        other => other.clone(),
    }
}

fn copy_map(map: &Map) -> Map {
    let entries = map.entries().into_iter();
    Map::from_iter(entries.map(|(key, value)| (key, deep_copy(&value))))
}

fn shallow_copy(map: &Map) -> Map {
    Map::from_iter(map.entries())
}

fn prefixed(prefix: &str, name: &str) -> String {
    if prefix.is_empty() {
        name.to_owned()
    } else {
        format!("{prefix}.{name}")
    }
}

/// Takes all nulls out, in place.
fn clean_nulls(map: &Map) {
    for (key, value) in map.entries() {
        match value {
            Value::Nil => {
                map.remove(&key);
            }
            Value::Map(inner) => clean_nulls(&inner),
            _ => {}
        }
    }
}

struct Coalescing<'log> {
    log: &'log mut Log,
}

impl Coalescing<'_> {
    fn chart(&mut self, chart: &Branch, target: &Map, prefix: &str, merge: bool) -> Result<(), TypeMismatch> {
        self.defaults(chart, target, prefix, merge);
        let prefix = prefixed(prefix, chart.name());
        for inner in &chart.dependencies {
            let section = match target.get(inner.name()) {
                None => {
                    let section = Map::new();
                    target.insert(inner.name(), Value::Map(section.clone()));
                    section
                }
                Some(Value::Map(section)) => section,
                Some(other) => return Err(mismatch(inner.name(), &other)),
            };
            self.globals(&section, target, &prefix);
            self.chart(inner, &section, &prefix, merge)?;
        }
        Ok(())
    }

    /// Hands the table `global` of `source` down into `target`; what comes from above wins.
    fn globals(&mut self, target: &Map, source: &Map, prefix: &str) {
        let Some(below) = self.global_table(target, "destination") else {
            return;
        };
        let Some(above) = self.global_table(source, "source") else {
            return;
        };
        for (key, value) in above.entries() {
            match (value, below.get(&key)) {
                (Value::Map(table), None) => {
                    below.insert(key, Value::Map(shallow_copy(&table)));
                }
                (Value::Map(table), Some(Value::Map(own))) => {
                    // Only the first level is a copy, in Helm too.
                    let table = shallow_copy(&table);
                    self.tables(&table, &own, &prefixed(prefix, &key.to_text()), true);
                    below.insert(key, Value::Map(table));
                }
                (Value::Map(_), Some(_)) => self.log.warn(format!(
                    "Conflict: cannot merge map onto non-map for {}. Skipping.",
                    crate::text::quoted(&key.to_text())
                )),
                (_, Some(Value::Map(_))) => self.log.warn(format!("key {key} is table. Skipping")),
                (value, _) => {
                    below.insert(key, value);
                }
            }
        }
        target.insert(GLOBAL, Value::Map(below));
    }

    fn global_table(&mut self, values: &Map, side: &str) -> Option<Map> {
        match values.get(GLOBAL) {
            None => Some(Map::new()),
            Some(Value::Map(table)) => Some(table),
            Some(_) => {
                self.log.warn(format!(
                    "warning: skipping globals because {side} {GLOBAL} is not a table."
                ));
                None
            }
        }
    }

    /// Puts the chart's own defaults under `target`.
    fn defaults(&mut self, chart: &Branch, target: &Map, prefix: &str, merge: bool) {
        let prefix = prefixed(prefix, chart.name());
        let defaults = chart.values.as_ref().map(copy_map).unwrap_or_default();
        for (key, default) in defaults.entries() {
            match target.get(&key) {
                Some(Value::Nil) if !merge => {
                    target.remove(&key);
                }
                Some(Value::Map(table)) => match default {
                    Value::Map(default) => {
                        let is_chart = chart
                            .dependencies
                            .iter()
                            .any(|inner| key == Text::from(inner.name()));
                        let merge = merge || is_chart;
                        if !merge {
                            clean_nulls(&default);
                        }
                        self.tables(&table, &default, &prefixed(&prefix, &key.to_text()), merge);
                    }
                    Value::Nil => {}
                    _ => self
                        .log
                        .warn(format!("warning: skipped value for {prefix}.{key}: Not a table.")),
                },
                Some(_) => {}
                None => {
                    match &default {
                        Value::Nil if !merge => continue,
                        Value::Map(table) if !merge => clean_nulls(table),
                        _ => {}
                    }
                    target.insert(key, default);
                }
            }
        }
    }

    fn tables(&mut self, target: &Map, source: &Map, prefix: &str, merge: bool) {
        if source.is_nil() || target.is_nil() {
            return;
        }
        let had_value: std::collections::HashSet<Text> = source
            .entries()
            .into_iter()
            .filter(|(_, value)| !value.is_nil())
            .map(|(key, _)| key)
            .collect();
        for (key, value) in target.entries() {
            if value.is_nil() {
                source.insert(key, Value::Nil);
            }
        }
        for (key, value) in source.entries() {
            match (target.get(&key), value) {
                (Some(Value::Nil), _) if !merge && had_value.contains(&key) => {
                    target.remove(&key);
                }
                (None, value) => {
                    target.insert(key, value);
                }
                (Some(Value::Map(own)), Value::Map(table)) => {
                    self.tables(&own, &table, &prefixed(prefix, &key.to_text()), merge);
                }
                (Some(_), Value::Map(table)) => {
                    let place = prefixed(prefix, &key.to_text());
                    let text = printed(&Value::Map(table));
                    self.log.warn(format!(
                        "warning: cannot overwrite table with non table for {place} ({text})"
                    ));
                }
                (Some(Value::Map(_)), value) if !value.is_nil() => {
                    let place = prefixed(prefix, &key.to_text());
                    let text = printed(&value);
                    self.log.warn(format!(
                        "warning: destination for {place} is a table. Ignoring non-table value ({text})"
                    ));
                }
                _ => {}
            }
        }
    }
}

/// `%v` of a value.
fn printed(value: &Value) -> String {
    sluice_gotemplate::print::printf(b"%v", std::slice::from_ref(value), 1 << 20)
        .map(|text| String::from_utf8_lossy(&text).into_owned())
        .unwrap_or_default()
}

fn mismatch(chart: &str, value: &Value) -> TypeMismatch {
    let printed = sluice_gotemplate::print::printf(b"%t", std::slice::from_ref(value), 1 << 20)
        .map(|text| String::from_utf8_lossy(&text).into_owned())
        .unwrap_or_default();
    TypeMismatch {
        chart: chart.to_owned(),
        printed,
    }
}
