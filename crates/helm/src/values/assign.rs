//! The language of `--set` and its relatives: `a.b[0]=x,c={1,2}`.

use serde_json::Value as Json;

use super::{Values, go_numbers};

/// The largest index of a list.
const MAX_INDEX: i64 = 65_536;
/// The deepest nesting of names.
const MAX_NAMES: usize = 30;

/// Where the text of `--set-file` comes from.
pub(super) type ReadFile<'read> = &'read dyn Fn(&str) -> Result<String, String>;

/// What an assigned text becomes.
#[derive(Clone, Copy)]
pub(super) enum Mode<'read> {
    /// What it looks like.
    Typed,
    /// A string.
    Text,
    /// JSON.
    Json,
    /// The contents of the file of that name.
    File(ReadFile<'read>),
    /// A string up to the end of the argument, without escapes.
    Literal,
}

/// Why a step ended.
enum Stop {
    /// The text is over, which is no mistake.
    End,
    Problem(String),
}

type Step<T> = Result<T, Stop>;

fn problem<T>(text: impl Into<String>) -> Step<T> {
    Err(Stop::Problem(text.into()))
}

/// Applies all assignments of `text` to `values`.
///
/// # Errors
/// Helm's text. Assignments before the mistake have been made.
pub(super) fn assign(text: &str, mode: Mode<'_>, values: &mut Values) -> Result<(), String> {
    let mut parser = Parser {
        text: text.chars().collect(),
        at: 0,
        mode,
    };
    loop {
        match parser.key(values, 0) {
            Ok(()) => {}
            Err(Stop::End) => return Ok(()),
            Err(Stop::Problem(problem)) => return Err(problem),
        }
    }
}

struct Parser<'read> {
    text: Vec<char>,
    at: usize,
    mode: Mode<'read>,
}

/// What stands before a stop character, and which it is; None at the end of the text.
struct Until {
    text: String,
    stop: Option<char>,
}

