use std::cmp::Ordering;

/// The order of keys that yaml.v2 and yaml.v3 write: letters after other characters, runs of digits by
/// their value.
///
/// Both orders have cycles in rare cases (`a10 < a1b < a9 < a10` in yaml.v2), where Go's result varies from
/// run to run; here the result is then some fixed one.
pub(crate) fn natural_order(a: &str, b: &str, v3: bool) -> Ordering {
    if a.is_ascii() && b.is_ascii() {
        return compare(a.as_bytes(), b.as_bytes(), v3);
    }
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    compare(&a, &b, v3)
}

trait Letter: Copy + Ord {
    fn is_letter(self) -> bool;
    fn digit(self) -> Option<i64>;
}

impl Letter for u8 {
    fn is_letter(self) -> bool {
        self.is_ascii_alphabetic()
    }

    fn digit(self) -> Option<i64> {
        self.is_ascii_digit().then(|| i64::from(self - b'0'))
    }
}

impl Letter for char {
    fn is_letter(self) -> bool {
        self.is_alphabetic()
    }

    fn digit(self) -> Option<i64> {
        self.to_digit(10).map(i64::from)
    }
}

fn compare<L: Letter>(a: &[L], b: &[L], v3: bool) -> Ordering {
    let common = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (Some(&x), Some(&y)) = (a.get(common), b.get(common)) else {
        return a.len().cmp(&b.len());
    };
    match (x.is_letter(), y.is_letter()) {
        (true, true) => return x.cmp(&y),
        (false, false) => {}
        (x_is_letter, _) => {
            let in_digits = v3 && common > 0 && a[common - 1].digit().is_some();
            return if x_is_letter == in_digits {
                Ordering::Less
            } else {
                Ordering::Greater
            };
        }
    }
    let zero = x.digit() == Some(0) || y.digit() == Some(0);
    let start = i64::from(
        zero && a[..common]
            .iter()
            .rev()
            .map_while(|&letter| letter.digit())
            .any(|digit| digit != 0),
    );
    let (x_value, x_end) = digits_from(a, common, start);
    let (y_value, y_end) = digits_from(b, common, start);
    x_value.cmp(&y_value).then(x_end.cmp(&y_end)).then(x.cmp(&y))
}

fn digits_from<L: Letter>(letters: &[L], from: usize, start: i64) -> (i64, usize) {
    let mut value = start;
    let mut at = from;
    while let Some(digit) = letters.get(at).and_then(|&letter| letter.digit()) {
        value = value.wrapping_mul(10).wrapping_add(digit);
        at += 1;
    }
    (value, at)
}

/// Sorts by a comparison that may have cycles, which the standard library's sort may answer with a panic.
pub(crate) fn merge_sort<T>(items: Vec<T>, less: &impl Fn(&T, &T) -> bool) -> Vec<T> {
    if items.len() <= 1 {
        return items;
    }
    if items.windows(2).all(|pair| !less(&pair[1], &pair[0])) {
        return items;
    }
    let mut left = items;
    let right = left.split_off(left.len() / 2);
    let left = merge_sort(left, less);
    let right = merge_sort(right, less);
    let mut out = Vec::with_capacity(left.len() + right.len());
    let mut left = left.into_iter().peekable();
    let mut right = right.into_iter().peekable();
    while let (Some(x), Some(y)) = (left.peek(), right.peek()) {
        let next = if less(y, x) { right.next() } else { left.next() };
        out.extend(next);
    }
    out.extend(left);
    out.extend(right);
    out
}
