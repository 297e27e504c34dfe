//! The processor that measures: its time, and its name.

/// Seconds that this thread has had a processor for, so that what runs beside it counts as little as possible.
#[cfg(unix)]
pub fn processor_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes to `time` and nothing else.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert!(result == 0, "the processor time of a thread can be read");
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Seconds of the wall clock, where threads have no clock of their own that is known here.
#[cfg(not(unix))]
#[expect(clippy::disallowed_methods, reason = "a benchmark is about the wall clock")]
pub fn processor_seconds() -> f64 {
    static START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    START.elapsed().as_secs_f64()
}

/// The processor as it names itself.
pub fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let values = text.lines().filter_map(|l| l.split_once(':')).find(|(key, _)| key.trim() == name);
        values.map_or("unknown", |(_, value)| value.trim())
    };
    format!("{}, family {}, model {}", field("model name"), field("cpu family"), field("model"))
}
