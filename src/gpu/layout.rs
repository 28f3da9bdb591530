//! Structs that the host and kernels share: defined in Rust, printed as WGSL.

use std::fmt::Write as _;

use super::Piece;

/// A type of a field: one to four words.
pub trait Words {
    /// Its name in WGSL.
    const WGSL: &'static str;
    /// How WGSL makes it of words: the text before and behind them.
    const MADE: [&'static str; 2] = ["", ""];
}

impl Words for u32 {
    const WGSL: &'static str = "u32";
}

impl Words for f32 {
    const WGSL: &'static str = "f32";
    const MADE: [&'static str; 2] = ["bitcast<f32>(", ")"];
}

impl Words for [u32; 2] {
    const WGSL: &'static str = "vec2<u32>";
    const MADE: [&'static str; 2] = ["vec2<u32>(", ")"];
}

impl Words for [u32; 3] {
    const WGSL: &'static str = "vec3<u32>";
    const MADE: [&'static str; 2] = ["vec3<u32>(", ")"];
}

/// A field of a [`Layout`].
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Its type in WGSL.
    pub wgsl: &'static str,
    /// The text before and behind its words.
    pub made: [&'static str; 2],
    /// Its first byte.
    pub at: usize,
    /// Its bytes.
    pub bytes: usize,
}

/// A struct that `gpu_struct!` defines.
pub trait Layout: bytemuck::Pod {
    /// Its name in WGSL.
    const NAME: &'static str;
    /// Its fields, without `padding`.
    const FIELDS: &'static [Field];

    /// `struct NAME { … }`
    fn structure() -> String {
        let mut text = format!("struct {} {{\n", Self::NAME);
        for field in Self::FIELDS {
            // writing to a String cannot fail
            let _ = writeln!(text, "    {}: {},", field.name, field.wgsl);
        }
        text + "}\n"
    }

    /// WGSL for kernels that read rows of it: the struct, the buffer, and a function `name_of` for the row of a number.
    /// A row is loaded four words at a time, or two.
    ///
    /// # Panics
    /// If it has an odd number of words.
    fn rows(buffer: &str) -> Piece {
        let words = size_of::<Self>() / 4;
        let width = if words.is_multiple_of(4) { 4 } else { 2 };
        assert!(words.is_multiple_of(width), "a row is loaded four words at a time, or two");
        let (loads, name) = (words / width, Self::NAME);
        let mut text = Self::structure();
        // writing to a String cannot fail
        let _ = writeln!(text, "\nvar<storage, read> {buffer}: array<vec{width}<u32>>;\n");
        let _ = writeln!(text, "fn {}_of(i: u32) -> {name} {{", name.to_lowercase());
        for load in 0..loads {
            let _ = match loads {
                1 => writeln!(text, "    let v0 = {buffer}[i];"),
                _ => writeln!(text, "    let v{load} = {buffer}[{loads}u * i + {load}u];"),
            };
        }
        let word = |at: usize| format!("v{}.{}", at / width, ["x", "y", "z", "w"][at % width]);
        let field = |field: &Field| {
            let words: Vec<_> = (field.at / 4..(field.at + field.bytes) / 4).map(word).collect();
            format!("{}{}{}", field.made[0], words.join(", "), field.made[1])
        };
        let _ =
            writeln!(text, "    return {name}({});\n}}", Self::FIELDS.iter().map(field).collect::<Vec<_>>().join(", "));
        Piece::Printed(text)
    }

    /// WGSL for kernels that read it as their parameters, `params`.
    fn parameters() -> Piece {
        Piece::Printed(format!("{}\nvar<immediate> params: {};\n", Self::structure(), Self::NAME))
    }

