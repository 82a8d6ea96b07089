//! The formats, one call each.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Declares the formats: how each encodes and decodes.
macro_rules! formats {
    ($($format:ident: $value:ident => $encode:expr, $bytes:ident => $decode:expr;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum Format {
            $($format),*
        }

        pub(crate) const FORMATS: &[Format] = &[$(Format::$format),*];

        impl Format {
            pub(crate) fn encode<T: Serialize>(self, input: &T) -> Result<Vec<u8>, String> {
                match self {
                    $(Format::$format => {
                        let $value = input;
                        $encode.map_err(|error| error.to_string())
                    })*
                }
            }

            pub(crate) fn decode<T: DeserializeOwned>(self, input: &[u8]) -> Result<T, String> {
                match self {
                    $(Format::$format => {
                        let $bytes = input;
                        $decode.map_err(|error| error.to_string())
                    })*
                }
            }
        }
    };
}

formats! {
    Json: value => serde_json::to_vec(value), bytes => serde_json::from_slice(bytes);
    Toml: value => toml::to_string(value).map(String::into_bytes), bytes => toml::from_slice(bytes);
    Ron: value => ron::to_string(value).map(String::into_bytes), bytes => ron::de::from_bytes(bytes);
    Cbor: value => cbor(value), bytes => ciborium::from_reader(bytes);
    MessagePack: value => rmp_serde::to_vec(value), bytes => rmp_serde::from_slice(bytes);
    NamedMessagePack: value => rmp_serde::to_vec_named(value), bytes => rmp_serde::from_slice(bytes);
    Bincode: value => bincode::serde::encode_to_vec(value, bincode::config::standard()),
        bytes => bincode::serde::decode_from_slice(bytes, bincode::config::standard()).map(|(value, _)| value);
    Postcard: value => postcard::to_stdvec(value), bytes => postcard::from_bytes(bytes);
}

fn cbor<T: Serialize>(value: &T) -> Result<Vec<u8>, ciborium::ser::Error<std::io::Error>> {
    let mut bytes = Vec::new();
    ciborium::into_writer(value, &mut bytes).map(|()| bytes)
}
