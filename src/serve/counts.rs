//! Counters for `/metrics`.

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::query::gpu::Use;

type Labels = Vec<(&'static str, String)>;

/// Seconds: from 100 us to 13 s, each twice the one before.
fn seconds() -> Histogram {
    Histogram::new((0..18).map(|i| 1e-4 * f64::from(1 << i)))
}

/// What has happened since the server began.
#[derive(Debug)]
pub struct Counts {
    registry: Registry,
    requests: Family<Labels, Counter>,
    taken: Histogram,
    /// Queries that were answered.
    pub queries: Counter,
    /// From a free processor to the hits, for each query alone or each batch.
    pub searches: Histogram,
    /// Queries of a batch; 1 where queries are answered one by one.
    pub batches: Histogram,
    /// Requests that were turned away because too many waited.
    pub refused: Counter,
    /// Requests whose time was over.
    pub late: Counter,
    /// Queries whose hits were kept.
    pub cache_hits: Counter,
    /// Queries whose hits were not.
    pub cache_misses: Counter,
    /// Queries that threads of the CPU searched.
    pub by_cpu: Counter,
    /// Queries that a GPU's thread searched.
    pub by_gpu: Counter,
    /// Lists that queries asked for and that a GPU had, lists that were brought, their bytes, and lists dropped for
    /// them.
    lists: [Counter; 4],
    /// Threads that panicked, and were replaced.
    pub panics: Counter,
    /// Times that a GPU was lost, so that the CPU goes on alone.
    pub devices_lost: Counter,
    /// Times that it was opened again.
    pub devices_back: Counter,
    /// Connections that are open.
    pub connections: Gauge,
    /// Queries that wait.
    pub waiting: Gauge,
    /// Indexes that took the place of another.
    pub reloads: Counter,
}

impl Default for Counts {
    fn default() -> Self {
        Self::new()
    }
}

impl Counts {
    /// All at 0.
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("gamut");
        let requests = Family::<Labels, Counter>::default();
        registry.register("requests", "Requests by route and status", requests.clone());
        let mut counter = |name: &str, help: &str| {
            let counter: Counter = Counter::default();
            registry.register(name, help, counter.clone());
            counter
        };
        let queries = counter("queries", "Queries that were answered");
        let refused = counter("refused", "Requests turned away because too many waited");
        let late = counter("late", "Requests whose time was over");
        let cache_hits = counter("cache_hits", "Queries whose hits were kept from before");
        let cache_misses = counter("cache_misses", "Queries whose hits were not");
        let by_cpu = counter("queries_by_cpu", "Queries that threads of the CPU searched");
        let by_gpu = counter("queries_by_gpu", "Queries that a GPU's thread searched");
        let lists = [
            ("gpu_lists_found", "Lists that queries asked for and that were in the GPU's memory"),
            ("gpu_lists_brought", "Lists that queries asked for and that had to be brought"),
            ("gpu_list_bytes", "Bytes of lists that were brought"),
            ("gpu_lists_dropped", "Lists that were dropped to make room"),
        ]
        .map(|(name, help)| counter(name, help));
        let panics = counter("panics", "Threads that panicked, and were replaced");
        let devices_lost = counter("devices_lost", "Times that a GPU was lost, and the CPU went on alone");
        let devices_back = counter("devices_back", "Times that a lost GPU was opened again");
        let reloads = counter("reloads", "Indexes that took the place of another");
        let mut histogram = |name: &str, help: &str, histogram: Histogram| {
            registry.register(name, help, histogram.clone());
            histogram
        };
        let taken = histogram("request_seconds", "From a request's head to its response", seconds());
        let searches =
            histogram("search_seconds", "From a free processor to the hits of a query or a batch", seconds());
        let sizes = Histogram::new((0..11).map(|i| f64::from(1 << i)));
        let batches = histogram("batch_queries", "Queries that were answered together", sizes);
        let mut gauge = |name: &str, help: &str| {
            let gauge: Gauge = Gauge::default();
            registry.register(name, help, gauge.clone());
            gauge
        };
        let connections = gauge("connections", "Open connections");
        let waiting = gauge("waiting_queries", "Queries that wait");
        Self {
            registry,
            requests,
            taken,
            queries,
            searches,
            batches,
            refused,
            late,
            cache_hits,
            cache_misses,
            by_cpu,
            by_gpu,
            lists,
            panics,
            devices_lost,
            devices_back,
            connections,
            waiting,
            reloads,
        }
    }

    /// Counts how queries used the lists in a GPU's memory.
    pub fn lists(&self, used: &Use) {
        let all = [used.hits, used.misses, used.bytes(), used.evicted];
        self.lists.iter().zip(all).for_each(|(counter, number)| {
            counter.inc_by(number);
        });
    }

    /// Counts a response.
    pub fn request(&self, route: &'static str, status: u16, seconds: f64) {
        self.requests.get_or_create(&vec![("route", route.to_owned()), ("status", status.to_string())]).inc();
        self.taken.observe(seconds);
    }

    /// All of them, as Prometheus reads them.
    pub fn print(&self) -> String {
        let mut text = String::new();
        // writing to a String does not fail
        let _ = encode(&mut text, &self.registry);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_what_is_counted_is_printed() {
        let counts = Counts::new();
        counts.request("/search", 200, 0.001);
        counts.request("/search", 200, 0.002);
        counts.request("/search", 429, 0.0);
        counts.queries.inc_by(7);
        counts.lists(&Use { hits: 5, misses: 2, words: 30, evicted: 1, ..Use::default() });
        let text = counts.print();
        for line in ["found_total 5", "brought_total 2", "dropped_total 1"] {
            assert!(text.contains(&format!("gamut_gpu_lists_{line}\n")), "{line}: {text}");
        }
        assert!(text.contains("gamut_gpu_list_bytes_total 120\n"), "{text}");
        assert!(text.contains("gamut_requests_total{route=\"/search\",status=\"200\"} 2\n"), "{text}");
        assert!(text.contains("gamut_requests_total{route=\"/search\",status=\"429\"} 1\n"), "{text}");
        assert!(text.contains("gamut_queries_total 7\n") && text.ends_with("# EOF\n"), "{text}");
        assert!(text.contains("gamut_request_seconds_count 3\n"), "{text}");
    }
}
