//! Which types stand for which: the substitution that grows while an expression is checked.

use crate::types::Type;

/// How large a type may get.
pub(crate) const LARGEST: usize = 2000;

/// What the variables stand for, with a trail to undo attempts that failed.
#[derive(Debug, Default)]
pub(crate) struct Substitution {
    bound: Vec<Option<Type>>,
    trail: Vec<(usize, Option<Type>)>,
    /// Whether a type got too large.
    pub(crate) overflowed: bool,
}

impl Substitution {
    pub(crate) fn fresh(&mut self) -> Type {
        self.bound.push(None);
        Type::Variable(self.bound.len() - 1)
    }

    fn find(&self, variable: &Type) -> Option<&Type> {
        match variable {
            Type::Variable(number) => self.bound.get(*number)?.as_ref(),
            _ => None,
        }
    }

    fn bind(&mut self, variable: &Type, to: Type) {
        if let Type::Variable(number) = variable
            && let Some(slot) = self.bound.get_mut(*number)
        {
            self.trail.push((*number, slot.replace(to)));
        }
    }

    /// Whether every type on the left can stand where the one on the right is asked for. If so, what that
    /// needs is kept, else nothing is.
    pub(crate) fn assign_all(&mut self, left: &[Type], right: &[Type]) -> bool {
        let mark = self.trail.len();
        let fits = left.len() == right.len()
            && left
                .iter()
                .zip(right)
                .all(|(left, right)| self.is_assignable(left, right));
        if fits {
            self.trail.clear();
        } else {
            for (number, before) in self.trail.drain(mark..).rev() {
                self.bound[number] = before;
            }
        }
        fits
    }

    /// The same for one pair.
    pub(crate) fn assign(&mut self, left: &Type, right: &Type) -> bool {
        self.assign_all(std::slice::from_ref(left), std::slice::from_ref(right))
    }

    fn is_assignable(&mut self, left: &Type, right: &Type) -> bool {
        if let Type::Variable(_) = right {
            let (valid, bound) = self.is_substitution(left, right);
            if valid || bound {
                return valid;
            }
        }
        if let Type::Variable(_) = left {
            return self.is_substitution(right, left).0;
        }
        if left.is_dyn_or_error() || right.is_dyn_or_error() {
            return true;
        }
        let nullable = |other: &Type| {
            matches!(
                other,
                Type::Null | Type::Optional(_) | Type::Duration | Type::Timestamp
            )
        };
        match (left, right) {
            (Type::Null, other) | (other, Type::Null) => nullable(other),
            (Type::Meta(_), Type::Meta(_)) => true,
            (Type::List(left), Type::List(right)) | (Type::Optional(left), Type::Optional(right)) => {
                self.is_assignable(left, right)
            }
            (Type::Map(left), Type::Map(right)) => {
                self.is_assignable(&left.0, &right.0) && self.is_assignable(&left.1, &right.1)
            }
            _ => left == right,
        }
    }

    /// Whether a variable may stand for a type, and whether it stands for one already.
    fn is_substitution(&mut self, left: &Type, variable: &Type) -> (bool, bool) {
        if left == variable {
            return (true, true);
        }
        if let Some(known) = self.find(variable).cloned() {
            if *left == known {
                return (true, true);
            }
            if !self.is_assignable(left, &known) {
                return (false, true);
            }
            let general = if is_less_specific(left, &known) {
                left.clone()
            } else {
                known
            };
            if !self.occurs(variable, &general, 0) {
                self.bind(variable, general);
            }
            return (true, true);
        }
        if self.occurs(variable, left, 0) {
            return (false, false);
        }
        self.bind(variable, left.clone());
        (true, false)
    }

    /// Whether a variable stands in a type, so that it cannot stand for it.
    fn occurs(&mut self, variable: &Type, within: &Type, depth: usize) -> bool {
        if variable == within {
            return true;
        }
        if depth > LARGEST {
            self.overflowed = true;
            return true;
        }
        if let Some(known) = self.find(within).cloned() {
            return self.occurs(variable, &known, depth + 1);
        }
        within
            .parameters()
            .into_iter()
            .any(|inner| self.occurs(variable, inner, depth + 1))
    }

    /// The type with what its variables stand for; with `complete` unknown ones become `dyn`.
    pub(crate) fn apply(&mut self, to: &Type, complete: bool) -> Type {
        let mut left = LARGEST;
        let applied = self.apply_within(to, complete, &mut left);
        if left == 0 {
            self.overflowed = true;
            return Type::Error;
        }
        applied
    }

    fn apply_within(&self, to: &Type, complete: bool, left: &mut usize) -> Type {
        if *left == 0 {
            return Type::Error;
        }
        *left -= 1;
        if let Some(known) = self.find(to) {
            return self.apply_within(known, complete, left);
        }
        match to {
            Type::Variable(_) if complete => Type::Dyn,
            Type::List(inner) => Type::list(self.apply_within(inner, complete, left)),
            Type::Optional(inner) => Type::optional(self.apply_within(inner, complete, left)),
            Type::Map(pair) => Type::map(
                self.apply_within(&pair.0, complete, left),
                self.apply_within(&pair.1, complete, left),
            ),
            Type::Meta(Some(inner)) => Type::Meta(Some(Box::new(self.apply_within(inner, complete, left)))),
            other => other.clone(),
        }
    }
}

/// Whether the left type is equal to the right one or says less.
pub(crate) fn is_less_specific(left: &Type, right: &Type) -> bool {
    match (left, right) {
        (Type::Dyn | Type::Variable(_), _) => true,
        (_, Type::Dyn | Type::Variable(_)) => false,
        (Type::List(left), Type::List(right)) | (Type::Optional(left), Type::Optional(right)) => {
            is_less_specific(left, right)
        }
        (Type::Map(left), Type::Map(right)) => {
            is_less_specific(&left.0, &right.0) && is_less_specific(&left.1, &right.1)
        }
        (Type::Meta(_), Type::Meta(_)) => true,
        _ => left == right,
    }
}

/// Replaces the variables of a declaration by fresh ones.
pub(crate) fn instantiate(declared: &Type, fresh: &[Type]) -> Type {
    match declared {
        Type::Variable(number) => fresh.get(*number).cloned().unwrap_or(Type::Dyn),
        Type::List(inner) => Type::list(instantiate(inner, fresh)),
        Type::Optional(inner) => Type::optional(instantiate(inner, fresh)),
        Type::Map(pair) => Type::map(instantiate(&pair.0, fresh), instantiate(&pair.1, fresh)),
        Type::Meta(Some(inner)) => Type::Meta(Some(Box::new(instantiate(inner, fresh)))),
        other => other.clone(),
    }
}
