//! Random numbers and elementary functions that are the same on every machine.
//!
//! The generator is SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators,
//! OOPSLA 2014, figure 17): a counter and a mixing function, so that every page gets its own stream
//! from (seed, page) at no cost. `ln` and `exp` use only operations that IEEE 754 defines to the last
//! bit; the ones of the platform's libm may differ from version to version.

/// SplitMix64 as published, from a state.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The stream that starts at `state`.
    pub fn new(state: u64) -> Self {
        Self(state)
    }

    /// 64 uniform bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }
}

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Rng(SplitMix64);

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Rng {
    /// Stream number `stream` of `seed`; `purpose` keeps streams of different use apart.
    pub fn new(seed: u64, purpose: u64, stream: u64) -> Self {
        let seed = mix(seed.wrapping_add(GOLDEN));
        let seed = mix(seed ^ mix(purpose.wrapping_add(GOLDEN)));
        Self(SplitMix64::new(mix(seed ^ mix(stream.wrapping_add(GOLDEN)))))
    }

    /// 64 uniform bits.
    pub fn next(&mut self) -> u64 {
        self.0.next()
    }

    /// Uniform in `0..n`, for `n` in 1..2^32 (the bias of the multiplication is below 2^-32 · n).
    pub fn below(&mut self, n: u64) -> u64 {
        ((self.next() >> 32) * n) >> 32
    }

    /// True in `of_256` cases of 256.
    pub fn chance(&mut self, of_256: u64) -> bool {
        self.next() >> 56 < of_256
    }

    /// Uniform in [0, 1), 53 bits.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Normal with mean 0 and variance 1, by Marsaglia's polar method.
    pub fn normal(&mut self) -> f64 {
        loop {
            let (x, y) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let r = x * x + y * y;
            if r > 0.0 && r < 1.0 {
                return x * (-2.0 * ln(r) / r).sqrt();
            }
        }
    }
}

/// The natural logarithm of a positive, normal number, to about 1e-16 relative.
pub fn ln(x: f64) -> f64 {
    // x = m · 2^e with m in [√½, √2), and ln m = 2 artanh((m − 1)/(m + 1)).
    let bits = x.to_bits();
    let mut e = (bits >> 52) as i64 - 1023;
    let mut m = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    if m > std::f64::consts::SQRT_2 {
        m *= 0.5;
        e += 1;
    }
    let t = (m - 1.0) / (m + 1.0);
    let mut sum = 0.0;
    for k in (0..12).rev() {
        sum = sum * (t * t) + 1.0 / f64::from(2 * k + 1);
    }
    2.0 * t * sum + e as f64 * std::f64::consts::LN_2
}

/// e^x for x in −700..700, to about 1e-15 relative.
pub fn exp(x: f64) -> f64 {
    // x = k ln 2 + r with |r| ≤ ½ ln 2, and e^r by Taylor.
    let k = (x / std::f64::consts::LN_2).round();
    let r = x - k * std::f64::consts::LN_2;
    let mut sum = 1.0;
    for i in (1..=16).rev() {
        sum = 1.0 + sum * r / f64::from(i);
    }
    sum * f64::from_bits(((k as i64 + 1023) as u64) << 52)
}
