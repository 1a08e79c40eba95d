//! Aligned tables.

/// Rows under headers; the columns are as wide as their widest cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Table {
    headers: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table with these headers, printed in upper case.
    pub(crate) fn new(headers: &[&str]) -> Self {
        Self {
            headers: headers.iter().map(|header| header.to_uppercase()).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; missing cells are empty, line breaks become spaces.
    pub(crate) fn push(&mut self, row: Vec<String>) {
        self.rows.push(
            row.into_iter()
                .map(|cell| cell.replace(['\n', '\r', '\t'], " "))
                .collect(),
        );
    }

    /// Whether there is no row.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The text, each line ending with a newline; the last column is not padded. Columns are separated by a tab
    /// after their padding, as the `flux` command line prints them, so scripts that cut at tabs keep working.
    pub(crate) fn render(&self, with_header: bool) -> String {
        let lines = || with_header.then_some(&self.headers).into_iter().chain(&self.rows);
        let columns = self.headers.len();
        let width = |column: usize| {
            lines()
                .filter_map(|line| line.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for line in lines() {
            let cells: Vec<String> = widths
                .iter()
                .enumerate()
                .map(|(column, width)| {
                    let cell = line.get(column).map(String::as_str).unwrap_or_default();
                    let padding = if column + 1 == columns {
                        0
                    } else {
                        width - cell.chars().count()
                    };
                    format!("{cell}{}", " ".repeat(padding))
                })
                .collect();
            text.push_str(&cells.join("\t"));
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(&["name", "ready", "message"]);
        table.push(vec!["apps".into(), "True".into(), "Applied\nrevision".into()]);
        table.push(vec!["infrastructure".into(), "False".into(), String::new()]);
        assert_eq!(
            table.render(true),
            "NAME          \tREADY\tMESSAGE\n\
             apps          \tTrue \tApplied revision\n\
             infrastructure\tFalse\t\n"
        );
        assert!(table.render(false).starts_with("apps"));
    }
}
