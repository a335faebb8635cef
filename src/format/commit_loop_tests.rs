use super::*;

/// A commit that loses each race, so that each of its plans becomes impossible.
struct Unlucky {
    plans: u32,
    /// Whether another commit contradicts the plan.
    contradicted: bool,
}

impl CommitAttempt for Unlucky {
    type Base = ();
    type Next = ();
    type Done = ();

    fn newest(&mut self) -> Result<()> {
        Ok(())
    }

    fn newer(&mut self, _: &(), _: &Error) -> Option<()> {
        None
    }

    fn replan(&mut self, _: &Error) -> Result<Option<()>> {
        (self.plans, self.contradicted) = (self.plans + 1, false);
        Ok((self.plans < 1_000).then_some(()))
    }

    fn is_applied(&mut self, _: &()) -> Result<bool> {
        Ok(false)
    }

    fn prepare(&mut self, _: &()) -> Result<()> {
        if self.contradicted { Err(Error::conflict("the plan is contradicted")) } else { Ok(()) }
    }

    fn publish(&mut self, _: &(), _: &()) -> Result<()> {
        std::thread::sleep(Duration::from_millis(10));
        self.contradicted = true;
        Err(Error::conflict("another writer was first"))
    }

    fn was_published(&mut self, _: &(), _: &(), _: &()) -> Result<bool> {
        Ok(false)
    }

    fn done(&mut self, _: ()) -> Result<()> {
        Ok(())
    }

    fn is_certain(&self, _: &Error) -> bool {
        false
    }

    fn is_refused(&self, _: &Error) -> bool {
        false
    }
}

#[test]
fn the_stricter_of_two_policies_counts() {
    let of = |retries, min, max, total| RetryPolicy {
        retries,
        min_wait_ms: min,
        max_wait_ms: max,
        total_ms: total,
        option: "retries",
    };
    let both = of(7, 1, 90, 500).stricter(of(3, 2, 80, 600));
    assert_eq!((both.retries, both.min_wait_ms, both.max_wait_ms, both.total_ms), (3, 2, 90, 500));
}

#[test]
fn new_plans_do_not_extend_the_time_of_a_commit() {
    let policy = RetryPolicy { retries: 100, min_wait_ms: 1, max_wait_ms: 1, total_ms: 100, option: "retries" };
    let mut commit = Unlucky { plans: 1, contradicted: false };
    let outcome = run(&mut commit, &policy);
    assert!(matches!(&outcome, CommitOutcome::Failed(e) if e.kind() == ErrorKind::CommitConflict), "{outcome:?}");
    // Each plan takes at least 10 ms.
    assert!((1..=10).contains(&commit.plans), "{} plans", commit.plans);
}
