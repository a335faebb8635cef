//! Requests from Python as typed values: classes whose members are read only here. No logic lives here.

pub(super) mod columns;
pub(super) mod conversions;
pub(super) mod evolution;
pub(super) mod maintenance;
pub(super) mod new_table;
pub(super) mod register;
pub(super) mod row_change;
pub(super) mod version;
