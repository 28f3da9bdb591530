//! What the processor can do: one level, asked for once.
//!
//! A function for a level carries the level's `target_feature`; its caller must compare [`level`] first. Where only the
//! compiler makes the difference, `avx2` writes both functions.

/// Levels that code is compiled for; each includes all before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Plain Rust.
    #[cfg_attr(target_arch = "x86_64", allow(dead_code, reason = "tests compare the others with it"))]
    Plain,
    /// SSE2, which every x86-64 processor has.
    #[cfg(target_arch = "x86_64")]
    Sse2,
    /// SSE4.1.
    #[cfg(target_arch = "x86_64")]
    Sse41,
    /// AVX2, FMA, BMI1, BMI2, LZCNT, POPCNT, PCLMULQDQ (Intel since Haswell, AMD since Zen).
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 F, BW, VL, VBMI, VBMI2, VNNI: with permutations of bytes (Intel since Ice Lake, AMD since Zen 4).
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// The best level of this machine.
#[inline]
pub fn level() -> Level {
    #[cfg(target_arch = "x86_64")]
    {
        static LEVEL: std::sync::LazyLock<Level> = std::sync::LazyLock::new(detect);
        *LEVEL
    }
    #[cfg(not(target_arch = "x86_64"))]
    Level::Plain
}

/// Prefetches the first cache lines of a slice. Does nothing on other processors, or for an empty slice.
#[inline(always)]
pub fn prefetch<T>(slice: &[T], lines: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..lines {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every processor of this architecture has the instruction, and it does nothing for an address that
        // does not exist.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(slice.as_ptr().cast::<i8>().wrapping_add(64 * line)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, lines);
}

#[cfg(target_arch = "x86_64")]
fn detect() -> Level {
    macro_rules! has {
        ($($feature:tt)*) => { true $(&& is_x86_feature_detected!($feature))* };
    }
    if !has!("sse4.1") {
        Level::Sse2
    } else if !has!("avx2" "fma" "bmi1" "bmi2" "lzcnt" "popcnt" "pclmulqdq") {
        Level::Sse41
    } else if !has!("avx512f" "avx512bw" "avx512vl" "avx512vbmi" "avx512vbmi2" "avx512vnni") {
        Level::Avx2
    } else {
        Level::Avx512
    }
}

/// A level that this machine has; only this module makes one, after a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Available(Level);

impl Available {
    /// The best.
    pub fn best() -> Self {
        Self(level())
    }

    /// The level itself.
    #[inline]
    pub fn level(self) -> Level {
        self.0
    }

    /// All of them, the plain one first.
    #[cfg(test)]
    pub fn all() -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let levels = [Level::Plain, Level::Sse2, Level::Sse41, Level::Avx2, Level::Avx512];
        #[cfg(not(target_arch = "x86_64"))]
        let levels = [Level::Plain];
        levels.into_iter().filter(|&one| one <= level()).map(Self)
    }
}

/// Defines a function and compiles its body twice, plain and for [`Level::Avx2`]; a call runs the better one that the
/// processor supports. Functions that the body calls must be inlined.
macro_rules! avx2 {
    ($(#[$attribute:meta])* $visible:vis fn $name:ident($($arg:ident: $type:ty),*) $(-> $result:ty)? $body:block) => {
        $(#[$attribute])*
        $visible fn $name($($arg: $type),*) $(-> $result)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
                fn wide($($arg: $type),*) $(-> $result)? $body
                if crate::base::simd::level() >= crate::base::simd::Level::Avx2 {
                    // SAFETY: the processor has the features that the function is compiled for.
                    return unsafe { wide($($arg),*) };
                }
            }
            $body
        }
    };
}
pub(crate) use avx2;
