//! A register in memory. It is lost when its process ends.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};
use crate::format::ident::TableIdent;
use crate::format::register::{JointSwaps, TableRegister, TableSwap};
use crate::store::local::TemporaryFolder;

/// The tables and namespaces of one process.
#[derive(Debug)]
pub struct MemoryRegister {
    process: u32,
    state: Mutex<State>,
    /// The folder of the tables' files, if it is deleted together with the register.
    _folder: Option<TemporaryFolder>,
}

#[derive(Debug, Default)]
struct State {
    tables: BTreeMap<TableIdent, String>,
    namespaces: BTreeMap<Vec<String>, BTreeMap<String, String>>,
}

impl MemoryRegister {
    /// Creates an empty register. It keeps the temporary folder until it is dropped.
    pub fn new(folder: Option<TemporaryFolder>) -> MemoryRegister {
        MemoryRegister { process: std::process::id(), state: Mutex::default(), _folder: folder }
    }

    /// Locks the state. Fails in a forked process, which has a private copy of the state.
    fn state(&self) -> Result<MutexGuard<'_, State>> {
        if std::process::id() != self.process {
            return Err(Error::unsupported("a catalog in memory is known only to the process that opened it")
                .hint("Use type='sql' with a SQLite file"));
        }
        Ok(self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl TableRegister for MemoryRegister {
    fn location(&self, table: &TableIdent) -> Result<Option<String>> {
        Ok(self.state()?.tables.get(table).cloned())
    }

    fn prepare(&self) -> Result<()> {
        self.state().map(drop)
    }

    fn insert(&self, table: &TableIdent, location: &str) -> Result<()> {
        let mut state = self.state()?;
        if state.tables.contains_key(table) {
            return Err(Error::already_exists("the name is taken"));
        }
        state.tables.insert(table.clone(), location.to_owned());
        Ok(())
    }

    fn swap(&self, table: &TableIdent, from: &str, to: &str) -> Result<bool> {
        match self.state()?.tables.get_mut(table) {
            Some(current) if current == from => to.clone_into(current),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn joint_swaps(&self) -> Option<&dyn JointSwaps> {
        Some(self)
    }

    fn remove(&self, table: &TableIdent) -> Result<bool> {
        Ok(self.state()?.tables.remove(table).is_some())
    }

    fn remove_at(&self, table: &TableIdent, at: &str) -> Result<bool> {
        let mut state = self.state()?;
        let is_there = state.tables.get(table).is_some_and(|current| current == at);
        Ok(is_there && state.tables.remove(table).is_some())
    }

    fn rename(&self, from: &TableIdent, to: &TableIdent) -> Result<bool> {
        let mut state = self.state()?;
        if state.tables.contains_key(to) {
            return Err(Error::already_exists("the name is taken"));
        }
        let Some(location) = state.tables.remove(from) else { return Ok(false) };
        state.tables.insert(to.clone(), location);
        Ok(true)
    }

    fn tables(&self, namespace: &[String]) -> Result<Vec<TableIdent>> {
        Ok(self.state()?.tables.keys().filter(|t| t.namespace == namespace).cloned().collect())
    }

    fn namespaces(&self, below: &[String]) -> Result<BTreeSet<Vec<String>>> {
        let state = self.state()?;
        let all = state.namespaces.keys().chain(state.tables.keys().map(|t| &t.namespace));
        Ok(all.filter(|n| n.starts_with(below)).cloned().collect())
    }

    fn is_used(&self, namespace: &[String]) -> Result<bool> {
        Ok(!self.tables(namespace)?.is_empty())
    }

    fn properties(&self, namespace: &[String]) -> Result<BTreeMap<String, String>> {
        Ok(self.state()?.namespaces.get(namespace).cloned().unwrap_or_default())
    }

    fn create(&self, namespace: &[String], properties: &BTreeMap<String, String>) -> Result<()> {
        let mut state = self.state()?;
        if state.namespaces.contains_key(namespace) {
            return Err(Error::already_exists("the name is taken"));
        }
        state.namespaces.insert(namespace.to_vec(), properties.clone());
        Ok(())
    }

    fn set_properties(&self, namespace: &[String], removed: &[String], set: &BTreeMap<String, String>) -> Result<()> {
        let mut state = self.state()?;
        let properties = state.namespaces.entry(namespace.to_vec()).or_default();
        properties.retain(|key, _| !removed.contains(key));
        properties.extend(set.clone());
        Ok(())
    }

    fn clear_properties(&self, namespace: &[String]) -> Result<()> {
        self.state()?.namespaces.remove(namespace);
        Ok(())
    }

    fn is_of_this_process(&self) -> bool {
        true
    }
}

impl JointSwaps for MemoryRegister {
    fn swap_all(&self, swaps: &[TableSwap<'_>]) -> Result<bool> {
        let mut state = self.state()?;
        if swaps.iter().any(|swap| state.tables.get(swap.table).is_none_or(|current| current != swap.from)) {
            return Ok(false);
        }
        for swap in swaps {
            if let (Some(current), Some(to)) = (state.tables.get_mut(swap.table), swap.to) {
                to.clone_into(current);
            }
        }
        Ok(true)
    }
}
