//! `record!` and `choice!`: a type, its reader, its writer and its description from one declaration.

/// Declares a map with known keys.
///
/// ```text
/// record! {
///     /// What the record is.
///     pub struct NodeSpec {
///         /// What the field means.
///         template: Name => "edge-cdn",                           // required, with an example
///         /// Another.
///         region: Option<String> = None => "ap-tokyo-1",          // optional, with its default
///         /// A key that is not a Rust name.
///         match_labels "matchLabels": Labels = Labels::new() => "{env: prod}",
///     }
///     carries content: Option<Arc<ModuleSpec>>,                   // optional: no field of files, set by Windlass
///     check NodeSpec::check                                       // optional: what one field alone cannot tell
/// }
/// ```
macro_rules! record {
    (
        $(#[doc = $doc:literal])*
        $vis:vis struct $name:ident {
            $(
                $(#[doc = $field_doc:literal])*
                $field:ident $($key:literal)? : $type:ty $(= $default:expr)? => $example:literal,
            )*
        }
        $($(#[doc = $carried_doc:literal])* carries $carried:ident: $carried_type:ty,)?
        $(check $check:path)?
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, PartialEq)]
        $vis struct $name {
            $($(#[doc = $field_doc])* pub $field: $type,)*
            $($(#[doc = $carried_doc])* pub $carried: $carried_type,)?
        }

        impl $crate::shape::Shape for $name {
            fn decode<'t>(
                node: $crate::yaml::NodeRef<'t>,
                decoder: &mut $crate::shape::Decoder<'t>,
            ) -> Option<Self> {
                <Self as $crate::shape::Record>::decode_fields(node, $crate::shape::SiblingKeys::NOTHING, decoder)
            }

            fn write(&self, out: &mut $crate::shape::Canonical) {
                type Writer = fn(&$name, &mut $crate::shape::Canonical);
                const WRITERS: &[(&str, Writer)] = &[$((
                    $crate::shape::record!(@key $field $($key)?),
                    |record, out| {
                        $(if out.omits_defaults() && record.$field == $default {
                            return;
                        })?
                        out.key($crate::shape::record!(@key $field $($key)?));
                        $crate::shape::Shape::write(&record.$field, out);
                    },
                ),)*];
                static ORDER: std::sync::LazyLock<Vec<usize>> = std::sync::LazyLock::new(|| {
                    $crate::shape::sorted_order(WRITERS.iter().map(|(key, _)| *key))
                });
                out.object(|out| ORDER.iter().for_each(|index| WRITERS[*index].1(self, out)));
            }

            fn describe() -> $crate::shape::Description {
                $crate::shape::Description::Record(<Self as $crate::shape::Record>::description())
            }
        }

        impl $crate::shape::Record for $name {
            fn decode_fields<'t>(
                node: $crate::yaml::NodeRef<'t>,
                beside: $crate::shape::SiblingKeys,
                decoder: &mut $crate::shape::Decoder<'t>,
            ) -> Option<Self> {
                const KEYS: &[&str] = &[$($crate::shape::record!(@key $field $($key)?)),*];
                let mut sound = true;
                $(let mut $field: Option<Option<$type>> = None;)*
                for (key, value) in decoder.mapping(node)? {
                    let text = key.scalar_text().unwrap_or_default();
                    $(if text == $crate::shape::record!(@key $field $($key)?) {
                        if $crate::shape::record!(@optional $($default)?) && value.is_null() {
                            continue;
                        }
                        let read = decoder.within($crate::shape::Segment::Key(text), |decoder| {
                            <$type as $crate::shape::Shape>::decode(value, decoder)
                        });
                        sound &= read.is_some();
                        $field = Some(read);
                        continue;
                    })*
                    decoder.check_unknown_key(key, KEYS, beside);
                }
                $(let $field = match $field {
                    Some(read) => read,
                    None => $crate::shape::record!(@absent decoder, node, $field $($key)?; $($default)?),
                };)*
                if !sound {
                    return None;
                }
                let record = $name { $($field: $field?,)* $($carried: Default::default(),)? };
                $(if !$check(&record, node, decoder) {
                    return None;
                })?
                Some(record)
            }

            fn description() -> $crate::shape::RecordDescription {
                $crate::shape::RecordDescription {
                    name: stringify!($name),
                    doc: concat!($($doc, "\n"),*),
                    fields: vec![$($crate::shape::FieldDescription {
                        name: $crate::shape::record!(@key $field $($key)?),
                        doc: concat!($($field_doc, "\n"),*),
                        required: !$crate::shape::record!(@optional $($default)?),
                        default: $crate::shape::record!(@default $type; $($default)?),
                        example: $example,
                        shape: <$type as $crate::shape::Shape>::describe,
                    },)*],
                }
            }
        }
    };
    (@key $field:ident $key:literal) => { $key };
    (@key $field:ident) => { stringify!($field) };
    (@optional $default:expr) => { true };
    (@optional) => { false };
    (@absent $decoder:ident, $node:ident, $field:ident $($key:literal)?; $default:expr) => { Some($default) };
    (@absent $decoder:ident, $node:ident, $field:ident $($key:literal)?;) => {{
        $decoder.missing_key($node, $crate::shape::record!(@key $field $($key)?));
        None
    }};
    (@default $type:ty; $default:expr) => {{
        let default: $type = $default;
        Some($crate::shape::canonical_json(&default, $crate::shape::Defaults::Fill))
    }};
    (@default $type:ty;) => { None };
}

/// Declares a fixed set of words.
macro_rules! choice {
    (
        $(#[doc = $doc:literal])*
        $vis:vis enum $name:ident {
            $($(#[doc = $variant_doc:literal])* $variant:ident = $word:literal,)*
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        $vis enum $name {
            $($(#[doc = $variant_doc])* $variant,)*
        }

        impl $name {
            /// The word used in files and in the API.
            pub const fn word(self) -> &'static str {
                match self { $($name::$variant => $word),* }
            }
        }

        impl $crate::states::Spelled for $name {
            const NAME: &'static str = stringify!($name);
            const ABOUT: &'static str = concat!($($doc),*).trim_ascii();
            const WORDS: &'static [$name] = &[$($name::$variant),*];

            fn spelling(self) -> &'static str {
                self.word()
            }

            fn meaning(self) -> &'static str {
                match self { $($name::$variant => concat!($($variant_doc),*).trim_ascii()),* }
            }
        }

        impl $crate::shape::Shape for $name {
            fn decode<'t>(
                node: $crate::yaml::NodeRef<'t>,
                decoder: &mut $crate::shape::Decoder<'t>,
            ) -> Option<Self> {
                match decoder.text(node)? {
                    $($word => Some($name::$variant),)*
                    other => {
                        decoder.not_a_choice(node, other, &[$($word),*]);
                        None
                    }
                }
            }

            fn write(&self, out: &mut $crate::shape::Canonical) {
                out.text(self.word());
            }

            fn describe() -> $crate::shape::Description {
                $crate::shape::Description::Choice(vec![$($crate::shape::ChoiceDescription {
                    word: $word,
                    doc: concat!($($variant_doc, "\n"),*),
                }),*])
            }
        }
    };
}

pub(crate) use {choice, record};
