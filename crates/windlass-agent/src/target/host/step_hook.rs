//! The hook that tests use to stop the agent between any two effects.

use std::fmt;
use std::sync::Arc;

type StepClosure = Arc<dyn Fn(&str) + Send + Sync>;

/// Called with a name before and after each effect on the disk or the host. The default does nothing. A test that wants to
/// simulate a crash unwinds from the closure.
#[derive(Clone, Default)]
pub struct StepHook(Option<StepClosure>);

impl StepHook {
    /// A hook that calls this closure.
    pub fn new(closure: impl Fn(&str) + Send + Sync + 'static) -> StepHook {
        StepHook(Some(Arc::new(closure)))
    }

    pub(crate) fn reached(&self, step: &str) {
        if let Some(closure) = &self.0 {
            closure(step);
        }
    }
}

impl fmt::Debug for StepHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StepHook")
    }
}
