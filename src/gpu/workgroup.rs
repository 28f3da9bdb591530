//! Bytes of workgroup memory that a shader declares.

use std::collections::HashMap;

/// The bytes that all variables of the workgroup take together.
///
/// # Errors
/// Names a type or a length that is not understood.
pub(super) fn bytes(source: &str) -> Result<u32, String> {
    let mut constants = HashMap::new();
    for line in source.lines() {
        let constant = line.strip_prefix("const ").and_then(|line| line.split_once(": u32 = "));
        if let Some((name, value)) = constant
            && let Some(value) = product(value.trim_end_matches(';'), &constants)
        {
            constants.insert(name, value);
        }
    }
    let declared = source.lines().filter_map(|line| line.strip_prefix("var<workgroup> "));
    let size = |line: &str| {
        let (_, kind) = line.trim_end_matches(';').split_once(": ")?;
        size_of(kind, &constants)
    };
    declared.map(|line| size(line).ok_or_else(|| format!("how large is \"{line}\"?"))).sum()
}

fn size_of(kind: &str, constants: &HashMap<&str, u32>) -> Option<u32> {
    let inside = |name: &str| kind.strip_prefix(name)?.strip_prefix('<')?.strip_suffix('>');
    if let Some(inner) = inside("array") {
        let (element, count) = inner.rsplit_once(", ")?;
        let (element, count) = (size_of(element, constants)?, product(count, constants)?);
        // elements stand at multiples of their alignment; three words align like four
        return (if element == 12 { 16 } else { element }).checked_mul(count);
    }
    match kind {
        "u32" | "i32" | "f32" | "atomic<u32>" => Some(4),
        "vec2<u32>" => Some(8),
        "vec3<u32>" => Some(12),
        "vec4<u32>" => Some(16),
        _ => None,
    }
}

/// A product of numbers and names of constants.
fn product(text: &str, constants: &HashMap<&str, u32>) -> Option<u32> {
    text.split('*').map(str::trim).try_fold(1u32, |product, factor| {
        let known = constants.get(factor).copied();
        product.checked_mul(known.or_else(|| factor.trim_end_matches('u').parse().ok())?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_sizes() {
        let text = "const A: u32 = 3u;\nconst B: u32 = 2u * A;\nvar<workgroup> a: array<atomic<u32>, A * 8u>;\n\
                    var<workgroup> b: vec3<u32>;\nvar<workgroup> c: array<vec2<u32>, B>;\n";
        assert_eq!(bytes(text), Ok(4 * 24 + 12 + 8 * 6));
        assert!(bytes("var<workgroup> a: array<u32, C>;").is_err_and(|why| why.contains("array<u32, C>")));
        assert!(bytes("var<workgroup> a: Thing;").is_err());
    }
}
