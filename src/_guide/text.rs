//! The grammar of the text of structures, values, paths and patterns.
//!
//! The text that `Display` prints parses back to an equal treedef, value, path or pattern. Spaces and
//! line breaks may be between any two tokens, except inside a path. This is EBNF:
//!
//! ```text
//! treedef  = [ options ] node
//! options  = "#[" option { "," option } "]"
//! option   = "insertion" | "none_is_leaf" | "compact"
//!
//! node     = leaf | "None" | "Some" "(" node ")"
//!          | "()" | "(" "," ")" | "(" items ")"             unit, empty tuple, tuple
//!          | "[" [ items ] "]"                              sequence
//!          | "{" [ entry { "," entry } [ "," ] ] "}"        map
//!          | type                                           unit struct or unit variant
//!          | type "(" node ")"                              newtype
//!          | type "(" [ items ] ")"                         tuple struct or tuple variant
//!          | type "{" [ field { "," field } [ "," ] ] "}"   struct or struct variant
//!          | "static" value                                 in a treedef only
//! items    = item { "," item } [ "," ]    one item alone needs its comma or a count, except
//!                                         in a sequence
//! item     = node [ ";" count ]           that many equal nodes, at least 1
//! entry    = value ":" node
//! field    = name ":" node
//! type     = name [ "::" name ]           a variant has its enum in front
//! leaf     = "*" in a treedef, literal in a value, kind [ shape ] in a signature
//! shape    = "[]" | ( "[" dims "]" | "(" dims ")" ) { … }
//!                                         `f32[9](3)` is `[(f32; 3); 9]`, `u8[]` is `u8`
//! dims     = count { "," count }          from the outside in
//! value    = node, with literals for leaves
//!
//! name     = bare | "`" { char } "`"      bare: a letter or `_`, then also digits; no word of
//!                                         the grammar, no primitive type
//! literal  = "true" | "false" | number [ suffix ] | "'" char "'" | '"' { char } '"'
//!          | 'b"' { byte } '"'
//! number   = [ "-" ] digits | [ "-" ] digits [ "." digits ] [ "e" [ sign ] digits ]
//!          | [ "-" ] "inf" | "nan(0x" hexadecimal bits ")"
//! suffix   = the kind: "u8", "f32", …     i32 and f64 need none; in a path, no integer that
//!                                         cannot be an index
//! char     = any but control characters, the quote and "\" | "\\" | '\"' | "\'" | "\`"
//!          | "\n" | "\r" | "\t"
//!          | "\u{" hexadecimal code "}"    which is printed for all that is invisible, such
//!                                         as U+202E
//! byte     = printable ASCII but '"' and "\" | an escape as above, without "\u"
//!          | "\x" two hexadecimal digits
//!
//! path     = [ name | digits ] { key }
//! pattern  = [ name | digits | "*" | names ]
//!            { key | ".*" | "[*]" | [ "." ] "**" | "." names | range }
//! names    = "{" name { "," name } "}"
//! range    = "[" digits ":" [ digits ] "]" | "[:" digits "]"
//! key      = "." name | "." digits | "[" digits "]" | "[" value "]" | "?"
//!          | "::" name "." ( name | digits )
//! ```
