//! Where credentials come from.
