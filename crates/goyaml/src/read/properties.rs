//! Directives, anchors and tags.

use crate::Error;
use crate::read::cursor::Mark;
use crate::read::scanner::Scanner;
use crate::read::token::{Token, TokenKind};

impl Scanner<'_> {
    fn token(&self, kind: TokenKind, start: Mark) -> Token {
        Token {
            kind,
            start,
            end: self.cursor.mark,
        }
    }

    /// `&name` or `*name`.
    pub(crate) fn scan_anchor(&mut self, anchor: bool) -> Result<Token, Error> {
        let start = self.cursor.mark;
        self.cursor.skip();
        let mut name = String::new();
        while self.cursor.is_word() {
            self.cursor.read(&mut name);
        }
        let ends = self.cursor.is_white_or_end(0)
            || matches!(
                self.cursor.byte(0),
                b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`'
            );
        if name.is_empty() || !ends {
            return Err(self.error(
                Some(start),
                "did not find expected alphabetic or numeric character",
            ));
        }
        let kind = if anchor {
            TokenKind::Anchor(name)
        } else {
            TokenKind::Alias(name)
        };
        Ok(self.token(kind, start))
    }

    /// `!suffix`, `!handle!suffix` or `!<uri>`.
    pub(crate) fn scan_tag(&mut self) -> Result<Token, Error> {
        let start = self.cursor.mark;
        let (handle, suffix);
        if self.cursor.byte(1) == b'<' {
            self.cursor.skip_many(2);
            handle = String::new();
            suffix = self.scan_uri("", start)?;
            if self.cursor.byte(0) != b'>' {
                return Err(self.error(Some(start), "did not find the expected '>'"));
            }
            self.cursor.skip();
        } else {
            let head = self.scan_handle(false, start)?;
            if head.len() > 1 && head.ends_with('!') {
                suffix = self.scan_uri("", start)?;
                handle = head;
            } else {
                let rest = self.scan_uri(&head, start)?;
                (handle, suffix) = if rest.is_empty() {
                    (String::new(), "!".to_owned())
                } else {
                    ("!".to_owned(), rest)
                };
            }
        }
        if !self.cursor.is_white_or_end(0) {
            return Err(self.error(Some(start), "did not find expected whitespace or line break"));
        }
        Ok(self.token(TokenKind::Tag { handle, suffix }, start))
    }

    /// `!`, `!!` or `!name!`; outside of directives also the start of a tag without handle.
    fn scan_handle(&mut self, directive: bool, start: Mark) -> Result<String, Error> {
        if self.cursor.byte(0) != b'!' {
            return Err(self.error(Some(start), "did not find expected '!'"));
        }
        let mut handle = String::new();
        self.cursor.read(&mut handle);
        while self.cursor.is_word() {
            self.cursor.read(&mut handle);
        }
        if self.cursor.byte(0) == b'!' {
            self.cursor.read(&mut handle);
        } else if directive && handle != "!" {
            return Err(self.error(Some(start), "did not find expected '!'"));
        }
        Ok(handle)
    }

    fn scan_uri(&mut self, head: &str, start: Mark) -> Result<String, Error> {
        let mut uri: Vec<u8> = head.bytes().skip(1).collect();
        let mut any = !head.is_empty();
        while self.cursor.is_word() || b";/?:@&=+$,.!~*'()[]%".contains(&self.cursor.byte(0)) {
            if self.cursor.byte(0) == b'%' {
                self.scan_uri_escape(&mut uri, start)?;
            } else {
                uri.push(self.cursor.byte(0));
                self.cursor.skip();
            }
            any = true;
        }
        if !any {
            return Err(self.error(Some(start), "did not find expected tag URI"));
        }
        Ok(String::from_utf8_lossy(&uri).into_owned())
    }

    fn scan_uri_escape(&mut self, uri: &mut Vec<u8>, start: Mark) -> Result<(), Error> {
        let mut left = None;
        while left != Some(0) {
            let digit = |ahead| char::from(self.cursor.byte(ahead)).to_digit(16);
            let (b'%', Some(high), Some(low)) = (self.cursor.byte(0), digit(1), digit(2)) else {
                return Err(self.error(Some(start), "did not find URI escaped octet"));
            };
            #[expect(clippy::cast_possible_truncation)]
            let octet = (high << 4 | low) as u8;
            left = Some(match left {
                None => match octet {
                    0..=0x7F => 0,
                    0xC0..=0xDF => 1,
                    0xE0..=0xEF => 2,
                    0xF0..=0xF7 => 3,
                    _ => return Err(self.error(Some(start), "found an incorrect leading UTF-8 octet")),
                },
                Some(_) if octet & 0xC0 != 0x80 => {
                    return Err(self.error(Some(start), "found an incorrect trailing UTF-8 octet"));
                }
                Some(left) => left - 1,
            });
            uri.push(octet);
            self.cursor.skip_many(3);
        }
        Ok(())
    }

    pub(crate) fn scan_directive(&mut self) -> Result<Token, Error> {
        let start = self.cursor.mark;
        self.cursor.skip();
        let mut name = String::new();
        while self.cursor.is_word() {
            self.cursor.read(&mut name);
        }
        if name.is_empty() {
            return Err(self.error(Some(start), "could not find expected directive name"));
        }
        if !self.cursor.is_white_or_end(0) {
            return Err(self.error(Some(start), "found unexpected non-alphabetical character"));
        }
        let kind = match name.as_str() {
            "YAML" => self.scan_version(start)?,
            "TAG" => self.scan_tag_directive(start)?,
            _ => return Err(self.error(Some(start), "found unknown directive name")),
        };
        let token = self.token(kind, start);
        self.cursor.skip_blanks();
        if self.cursor.byte(0) == b'#' {
            while !self.cursor.is_break_or_end(0) {
                self.cursor.skip();
            }
        }
        if !self.cursor.is_break_or_end(0) {
            return Err(self.error(Some(start), "did not find expected comment or line break"));
        }
        self.cursor.skip_line();
        Ok(token)
    }

    fn scan_version(&mut self, start: Mark) -> Result<TokenKind, Error> {
        self.cursor.skip_blanks();
        let major = self.scan_version_number(start)?;
        if self.cursor.byte(0) != b'.' {
            return Err(self.error(Some(start), "did not find expected digit or '.' character"));
        }
        self.cursor.skip();
        let minor = self.scan_version_number(start)?;
        Ok(TokenKind::VersionDirective { major, minor })
    }

    fn scan_version_number(&mut self, start: Mark) -> Result<u32, Error> {
        let mut value = 0;
        let mut length = 0;
        while let digit @ b'0'..=b'9' = self.cursor.byte(0) {
            length += 1;
            if length > 2 {
                return Err(self.error(Some(start), "found extremely long version number"));
            }
            value = value * 10 + u32::from(digit - b'0');
            self.cursor.skip();
        }
        if length == 0 {
            return Err(self.error(Some(start), "did not find expected version number"));
        }
        Ok(value)
    }

    fn scan_tag_directive(&mut self, start: Mark) -> Result<TokenKind, Error> {
        self.cursor.skip_blanks();
        let handle = self.scan_handle(true, start)?;
        if !self.cursor.is_blank(0) {
            return Err(self.error(Some(start), "did not find expected whitespace"));
        }
        self.cursor.skip_blanks();
        let prefix = self.scan_uri("", start)?;
        if !self.cursor.is_white_or_end(0) {
            return Err(self.error(Some(start), "did not find expected whitespace or line break"));
        }
        Ok(TokenKind::TagDirective { handle, prefix })
    }
}
