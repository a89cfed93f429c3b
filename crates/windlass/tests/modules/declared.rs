//! Reads what one module declares and names.

use std::collections::BTreeSet;

use crate::tokens::{Token, closing};

/// A module by itself.
#[derive(Default)]
pub(crate) struct Module {
    pub(crate) file: String,
    pub(crate) children: BTreeSet<String>,
    /// The items at its top level, including those of macros that are called there.
    pub(crate) items: BTreeSet<String>,
    pub(crate) uses: Vec<Use>,
    pub(crate) named: Vec<Named>,
}

impl Module {
    pub(crate) fn import(&self, name: &str) -> Option<&Use> {
        self.uses.iter().find(|import| import.alias == name)
    }
}

/// One name that a `use` imports; `*` for all.
pub(crate) struct Use {
    pub(crate) segments: Vec<String>,
    pub(crate) alias: String,
    pub(crate) line: usize,
    pub(crate) is_public: bool,
}

/// A path in the source.
pub(crate) struct Named {
    pub(crate) segments: Vec<String>,
    pub(crate) line: usize,
    /// Whether a parenthesis, a `!` or a further segment follows, so that it is not a variable.
    pub(crate) is_used: bool,
}

/// A submodule; an inline one with its tokens.
pub(crate) struct Child<'t, 's> {
    pub(crate) name: String,
    pub(crate) block: Option<&'t [Token<'s>]>,
}

/// The kind of surrounding bracket.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bracket {
    /// A macro, which may declare something.
    Macro,
    /// An enum, in which a name begins each variant.
    Enum,
    Other,
}

/// Reads a module without its submodules.
pub(crate) fn read_module<'t, 's>(file: &str, tokens: &'t [Token<'s>]) -> (Module, Vec<Child<'t, 's>>) {
    let mut module = Module { file: file.to_owned(), ..Module::default() };
    let mut children = Vec::new();
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text);
    let is_word = |at: usize| tokens.get(at).is_some_and(Token::is_word);
    let mut open: Vec<Bracket> = Vec::new();
    let mut is_enum = false;
    let mut at = 0;
    while at < tokens.len() {
        let before = if at > 0 { text(at - 1) } else { "" };
        match text(at) {
            "mod" if is_word(at + 1) && matches!(text(at + 2), ";" | "{") => {
                let end = if text(at + 2) == ";" { at + 3 } else { closing(tokens, at + 2) };
                let block = (text(at + 2) == "{").then(|| &tokens[at + 3..end - 1]);
                children.push(Child { name: text(at + 1).to_owned(), block });
                at = end;
                continue;
            }
            "use" if text(at + 1) != "<" => {
                let end = (at..tokens.len()).find(|at| text(*at) == ";").unwrap_or(tokens.len());
                let is_public = before == "pub" || before == ")";
                read_use(&tokens[at + 1..end], &[], is_public, &mut module.uses);
                at = end + 1;
                continue;
            }
            "fn" | "struct" | "enum" | "trait" | "type" | "const" | "static" | "union"
                if is_word(at + 1) && open.iter().all(|bracket| *bracket == Bracket::Macro) =>
            {
                is_enum = text(at) == "enum";
                module.items.insert(text(at + 1).to_owned());
            }
            "macro_rules" => drop(module.items.insert(text(at + 2).to_owned())),
            "{" | "(" | "[" if before == "!" => open.push(Bracket::Macro),
            "{" if is_enum => {
                is_enum = false;
                open.push(Bracket::Enum);
            }
            "{" | "(" | "[" => open.push(Bracket::Other),
            "}" | ")" | "]" => drop(open.pop()),
            _ => {}
        }
        let is_variant = open.last() == Some(&Bracket::Enum) && matches!(before, "{" | "," | "]");
        if is_word(at) && !is_variant && before != "::" && before != "." {
            let line = tokens[at].line;
            let mut segments = vec![text(at).to_owned()];
            while text(at + 1) == "::" && is_word(at + 2) {
                segments.push(text(at + 2).to_owned());
                at += 2;
            }
            let is_used = segments.len() > 1 || matches!(text(at + 1), "(" | "!" | "::");
            module.named.push(Named { segments, line, is_used });
        }
        at += 1;
    }
    (module, children)
}

/// The names that one tree of a `use` imports.
fn read_use(tokens: &[Token<'_>], prefix: &[String], is_public: bool, uses: &mut Vec<Use>) {
    let mut segments = prefix.to_vec();
    let Some(mut line) = tokens.first().map(|token| token.line) else { return };
    let mut alias = None;
    for (at, token) in tokens.iter().enumerate() {
        match token.text {
            "as" => {
                alias = tokens.get(at + 1).map(|token| token.text.to_owned());
                break;
            }
            "*" => alias = Some("*".to_owned()),
            "{" => {
                for part in parts(&tokens[at + 1..closing(tokens, at) - 1]) {
                    read_use(part, &segments, is_public, uses);
                }
                return;
            }
            // `use a::{self}` is `use a`.
            "self" if !prefix.is_empty() => {}
            word if token.is_word() => {
                segments.push(word.to_owned());
                line = token.line;
            }
            _ => {}
        }
    }
    let alias = alias.or_else(|| segments.last().cloned()).unwrap_or_default();
    uses.push(Use { segments, alias, line, is_public });
}

/// The parts between commas.
fn parts<'t, 's>(tokens: &'t [Token<'s>]) -> Vec<&'t [Token<'s>]> {
    let (mut parts, mut start, mut at) = (Vec::new(), 0, 0);
    while at < tokens.len() {
        match tokens[at].text {
            "{" => at = closing(tokens, at),
            "," => {
                parts.push(&tokens[start..at]);
                at += 1;
                start = at;
            }
            _ => at += 1,
        }
    }
    parts.push(&tokens[start..]);
    parts
}
