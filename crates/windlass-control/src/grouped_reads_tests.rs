//! Groups of reads: together under load, alone when one fails.

use tokio::sync::Semaphore;

use super::*;

/// Squares numbers. Each read waits for a permit.
#[derive(Clone)]
struct Squares {
    reads: Arc<Mutex<Vec<Vec<u32>>>>,
    permits: Arc<Semaphore>,
}

impl Squares {
    fn new() -> Squares {
        Squares { reads: Arc::default(), permits: Arc::new(Semaphore::new(0)) }
    }

    fn reads(&self) -> Vec<Vec<u32>> {
        self.reads.lock().expect("no test panics with it").clone()
    }
}

impl ReadMany<u32, u32> for Squares {
    async fn read(&self, keys: Vec<u32>) -> Result<BTreeMap<u32, u32>, StoreError> {
        self.reads.lock().expect("no test panics with it").push(keys.clone());
        self.permits.acquire().await.expect("open").forget();
        assert!(!keys.contains(&13), "a test panics");
        if keys.contains(&7) {
            return Err(StoreError::TransactionFailed);
        }
        Ok(keys.into_iter().filter(|key| *key < 100).map(|key| (key, key * key)).collect())
    }
}

/// Asks for keys at the same time, and returns the answers in their order.
async fn ask(squares: &Squares, keys: &[u32]) -> Vec<Result<Option<u32>, StoreError>> {
    let grouped = Arc::new(GroupedReads::default());
    let mut tasks = Vec::new();
    for key in keys {
        let (grouped, squares, key) = (Arc::clone(&grouped), squares.clone(), *key);
        tasks.push(tokio::spawn(async move { grouped.read(key, squares).await }));
        // The order in which tasks ask is the order in which they are spawned.
        tokio::task::yield_now().await;
    }
    squares.permits.add_permits(100);
    let mut answers = Vec::new();
    for task in tasks {
        answers.push(task.await.expect("it ended"));
    }
    answers
}

#[tokio::test]
async fn keys_that_are_asked_for_during_a_read_are_read_together() {
    let squares = Squares::new();
    let answers = ask(&squares, &[1, 2, 3, 2, 200]).await;
    let answers: Vec<Option<u32>> =
        answers.into_iter().map(|answer| answer.expect("no read fails")).collect();
    assert_eq!(answers, [Some(1), Some(4), Some(9), Some(4), None]);
    assert_eq!(squares.reads(), [vec![1], vec![2, 3, 200]]);
}

#[tokio::test]
async fn a_key_that_cannot_be_read_fails_alone() {
    let squares = Squares::new();
    let answers = ask(&squares, &[1, 2, 7, 3]).await;
    let shown: Vec<Option<u32>> = answers.into_iter().map(|answer| answer.unwrap_or(Some(0))).collect();
    assert_eq!(shown, [Some(1), Some(4), Some(0), Some(9)]);
}

#[tokio::test]
async fn after_a_panic_others_are_still_read() {
    let squares = Squares::new();
    squares.permits.add_permits(100);
    let grouped = Arc::new(GroupedReads::default());
    let (of_task, read) = (Arc::clone(&grouped), squares.clone());
    let panicking = tokio::spawn(async move { of_task.read(13, read).await });
    assert!(panicking.await.is_err(), "it reads for itself, and panics too");
    assert_eq!(grouped.read(3, squares).await.expect("no read fails"), Some(9));
}
