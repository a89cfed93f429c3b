//! The control plane: loops, HTTP and authentication.
