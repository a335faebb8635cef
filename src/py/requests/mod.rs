//! What Python asks for, as typed values: classes whose members are read here and nowhere else. No logic lives here.

pub(super) mod columns;
pub(super) mod conversions;
pub(super) mod evolution;
pub(super) mod maintenance;
pub(super) mod row_change;
pub(super) mod version;
