//! The two shapes that every group is made of: enumerations of texts, and custom resources.

/// Defines an enumeration whose values are texts in the API.
///
/// The schema lists the named values, in the order given. Reading accepts any text: one that is not named
/// becomes `Other`, so that an object written for another version of the API can be listed, shown and
/// reported on by name instead of breaking the watch of its whole kind. The default is `Other("")`, which is
/// what a missing value reads as.
#[macro_export]
macro_rules! string_enum {
    (
        $(#[$meta:meta])*
        pub enum $name:ident { $( $(#[$variant_meta:meta])* $variant:ident = $text:literal ),+ $(,)? }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $( $(#[$variant_meta])* $variant, )+
            /// A text that this version does not name.
            Other(::std::string::String),
        }

        impl $name {
            /// The texts that the API server accepts, in the order of the schema.
            pub const VALUES: &'static [&'static str] = &[$($text),+];

            /// The text as it stands in the object.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $( Self::$variant => $text, )+
                    Self::Other(text) => text,
                }
            }
        }

        impl ::std::default::Default for $name {
            fn default() -> Self {
                Self::Other(::std::string::String::new())
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                formatter.write_str(self.as_str())
            }
        }

        impl ::std::convert::From<&str> for $name {
            fn from(text: &str) -> Self {
                match text {
                    $( $text => Self::$variant, )+
                    other => Self::Other(other.to_owned()),
                }
            }
        }

        impl ::std::convert::From<::std::string::String> for $name {
            fn from(text: ::std::string::String) -> Self {
                Self::from(text.as_str())
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> ::std::result::Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<Self, D::Error> {
                <::std::string::String as ::serde::Deserialize>::deserialize(deserializer).map(Self::from)
            }
        }

        impl ::schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                ::schemars::json_schema!({ "type": "string", "enum": Self::VALUES })
            }
        }
    };
}

/// Defines the object of a kind around its spec and, where the kind has one, its status; describes it to
/// `kube` ([`kube::Resource`]) and to the generator ([`CustomResource`](crate::CustomResource)).
macro_rules! custom_resource {
    (
        $(#[doc = $description:literal])+
        pub struct $name:ident { spec: $spec:ty $(, status: $status:ty)? $(,)? }
        definition: $definition:expr;
    ) => {
        $(#[doc = $description])+
        #[derive(Clone, Debug, Default, PartialEq, ::serde::Deserialize)]
        pub struct $name {
            /// Name, namespace, labels, annotations and the bookkeeping of the API server.
            #[serde(default)]
            pub metadata: ::kube::core::ObjectMeta,
            /// What is wanted.
            #[serde(default)]
            pub spec: $spec,
            $(
                /// What was observed. Absent until a controller has seen the object.
                #[serde(default)]
                pub status: ::std::option::Option<$status>,
            )?
        }

        impl $name {
            /// An object of this kind with the given name and spec, in no namespace yet.
            #[must_use]
            pub fn new(name: &str, spec: $spec) -> Self {
                Self {
                    metadata: ::kube::core::ObjectMeta {
                        name: ::std::option::Option::Some(name.to_owned()),
                        ..::std::default::Default::default()
                    },
                    spec,
                    $( status: ::std::option::Option::<$status>::None, )?
                }
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> ::std::result::Result<S::Ok, S::Error> {
                use ::serde::ser::SerializeStruct;
                let mut object = serializer.serialize_struct(stringify!($name), 5)?;
                object.serialize_field("apiVersion", &<Self as ::kube::Resource>::api_version(&()))?;
                object.serialize_field("kind", &<Self as ::kube::Resource>::kind(&()))?;
                object.serialize_field("metadata", &self.metadata)?;
                object.serialize_field("spec", &self.spec)?;
                $(
                    let status: &::std::option::Option<$status> = &self.status;
                    match status {
                        ::std::option::Option::Some(status) => object.serialize_field("status", status)?,
                        ::std::option::Option::None => object.skip_field("status")?,
                    }
                )?
                object.end()
            }
        }

        impl ::kube::Resource for $name {
            type DynamicType = ();
            type Scope = ::kube::core::NamespaceResourceScope;

            fn kind(_: &()) -> ::std::borrow::Cow<'_, str> {
                <Self as $crate::CustomResource>::DEFINITION.kind.into()
            }

            fn group(_: &()) -> ::std::borrow::Cow<'_, str> {
                <Self as $crate::CustomResource>::DEFINITION.group.into()
            }

            fn version(_: &()) -> ::std::borrow::Cow<'_, str> {
                <Self as $crate::CustomResource>::DEFINITION.version.into()
            }

            fn plural(_: &()) -> ::std::borrow::Cow<'_, str> {
                <Self as $crate::CustomResource>::DEFINITION.plural.into()
            }

            fn meta(&self) -> &::kube::core::ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut ::kube::core::ObjectMeta {
                &mut self.metadata
            }
        }

        impl $crate::CustomResource for $name {
            const DEFINITION: $crate::Definition = $definition;
            const DESCRIPTION: &'static str = concat!($($description),+).trim_ascii();

            fn spec_schema(generator: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                generator.subschema_for::<$spec>()
            }

            $(
                fn status_schema(
                    generator: &mut ::schemars::SchemaGenerator,
                ) -> ::std::option::Option<::schemars::Schema> {
                    ::std::option::Option::Some(generator.subschema_for::<$status>())
                }
            )?
        }

        $(
            impl ::kube::core::object::HasStatus for $name {
                type Status = $status;

                fn status(&self) -> ::std::option::Option<&$status> {
                    self.status.as_ref()
                }

                fn status_mut(&mut self) -> &mut ::std::option::Option<$status> {
                    &mut self.status
                }
            }
        )?

        impl ::kube::core::object::HasSpec for $name {
            type Spec = $spec;

            fn spec(&self) -> &$spec {
                &self.spec
            }

            fn spec_mut(&mut self) -> &mut $spec {
                &mut self.spec
            }
        }
    };
}

/// Implements [`Reconciled`](crate::Reconciled) for a kind whose spec has `suspend` and whose status has
/// conditions, the observed generation and the last handled request.
macro_rules! reconciled {
    ($name:ident) => {
        impl $crate::Reconciled for $name {
            fn suspended(&self) -> bool {
                self.spec.suspend
            }

            fn conditions(&self) -> &[$crate::meta::Condition] {
                self.status
                    .as_ref()
                    .map_or(&[], |status| status.conditions.as_slice())
            }

            fn conditions_mut(&mut self) -> &mut ::std::vec::Vec<$crate::meta::Condition> {
                &mut self.status.get_or_insert_default().conditions
            }

            fn observed_generation(&self) -> ::std::option::Option<i64> {
                self.status
                    .as_ref()
                    .and_then(|status| status.observed_generation)
            }

            fn set_observed_generation(&mut self, generation: i64) {
                self.status.get_or_insert_default().observed_generation =
                    ::std::option::Option::Some(generation);
            }

            fn last_handled_reconcile_at(&self) -> ::std::option::Option<&str> {
                self.status
                    .as_ref()
                    .and_then(|status| status.last_handled_reconcile_at.as_deref())
            }

            fn set_last_handled_reconcile_at(&mut self, request: &str) {
                self.status
                    .get_or_insert_default()
                    .last_handled_reconcile_at = ::std::option::Option::Some(request.to_owned());
            }
        }
    };
}

pub(crate) use {custom_resource, reconciled};
