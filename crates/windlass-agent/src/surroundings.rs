//! What the agent takes from outside and tests replace: the clock, randomness, the network, and the disk.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use windlass_core::time::Timestamp;

use crate::connection::{Dial, Random};
use crate::target::host::StepHook;

type WriteCheck = Arc<dyn Fn(&str) -> io::Result<()> + Send + Sync>;

/// Everything that tests replace. The default is the real world.
#[derive(Clone)]
pub(crate) struct Surroundings {
    /// The time for people to read. Nothing is decided by it.
    pub(crate) clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    /// A number from 0 up to 1, for jitter.
    pub(crate) random: Random,
    /// How the agent connects to its server.
    pub(crate) dial: Dial,
    /// Steps and faults of the disk.
    pub(crate) disk: DiskHooks,
}

impl Default for Surroundings {
    fn default() -> Surroundings {
        Surroundings {
            clock: Arc::new(system_time),
            random: Arc::new(|| f64::from(rand::random::<u32>()) / (f64::from(u32::MAX) + 1.0)),
            dial: Dial::tcp(),
            disk: DiskHooks::default(),
        }
    }
}

fn system_time() -> Timestamp {
    let millis = match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |millis| -millis),
    };
    Timestamp::from_millis(millis)
}

/// Called at each step of the agent's own, and before each write.
#[derive(Clone, Default)]
pub(crate) struct DiskHooks {
    /// Tests stop the agent here.
    pub(crate) steps: StepHook,
    /// Tests let writes fail here.
    pub(crate) writes: Option<WriteCheck>,
}

impl DiskHooks {
    pub(crate) fn reached(&self, step: &str) {
        self.steps.reached(step);
    }

    pub(crate) fn before_write(&self, name: &str) -> io::Result<()> {
        match &self.writes {
            Some(check) => check(name),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for DiskHooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DiskHooks")
    }
}
