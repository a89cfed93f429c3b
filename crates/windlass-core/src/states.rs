//! States that are stored and told by a word each.

/// An enum whose variants have one spelling everywhere; with a second literal each, also one label for people.
macro_rules! states {
    ($(#[doc = $about:literal])* $name:ident {
        $($(#[doc = $doc:literal])* $variant:ident $slug:literal,)*
    }) => {
        $(#[doc = $about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name {
            $($(#[doc = $doc])* $variant,)*
        }

        impl $name {
            /// Every state.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            /// The spelling in the API and the database.
            pub const fn slug(self) -> &'static str {
                match self { $($name::$variant => $slug),* }
            }

            /// The state of this spelling.
            pub fn from_slug(slug: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|state| state.slug() == slug)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.slug())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.slug())
            }
        }
    };

    ($(#[doc = $about:literal])* $name:ident {
        $($(#[doc = $doc:literal])* $variant:ident $slug:literal $label:literal,)*
    }) => {
        states! {
            $(#[doc = $about])*
            $name {
                $($(#[doc = $doc])* $variant $slug,)*
            }
        }

        impl $name {
            /// What people read.
            pub const fn label(self) -> &'static str {
                match self { $($name::$variant => $label),* }
            }
        }
    };
}

pub(crate) use states;
