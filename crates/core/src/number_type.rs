//! Numbers of things, each a type of its own, so that one cannot be taken for another.

/// Declares the number of a thing: `number_type! { /// Doc. pub struct BlockId; }`. It is ordered, hashed, shown and stored
/// as the plain number that it is; whoever uses it depends on `serde` with `derive`.
#[macro_export]
macro_rules! number_type {
    ($(#[$doc:meta])* pub struct $name:ident;) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(u32);

        impl $name {
            #[inline]
            #[must_use]
            pub const fn new(number: u32) -> Self {
                $name(number)
            }

            #[inline]
            #[must_use]
            pub const fn number(self) -> u32 {
                self.0
            }

            /// For tables with an entry for each.
            #[inline]
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&self.0, f)
            }
        }
    };
}