impl Parser<'_> {
    fn is_literal(&self) -> bool {
        matches!(self.mode, Mode::Literal)
    }

    fn next(&mut self) -> Option<char> {
        let character = self.text.get(self.at).copied();
        self.at += usize::from(character.is_some());
        character
    }

    fn until(&mut self, stops: &[char]) -> Until {
        let mut text = String::new();
        loop {
            match self.next() {
                None => return Until { text, stop: None },
                Some(stop) if stops.contains(&stop) => {
                    return Until {
                        text,
                        stop: Some(stop),
                    };
                }
                Some('\\') if !self.is_literal() => match self.next() {
                    None => return Until { text, stop: None },
                    Some(escaped) => text.push(escaped),
                },
                Some(other) => text.push(other),
            }
        }
    }

    fn key(&mut self, values: &mut Values, names: usize) -> Step<()> {
        let stops: &[char] = if self.is_literal() {
            &['=', '[', '.']
        } else {
            &['=', '[', ',', '.']
        };
        let Until { text: key, stop } = self.until(stops);
        match stop {
            None if key.is_empty() => Err(Stop::End),
            None => problem(format!("key {} has no value", crate::text::quoted(&key))),
            Some('[') => {
                let index = self.index()?;
                let mut list = match values.get_mut(&key) {
                    None => Vec::new(),
                    Some(Json::Array(list)) => std::mem::take(list),
                    Some(other) => return problem(not_expected(other, "[]interface {}")),
                };
                let outcome = self.item(&mut list, index, names);
                set(values, key, Json::Array(list));
                outcome
            }
            Some('=') => self.assignment(values, key),
            Some('.') => self.inner(values, key, names + 1),
            Some(_) => {
                let quoted = crate::text::quoted(&key);
                set(values, key, Json::String(String::new()));
                problem(format!("key {quoted} has no value (cannot end with ,)"))
            }
        }
    }

    fn inner(&mut self, values: &mut Values, key: String, names: usize) -> Step<()> {
        if names > MAX_NAMES {
            return problem(format!(
                "value name nested level is greater than maximum supported nested level of {MAX_NAMES}"
            ));
        }
        let mut inner = match values.get_mut(&key) {
            None => Values::new(),
            Some(Json::Object(inner)) => std::mem::take(inner),
            Some(other) => return problem(not_expected(other, "map[string]interface {}")),
        };
        let outcome = self.key(&mut inner, names);
        if outcome.is_ok() && inner.is_empty() {
            return problem(format!("key map {} has no value", crate::text::quoted(&key)));
        }
        if !inner.is_empty() || values.contains_key(&key) {
            set(values, key, Json::Object(inner));
        }
        outcome
    }

    fn assignment(&mut self, values: &mut Values, key: String) -> Step<()> {
        match self.mode {
            Mode::Json => {
                let value = self.json()?;
                set(values, key, value);
                Ok(())
            }
            Mode::Literal => {
                let value = self.until(&[]).text;
                set(values, key, Json::String(value));
                Ok(())
            }
            _ => match self.list() {
                Ok(Some(list)) => {
                    set(values, key, Json::Array(list));
                    Ok(())
                }
                Err(Stop::End) => {
                    set(values, key, Json::String(String::new()));
                    Err(Stop::End)
                }
                Err(other) => Err(other),
                Ok(None) => {
                    let text = self.until(&[',']).text;
                    let value = self.value(text)?;
                    set(values, key, value);
                    Ok(())
                }
            },
        }
    }

    fn index(&mut self) -> Step<i64> {
        let Until { text, stop } = self.until(&[']']);
        if stop.is_none() {
            return problem("error parsing index: EOF");
        }
        text.parse().or_else(|error: std::num::ParseIntError| {
            let reason = match error.kind() {
                std::num::IntErrorKind::PosOverflow | std::num::IntErrorKind::NegOverflow => {
                    "value out of range"
                }
                _ => "invalid syntax",
            };
            let text = crate::text::quoted(&text);
            problem(format!(
                "error parsing index: strconv.Atoi: parsing {text}: {reason}"
            ))
        })
    }

    fn item(&mut self, list: &mut Vec<Json>, index: i64, names: usize) -> Step<()> {
        if index < 0 {
            return problem(format!("negative {index} index not allowed"));
        }
        let Until { text, stop } = self.until(&['[', '.', '=']);
        if !text.is_empty() {
            let text = crate::text::quoted(&text);
            return problem(format!("unexpected data at end of array index: {text}"));
        }
        let place = usize::try_from(index).unwrap_or(usize::MAX);
        match stop {
            None => Err(Stop::End),
            Some('=') => {
                let value = self.item_value()?;
                set_index(list, index, value)
            }
            Some('[') => {
                let next = self.index()?;
                let mut inner = match list.get_mut(place) {
                    None | Some(Json::Null) => Vec::new(),
                    Some(Json::Array(inner)) => inner.clone(),
                    Some(other) => return problem(not_expected(other, "[]interface {}")),
                };
                self.item(&mut inner, next, names)?;
                set_index(list, index, Json::Array(inner))
            }
            Some(_) => {
                let mut inner = match list.get_mut(place) {
                    Some(Json::Object(inner)) => std::mem::take(inner),
                    _ => Values::new(),
                };
                let outcome = self.key(&mut inner, names);
                match list.get_mut(place) {
                    Some(slot) => {
                        *slot = Json::Object(inner);
                        outcome
                    }
                    None => {
                        outcome?;
                        set_index(list, index, Json::Object(inner))
                    }
                }
            }
        }
    }

    fn item_value(&mut self) -> Step<Json> {
        match self.mode {
            Mode::Json => self.json(),
            Mode::Literal => Ok(Json::String(self.until(&[]).text)),
            _ => match self.list() {
                Ok(Some(list)) => Ok(Json::Array(list)),
                Err(Stop::End) => Ok(Json::String(String::new())),
                Err(other) => Err(other),
                Ok(None) => {
                    let text = self.until(&[',']).text;
                    self.value(text)
                }
            },
        }
    }

    /// One JSON value and the comma after it; nothing at all is null.
    fn json(&mut self) -> Step<Json> {
        if self.skip_empty() {
            return Ok(Json::Null);
        }
        let rest: String = self.text.get(self.at..).unwrap_or_default().iter().collect();
        let mut stream = serde_json::Deserializer::from_str(&rest).into_iter::<Json>();
        let value = match stream.next() {
            Some(Ok(value)) => value,
            Some(Err(error)) => return problem(error.to_string()),
            None => return problem("EOF"),
        };
        let read = rest.get(..stream.byte_offset()).unwrap_or_default();
        self.at += read.chars().count();
        self.skip_empty();
        Ok(go_numbers(value))
    }

    /// Skips space and one comma; whether there was nothing else before the comma or the end.
    fn skip_empty(&mut self) -> bool {
        loop {
            match self.text.get(self.at) {
                None => return true,
                Some(',') => {
                    self.at += 1;
                    return true;
                }
                Some(&space) if crate::text::is_space(space) => self.at += 1,
                Some(_) => return false,
            }
        }
    }

    /// A list in braces; None where there is no brace.
    fn list(&mut self) -> Step<Option<Vec<Json>>> {
        match self.next() {
            None => return Err(Stop::End),
            Some('{') => {}
            Some(_) => {
                self.at -= 1;
                return Ok(None);
            }
        }
        let mut list = Vec::new();
        loop {
            let Until { text, stop } = self.until(&[',', '}']);
            match stop {
                None => return problem("list must terminate with '}'"),
                Some(',') => list.push(self.value(text)?),
                Some(_) => {
                    if self.text.get(self.at) == Some(&',') {
                        self.at += 1;
                    }
                    list.push(self.value(text)?);
                    return Ok(Some(list));
                }
            }
        }
    }

    fn value(&self, text: String) -> Step<Json> {
        match self.mode {
            Mode::Typed => Ok(typed(text)),
            Mode::File(read) => read(&text).map(Json::String).map_err(Stop::Problem),
            Mode::Text | Mode::Json | Mode::Literal => Ok(Json::String(text)),
        }
    }
}

