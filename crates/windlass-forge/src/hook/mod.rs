//! What a webhook says, believed only after its signature was checked.