    /// Its bytes, as a kernel reads its parameters.
    fn bytes(self) -> Vec<u8> {
        bytemuck::bytes_of(&self).to_vec()
    }
}

/// Defines a struct whose rows cross to the device, `pub struct Row as "Name" { … }`, and its [`Layout`]. Words that no
/// kernel reads are called `padding`, and stand last.
macro_rules! gpu_struct {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident as $wgsl:literal {
            $($(#[$about:meta])* $access:vis $field:ident: $kind:ty,)*
        }
        $(padding $padding:literal)?
    ) => {
        $(#[$meta])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
        $vis struct $name {
            $($(#[$about])* $access $field: $kind,)*
            $(
                /// Nothing.
                pub padding: [u32; $padding],
            )?
        }

        impl $crate::gpu::layout::Layout for $name {
            const NAME: &'static str = $wgsl;
            const FIELDS: &'static [$crate::gpu::layout::Field] = &[
                $($crate::gpu::layout::Field {
                    name: stringify!($field),
                    wgsl: <$kind as $crate::gpu::layout::Words>::WGSL,
                    made: <$kind as $crate::gpu::layout::Words>::MADE,
                    at: std::mem::offset_of!($name, $field),
                    bytes: size_of::<$kind>(),
                },)*
            ];
        }
    };
}
pub(crate) use gpu_struct;

/// Defines words that kernels find by number in a buffer, `pub struct State as "STATE" { threshold: 1, cuts: 3 }`: each
/// name with its number of words. Rust reads `State::THRESHOLD`, WGSL `STATE_THRESHOLD`; both know the number of all as
/// `WORDS`.
macro_rules! gpu_words {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident as $wgsl:literal {
            $($(#[$about:meta])* $field:ident: $count:expr,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        $vis struct $name;

        impl $name {
            $crate::gpu::layout::gpu_words!(@at 0; $($(#[$about])* $field: $count,)*);

            /// Constants of WGSL: where each is, and how many words there are.
            $vis const CONSTANTS: &'static [(&'static str, u32)] = &[
                $((concat!($wgsl, "_", stringify!($field)), Self::$field),)*
                (concat!($wgsl, "_WORDS"), Self::WORDS),
            ];
        }
    };
    (@at $at:expr; $(#[$about:meta])* $field:ident: $count:expr, $($rest:tt)*) => {
        $(#[$about])*
        pub const $field: u32 = $at;
        $crate::gpu::layout::gpu_words!(@at $at + $count; $($rest)*);
    };
    (@at $at:expr;) => {
        /// Words of all.
        pub const WORDS: u32 = $at;
    };
}
pub(crate) use gpu_words;

#[cfg(test)]
mod tests {
    use super::*;

    gpu_struct! {
        /// A row of two loads.
        struct Long as "Long" {
            a: u32,
            bcd: [u32; 3],
            e: f32,
            fg: [u32; 2],
        }
        padding 1
    }

    gpu_struct! {
        struct Short as "Short" {
            a: u32,
            b: u32,
        }
    }

    gpu_words! {
        struct Place as "PLACE" {
            FIRST: 1,
            MANY: 5,
            LAST: 2,
        }
    }

    #[test]
    fn test_rows_as_wgsl_reads_them() {
        let Piece::Printed(text) = Long::rows("longs") else { panic!("a text") };
        let expected = "struct Long {\n    a: u32,\n    bcd: vec3<u32>,\n    e: f32,\n    fg: vec2<u32>,\n}\n\n\
                        var<storage, read> longs: array<vec4<u32>>;\n\nfn long_of(i: u32) -> Long {\n    let v0 = longs[2u * i + 0u];\n    \
                        let v1 = longs[2u * i + 1u];\n    return Long(v0.x, vec3<u32>(v0.y, v0.z, v0.w), bitcast<f32>(v1.x), \
                        vec2<u32>(v1.y, v1.z));\n}\n";
        assert_eq!(text, expected);
        let Piece::Printed(text) = Short::rows("shorts") else { panic!("a text") };
        assert!(
            text.contains("array<vec2<u32>>") && text.contains("let v0 = shorts[i];\n    return Short(v0.x, v0.y);"),
            "{text}"
        );
        let Piece::Printed(text) = Short::parameters() else { panic!("a text") };
        assert_eq!(text, "struct Short {\n    a: u32,\n    b: u32,\n}\n\nvar<immediate> params: Short;\n");
        assert_eq!(Short { a: 1, b: 2 }.bytes(), [1, 0, 0, 0, 2, 0, 0, 0]);
        assert_eq!(Long::default().padding, [0]);
    }

    #[test]
    fn test_words_have_numbers() {
        assert_eq!((Place::FIRST, Place::MANY, Place::LAST, Place::WORDS), (0, 1, 6, 8));
        let expected = [("PLACE_FIRST", 0), ("PLACE_MANY", 1), ("PLACE_LAST", 6), ("PLACE_WORDS", 8)];
        assert_eq!(Place::CONSTANTS, expected);
    }
}
