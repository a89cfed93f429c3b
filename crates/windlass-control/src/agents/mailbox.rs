//! What one stream still has to send. Messages of the same kind replace each other, so it stays small however slowly an agent
//! reads.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use windlass_api::agent::StreamMessage;

/// Why a stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamEnd {
    /// The agent was revoked.
    Revoked,
    /// The agent opened another stream.
    Superseded,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// Send this message.
    Send(StreamMessage),
    /// Send this message, and close the stream.
    SendLast(StreamMessage),
    /// Close the stream.
    Close,
}

#[derive(Debug, Default)]
struct Pending {
    generation: Option<u64>,
    observe: bool,
    end: Option<StreamEnd>,
}

/// The messages for one stream.
#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    pending: Mutex<Pending>,
    filled: Notify,
}

impl Mailbox {
    /// Every value is written in one assignment, so the state is valid even if a thread panicked while it held the lock.
    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// There is an assignment of this generation.
    pub(crate) fn put_generation(&self, generation: u64) {
        self.pending().generation = Some(generation);
        self.filled.notify_one();
    }

    /// Someone wants to know how the target is.
    pub(crate) fn put_observe(&self) {
        self.pending().observe = true;
        self.filled.notify_one();
    }

    /// The stream shall end.
    pub(crate) fn put_end(&self, end: StreamEnd) {
        self.pending().end.get_or_insert(end);
        self.filled.notify_one();
    }

    fn take(&self) -> Option<Delivery> {
        let mut pending = self.pending();
        match pending.end {
            Some(StreamEnd::Revoked) => return Some(Delivery::SendLast(StreamMessage::Revoked)),
            Some(StreamEnd::Superseded) => return Some(Delivery::Close),
            None => {}
        }
        if let Some(generation) = pending.generation.take() {
            return Some(Delivery::Send(StreamMessage::Assignment { generation }));
        }
        std::mem::take(&mut pending.observe).then_some(Delivery::Send(StreamMessage::Observe))
    }

    /// Waits for the next message.
    pub(crate) async fn next(&self) -> Delivery {
        loop {
            if let Some(delivery) = self.take() {
                return delivery;
            }
            self.filled.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn messages_of_one_kind_replace_each_other_and_an_end_comes_first() {
        let mailbox = Mailbox::default();
        mailbox.put_generation(1);
        mailbox.put_observe();
        mailbox.put_generation(2);
        mailbox.put_observe();
        assert_eq!(mailbox.next().await, Delivery::Send(StreamMessage::Assignment { generation: 2 }));
        assert_eq!(mailbox.next().await, Delivery::Send(StreamMessage::Observe));
        assert_eq!(mailbox.take(), None);
        mailbox.put_generation(3);
        mailbox.put_end(StreamEnd::Revoked);
        mailbox.put_end(StreamEnd::Superseded);
        assert_eq!(mailbox.next().await, Delivery::SendLast(StreamMessage::Revoked));
    }

    #[tokio::test]
    async fn a_waiting_stream_gets_what_comes_later() {
        let mailbox = std::sync::Arc::new(Mailbox::default());
        let waiting = tokio::spawn({
            let mailbox = std::sync::Arc::clone(&mailbox);
            async move { mailbox.next().await }
        });
        tokio::task::yield_now().await;
        mailbox.put_end(StreamEnd::Superseded);
        assert_eq!(waiting.await.expect("it ended"), Delivery::Close);
    }
}
