use super::{Frame, MAX_NESTING, Parser, Result, STACK};
use crate::lexer::{Item, Keyword, Kind};
use crate::node::{Branch, Form, NodeId};
use crate::quote::quoted;
use crate::text::Text;

impl Parser<'_> {
    /// What stands between delimiters; the left one is past.
    pub(super) fn action(&mut self) -> Result<NodeId> {
        let item = self.next_non_space();
        if let Kind::Keyword(keyword) = item.kind {
            let branch = |parser: &mut Self, word| parser.branch(word);
            match keyword {
                Keyword::Block => return self.block(),
                Keyword::Break => return self.loop_word(&item, "break", Form::Break),
                Keyword::Continue => return self.loop_word(&item, "continue", Form::Continue),
                Keyword::Else => return self.otherwise(),
                Keyword::End => {
                    let position = self.expect(Kind::RightDelimiter, "end")?.position;
                    return Ok(self.add(position, Form::End));
                }
                Keyword::If => return branch(self, Branch::If),
                Keyword::Range => return branch(self, Branch::Range),
                Keyword::With => return branch(self, Branch::With),
                Keyword::Template => return self.template(),
                Keyword::Define => {}
            }
        }
        self.backup();
        let position = self.peek().position;
        let pipe = self.pipeline("command", Kind::RightDelimiter)?;
        Ok(self.add(position, Form::Action(pipe)))
    }

    fn loop_word(&mut self, word: &Item<'_>, name: &str, form: Form) -> Result<NodeId> {
        let item = self.next_non_space();
        if item.kind != Kind::RightDelimiter {
            return self.unexpected(&item, &format!("{{{{{name}}}}}"));
        }
        if self.frame.range_depth == 0 {
            return self.fail(format!("{{{{{name}}}}} outside {{{{range}}}}"));
        }
        Ok(self.add(word.position, form))
    }

    fn otherwise(&mut self) -> Result<NodeId> {
        // In "else if" and "else with" the second word is left for the branch.
        let item = self.peek_non_space();
        if matches!(item.kind, Kind::Keyword(Keyword::If | Keyword::With)) {
            return Ok(self.add(item.position, Form::Else));
        }
        let position = self.expect(Kind::RightDelimiter, "else")?.position;
        Ok(self.add(position, Form::Else))
    }

    fn branch(&mut self, word: Branch) -> Result<NodeId> {
        if self.nesting >= MAX_NESTING {
            return self.fail(format!("actions nest deeper than {MAX_NESTING}"));
        }
        self.nesting += 1;
        let (free, size) = STACK;
        let node = stacker::maybe_grow(free, size, || self.branch_in_scope(word))?;
        self.nesting -= 1;
        Ok(node)
    }

    fn branch_in_scope(&mut self, word: Branch) -> Result<NodeId> {
        let variables = self.frame.variables.len();
        let (context, again) = match word {
            Branch::If => ("if", Some(Keyword::If)),
            Branch::Range => ("range", None),
            Branch::With => ("with", Some(Keyword::With)),
        };
        let pipe = self.pipeline(context, Kind::RightDelimiter)?;
        let loops = usize::from(word == Branch::Range);
        self.frame.range_depth += loops;
        let (list, next) = self.item_list()?;
        self.frame.range_depth -= loops;
        let mut otherwise = None;
        if matches!(self.form(next), Form::Else) {
            let continues = again.is_some_and(|keyword| self.peek().kind == Kind::Keyword(keyword));
            otherwise = Some(if continues {
                self.next();
                let position = self.position(next);
                let inner = self.branch(word)?;
                self.add(position, Form::List(vec![inner]))
            } else {
                let (list, end) = self.item_list()?;
                if !matches!(self.form(end), Form::End) {
                    return self.fail("expected end; found {{else}}");
                }
                list
            });
        }
        self.frame.variables.truncate(variables);
        let form = Form::Branch {
            word,
            pipe,
            list,
            otherwise,
        };
        Ok(self.add(self.position(pipe), form))
    }

    fn block(&mut self) -> Result<NodeId> {
        const CONTEXT: &str = "block clause";
        let item = self.next_non_space();
        let name = self.template_name(&item, CONTEXT)?;
        let pipe = self.pipeline(CONTEXT, Kind::RightDelimiter)?;
        if self.nesting >= MAX_NESTING {
            return self.fail(format!("actions nest deeper than {MAX_NESTING}"));
        }
        self.nesting += 1;
        let inner = Frame::new(name.clone());
        let outer = std::mem::replace(&mut self.frame, inner);
        let (free, size) = STACK;
        let (root, end) = stacker::maybe_grow(free, size, || self.item_list())?;
        self.nesting -= 1;
        if matches!(self.form(end), Form::Else) {
            self.frame = outer;
            return self.fail(format!("unexpected {{{{else}}}} in {CONTEXT}"));
        }
        self.finish_tree(root)?;
        self.frame = outer;
        let form = Form::Template {
            name,
            pipe: Some(pipe),
        };
        Ok(self.add(item.position, form))
    }

    fn template(&mut self) -> Result<NodeId> {
        const CONTEXT: &str = "template clause";
        let item = self.next_non_space();
        let name = self.template_name(&item, CONTEXT)?;
        let mut pipe = None;
        if self.next_non_space().kind != Kind::RightDelimiter {
            self.backup();
            pipe = Some(self.pipeline(CONTEXT, Kind::RightDelimiter)?);
        }
        Ok(self.add(item.position, Form::Template { name, pipe }))
    }

    fn template_name(&mut self, item: &Item<'_>, context: &str) -> Result<Text> {
        match item.kind {
            Kind::String | Kind::RawString => self.unquoted(item),
            _ => self.unexpected(item, context),
        }
    }

    /// A node for a variable in use, which must be declared.
    pub(super) fn use_variable(&mut self, item: &Item<'_>) -> Result<NodeId> {
        if !self
            .frame
            .variables
            .iter()
            .any(|variable| variable.as_bytes() == item.text)
        {
            return self.fail(format!("undefined variable {}", quoted(item.text)));
        }
        Ok(self.add(item.position, Form::Variable(vec![item.text.into()])))
    }
}
