//! GitHub workflow commands: problems as annotations in a pull request.

use std::io;

use windlass_core::diagnostic::Diagnostic;

use super::sanitize_for_terminal;

/// Prints one workflow command per problem.
pub(crate) fn problems(problems: &[Diagnostic]) -> io::Result<()> {
    let commands: String = problems.iter().map(command).collect();
    super::text(&commands)
}

fn command(problem: &Diagnostic) -> String {
    let mut properties = vec![format!("title={}", property(problem.code.slug()))];
    if !problem.file.is_empty() {
        properties.push(format!("file={}", property(&problem.file)));
    }
    if problem.line > 0 {
        properties.push(format!("line={},col={}", problem.line, problem.column));
    }
    let help = problem.help.as_ref().map(|help| format!("\n{help}")).unwrap_or_default();
    let message = escape(&sanitize_for_terminal(&format!("{}{help}", problem.message)));
    format!("::{} {}::{message}\n", problem.severity, properties.join(","))
}

/// A command ends at the end of its line, so nothing inside may be one.
fn escape(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    escape(&sanitize_for_terminal(text)).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_core::code::Code;

    #[test]
    fn a_message_cannot_contain_a_workflow_command() {
        let problem = Diagnostic::with_file(Code::UnknownKey, "a,b:c\n::error::x", "one\n::error::two%0A");
        assert_eq!(
            command(&problem),
            "::error title=unknown-key,file=a%2Cb%3Ac%0A%3A%3Aerror%3A%3Ax,line=1,col=1::one%0A::error::two%250A\n"
        );
    }
}
