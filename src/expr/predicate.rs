//! The two forms of a filter.
//!
//! [`Predicate`] is the filter as a person wrote it: names and untyped literals, with `not` anywhere.
//! [`BoundPredicate`] is the form that is evaluated: field ids and typed values in negation normal form, without `not`.
//! Pushing `not` down keeps SQL's three-valued meaning, because a leaf and its negation are both unknown on null. The
//! null and NaN tests are never unknown.

use crate::expr::formula::bound::BoundTest;
use crate::expr::formula::unbound::{Constant, Formula, Test, TestOp};
pub use crate::expr::term::{BoundTerm, Literal, Op, Term};
use crate::types::{FieldId, Value};

/// A filter as written.
#[derive(Clone, Debug, PartialEq)]
pub enum Predicate {
    /// Keeps every row.
    True,
    /// Keeps no row.
    False,
    /// Negation.
    Not(Box<Predicate>),
    /// All of them.
    And(Vec<Predicate>),
    /// Any of them.
    Or(Vec<Predicate>),
    /// One comparison of one term, with the literals that the operation takes (`In`, `NotIn`: any number).
    Leaf(Term, Op, Vec<Literal>),
    /// A question about a value that is computed, or a comparison with one.
    Test(Box<Test>),
}

impl Predicate {
    /// A test, or a leaf if it compares a column with literals.
    pub(super) fn of_test(left: Formula, op: TestOp, right: Vec<Formula>) -> Predicate {
        let literal = |f: &Formula| match f {
            Formula::Constant(Constant::Literal(literal)) => Some(literal.clone()),
            _ => None,
        };
        match (&left, op, right.iter().map(literal).collect::<Option<Vec<_>>>()) {
            (Formula::Column(term), TestOp::Plain(op), Some(literals)) => Predicate::Leaf(term.clone(), op, literals),
            _ => Predicate::Test(Box::new(Test { left, op, right })),
        }
    }

    /// `self and other`, without unnecessary nesting.
    pub fn and(self, other: Predicate) -> Predicate {
        match (self, other) {
            (Predicate::True, p) | (p, Predicate::True) => p,
            (Predicate::And(mut a), Predicate::And(b)) => {
                a.extend(b);
                Predicate::And(a)
            }
            (Predicate::And(mut a), b) => {
                a.push(b);
                Predicate::And(a)
            }
            (a, b) => Predicate::And(vec![a, b]),
        }
    }
}

/// One bound question.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundLeaf {
    /// The term of the question.
    pub term: BoundTerm,
    /// The operation.
    pub op: Op,
    /// Values of the term's type. Null and NaN tests have none, comparisons and prefixes have one. `In` and `NotIn`
    /// have two or more, sorted in SQL order, without duplicates.
    pub values: Vec<Value>,
}

/// A filter bound to a schema, in negation normal form. It keeps a row if it is true, and drops it if it is false or
/// unknown.
#[derive(Clone, Debug, PartialEq)]
pub enum BoundPredicate {
    /// Keeps every row.
    True,
    /// Keeps no row.
    False,
    /// All of them (two or more, none of them `And`, `True` or `False`).
    And(Vec<BoundPredicate>),
    /// Any of them (two or more, none of them `Or`, `True` or `False`).
    Or(Vec<BoundPredicate>),
    /// One question.
    Leaf(BoundLeaf),
    /// One question about a value that is computed.
    Test(Box<BoundTest>),
}

impl BoundPredicate {
    /// The conjunction, simplified.
    pub fn all(parts: impl IntoIterator<Item = BoundPredicate>) -> BoundPredicate {
        let mut out = Vec::new();
        for p in parts {
            match p {
                BoundPredicate::True => {}
                BoundPredicate::False => return BoundPredicate::False,
                BoundPredicate::And(inner) => out.extend(inner),
                p => out.push(p),
            }
        }
        match out.len() {
            0 => BoundPredicate::True,
            1 => out.swap_remove(0),
            _ => BoundPredicate::And(out),
        }
    }

    /// The disjunction, simplified.
    pub fn any(parts: impl IntoIterator<Item = BoundPredicate>) -> BoundPredicate {
        let mut out = Vec::new();
        for p in parts {
            match p {
                BoundPredicate::False => {}
                BoundPredicate::True => return BoundPredicate::True,
                BoundPredicate::Or(inner) => out.extend(inner),
                p => out.push(p),
            }
        }
        match out.len() {
            0 => BoundPredicate::False,
            1 => out.swap_remove(0),
            _ => BoundPredicate::Or(out),
        }
    }

    /// Calls `f` for every leaf, left to right. Tests of computed values are not leaves.
    pub fn for_each_leaf<'a>(&'a self, f: &mut dyn FnMut(&'a BoundLeaf)) {
        match self {
            BoundPredicate::True | BoundPredicate::False | BoundPredicate::Test(_) => {}
            BoundPredicate::And(parts) | BoundPredicate::Or(parts) => parts.iter().for_each(|p| p.for_each_leaf(f)),
            BoundPredicate::Leaf(leaf) => f(leaf),
        }
    }

    /// Calls `f` for every test of a computed value, left to right.
    pub fn for_each_test<'a>(&'a self, f: &mut dyn FnMut(&'a BoundTest)) {
        match self {
            BoundPredicate::True | BoundPredicate::False | BoundPredicate::Leaf(_) => {}
            BoundPredicate::And(parts) | BoundPredicate::Or(parts) => parts.iter().for_each(|p| p.for_each_test(f)),
            BoundPredicate::Test(test) => f(test),
        }
    }

    /// Calls `f` for every column of leaves and tests. A column may come several times.
    pub fn for_each_term<'a>(&'a self, f: &mut dyn FnMut(&'a BoundTerm)) {
        self.for_each_leaf(&mut |leaf| f(&leaf.term));
        self.for_each_test(&mut |test| test.for_each_term(f));
    }

    /// Whether it has tests of computed values.
    pub fn has_tests(&self) -> bool {
        let mut any = false;
        self.for_each_test(&mut |_| any = true);
        any
    }

    /// Whether it may give an error for some rows: for a cast, or a number that is too large.
    pub fn can_fail(&self) -> bool {
        let mut any = false;
        self.for_each_test(&mut |test| any |= test.can_fail());
        any
    }

    /// The conjuncts that use only these columns and give no errors. The filter implies them.
    #[must_use]
    pub fn clauses_of(&self, columns: &[FieldId]) -> BoundPredicate {
        let parts = match self {
            BoundPredicate::And(parts) => parts.as_slice(),
            other => std::slice::from_ref(other),
        };
        let only = |p: &&BoundPredicate| !p.can_fail() && p.field_ids().iter().all(|id| columns.contains(id));
        BoundPredicate::all(parts.iter().filter(only).cloned())
    }

    /// The columns that the filter uses, ascending, each once.
    pub fn field_ids(&self) -> Vec<FieldId> {
        let mut ids = Vec::new();
        self.for_each_term(&mut |term| ids.push(term.field_id));
        ids.sort_unstable();
        ids.dedup();
        ids
    }
}