fn typed(text: String) -> Json {
    let is = |word: &str| text.eq_ignore_ascii_case(word);
    if is("true") || is("false") {
        return Json::Bool(is("true"));
    }
    if is("null") {
        return Json::Null;
    }
    if text == "0" {
        return 0.into();
    }
    if !text.starts_with('0')
        && let Ok(number) = text.parse::<i64>()
    {
        return number.into();
    }
    Json::String(text)
}

fn set(values: &mut Values, key: String, value: Json) {
    if !key.is_empty() {
        values.insert(key, value);
    }
}

fn set_index(list: &mut Vec<Json>, index: i64, value: Json) -> Step<()> {
    if index > MAX_INDEX {
        return problem(format!(
            "index of {index} is greater than maximum supported index of {MAX_INDEX}"
        ));
    }
    let place = usize::try_from(index).unwrap_or(usize::MAX);
    if list.len() <= place {
        list.resize(place + 1, Json::Null);
    }
    if let Some(slot) = list.get_mut(place) {
        *slot = value;
    }
    Ok(())
}

/// What Go says where a value has another type than the name before it demands.
fn not_expected(value: &Json, wanted: &str) -> String {
    let found = match value {
        Json::Null => "nil",
        other => super::go_type(other),
    };
    format!("unable to parse key: interface conversion: interface {{}} is {found}, not {wanted}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn assigned(text: &str, mode: Mode<'_>) -> Result<Json, String> {
        let mut values = Values::new();
        assign(text, mode, &mut values).map(|()| Json::Object(values))
    }

    #[test]
    fn texts_become_what_they_look_like() {
        for (text, wanted) in [
            (
                "a=1,b=true,c=null,d=007,e=1.5,f=x",
                json!({"a": 1, "b": true, "c": null, "d": "007", "e": "1.5", "f": "x"}),
            ),
            ("a.b.c=x", json!({"a": {"b": {"c": "x"}}})),
            ("a[1]=x,a[0].b={1,y}", json!({"a": [{"b": [1, "y"]}, "x"]})),
            ("a[0][1]=x", json!({"a": [[null, "x"]]})),
            (r"a=x\,y,b\.c=1", json!({"a": "x,y", "b.c": 1})),
            ("a={}", json!({"a": [""]})),
        ] {
            assert_eq!(assigned(text, Mode::Typed), Ok(wanted), "{text}");
        }
        assert_eq!(assigned("a=1", Mode::Text), Ok(json!({"a": "1"})));
        assert_eq!(
            assigned(r"a.b=x,y={\z", Mode::Literal),
            Ok(json!({"a": {"b": r"x,y={\z"}}))
        );
        assert_eq!(
            assigned(r#"a={"b": [1, null]},c=,d[1]="x""#, Mode::Json),
            Ok(json!({"a": {"b": [1.0, null]}, "c": null, "d": [null, "x"]}))
        );
    }

    #[test]
    fn mistakes_have_the_text_of_helm() {
        for (text, wanted) in [
            ("a", "key \"a\" has no value"),
            ("a,b=1", "key \"a\" has no value (cannot end with ,)"),
            (
                "a[x]=1",
                "error parsing index: strconv.Atoi: parsing \"x\": invalid syntax",
            ),
            ("a[-1]=1", "negative -1 index not allowed"),
            (
                "a[70000]=1",
                "index of 70000 is greater than maximum supported index of 65536",
            ),
            ("a={1", "list must terminate with '}'"),
            (
                "a=1,a.b=2",
                "unable to parse key: interface conversion: interface {} is int64, not map[string]interface {}",
            ),
        ] {
            assert_eq!(assigned(text, Mode::Typed).unwrap_err(), wanted, "{text}");
        }
        assert!(
            assigned(&"a.".repeat(40), Mode::Typed)
                .unwrap_err()
                .contains("nested level")
        );
    }
}
