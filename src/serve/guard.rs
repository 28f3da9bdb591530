//! Which requests are let in, and the headers that every response has.

use hyper::HeaderMap;
use hyper::header::{self, HeaderName, HeaderValue};
use std::net::IpAddr;
use subtle::ConstantTimeEq as _;

/// Which requests are let in.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    /// Names by which the server may be called, lower case, without ports. A page that made a name of its own point
    /// here (DNS rebinding) calls by another one.
    pub hosts: Vec<String>,
    /// What a client must know, if anything.
    pub token: Option<String>,
    /// Where pages may come from that read answers.
    pub origins: Vec<String>,
}

/// Why a request is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It names no host, or several, or another one.
    Host,
    /// It lacks the token.
    Token,
}

/// The name in a `Host` header, without the port; `None` if what stands behind the name is no port (RFC 9110, 7.2).
fn host(value: &str) -> Option<&str> {
    let (name, behind) = match value.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some(found) => found,
        None => value.split_at(value.find(':').unwrap_or(value.len())),
    };
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    (behind.is_empty() || behind.strip_prefix(':').is_some_and(is_port)).then_some(name)
}

impl Guard {
    /// Also lets in who calls the server by this address.
    pub fn add_address(&mut self, address: IpAddr) {
        if address.is_loopback() {
            self.hosts.extend(["localhost", "127.0.0.1", "::1"].map(str::to_owned));
        }
        if !address.is_unspecified() {
            self.hosts.push(address.to_string());
        }
    }

    /// Whether the request names this server.
    ///
    /// # Errors
    /// [`Refused::Host`].
    pub fn check_host(&self, headers: &HeaderMap) -> Result<(), Refused> {
        let mut values = headers.get_all(header::HOST).iter();
        let (Some(value), None) = (values.next(), values.next()) else { return Err(Refused::Host) };
        let name = value.to_str().map_err(|_| Refused::Host)?;
        let name = host(name).ok_or(Refused::Host)?.to_ascii_lowercase();
        if self.hosts.contains(&name) { Ok(()) } else { Err(Refused::Host) }
    }

    /// Whether the client knows the token.
    ///
    /// # Errors
    /// [`Refused::Token`].
    pub fn check_token(&self, headers: &HeaderMap) -> Result<(), Refused> {
        let Some(token) = &self.token else { return Ok(()) };
        let given = headers.get(header::AUTHORIZATION).map_or(&b""[..], HeaderValue::as_bytes);
        let given = given.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case(b"Bearer ")).map(|_| &given[7..]);
        // in constant time, but for the length
        if bool::from(given.unwrap_or_default().ct_eq(token.as_bytes())) { Ok(()) } else { Err(Refused::Token) }
    }

    /// The origin of a page that may read the answer.
    pub fn origin(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let origin = headers.get(header::ORIGIN)?;
        self.origins.iter().any(|known| known.as_bytes() == origin.as_bytes()).then(|| origin.clone())
    }
}

/// Puts the headers that every response has. Pages of a crawl are hostile: should a title get past the escaping, a
/// browser runs no script, loads nothing, and sends forms nowhere else.
pub fn put_headers(headers: &mut HeaderMap, origin: Option<HeaderValue>) {
    const ALL: [(HeaderName, &str); 5] = [
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
        ),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ];
    for (name, value) in ALL {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Some(origin) = origin {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::VARY, HeaderValue::from_static("Origin"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap())).collect()
    }

    #[test]
    fn test_other_names_are_refused() {
        let mut guard = Guard { hosts: vec!["search.example".to_owned()], ..Guard::default() };
        guard.add_address("127.0.0.1".parse().unwrap());
        let asked = |value: &str| guard.check_host(&headers(&[(header::HOST, value)]));
        for good in ["localhost", "localhost:8080", "127.0.0.1:1", "[::1]:80", "[::1]", "Search.Example:80"] {
            assert_eq!(asked(good), Ok(()), "{good}");
        }
        for bad in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example:8080",
            "",
            ":80",
            "0.0.0.0",
            "[::2]:80",
            "localhost:8080x",
            "localhost:80:80",
            "[::1]x",
            "[::1]80",
        ] {
            assert_eq!(asked(bad), Err(Refused::Host), "{bad}");
        }
        assert_eq!(guard.check_host(&HeaderMap::new()), Err(Refused::Host));
        let mut twice = headers(&[(header::HOST, "localhost")]);
        twice.append(header::HOST, HeaderValue::from_static("localhost"));
        assert_eq!(guard.check_host(&twice), Err(Refused::Host));
    }

    #[test]
    fn test_the_token_is_asked_for() {
        let guard = Guard { token: Some("secret".to_owned()), ..Guard::default() };
        let asked = |value: &str| guard.check_token(&headers(&[(header::AUTHORIZATION, value)]));
        assert_eq!((asked("Bearer secret"), asked("bearer secret")), (Ok(()), Ok(())));
        for bad in ["", "Bearer ", "Bearer secre", "Bearer secrets", "Basic secret", "secret", "Bearer  secret"] {
            assert_eq!(asked(bad), Err(Refused::Token), "{bad}");
        }
        assert_eq!(guard.check_token(&HeaderMap::new()), Err(Refused::Token));
        assert_eq!(Guard::default().check_token(&HeaderMap::new()), Ok(()));
    }

    #[test]
    fn test_other_origins_learn_nothing() {
        let guard = Guard { origins: vec!["https://a.example".to_owned()], ..Guard::default() };
        let asked = |value: &str| guard.origin(&headers(&[(header::ORIGIN, value)]));
        assert!(asked("https://a.example").is_some());
        assert!(asked("https://b.example").is_none() && asked("null").is_none());
        assert!(guard.origin(&HeaderMap::new()).is_none());
    }
}
