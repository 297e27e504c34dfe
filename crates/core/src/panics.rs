//! Panics as results, told once and by whoever catches them.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    /// The message of the last panic on this thread while one is caught; `None` at all other times.
    static MESSAGE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs `what`; if it panics, says with which message and where (`panic: index out of bounds (src/map.rs:12)`).
///
/// Such a panic is not printed. Panics outside of `what`, or on other threads, are printed as before.
///
/// # Errors
/// The panic.
pub fn catch_panic<T>(what: impl FnOnce() -> T) -> Result<T, String> {
    listen();
    MESSAGE.with_borrow_mut(|message| *message = Some(String::new()));
    let result = catch_unwind(AssertUnwindSafe(what));
    let message = MESSAGE.with_borrow_mut(Option::take).unwrap_or_default();
    result.map_err(|_| message)
}

fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let caught = MESSAGE.with_borrow_mut(|message| {
                let place = info.location().map_or(String::new(), |at| format!(" ({}:{})", at.file(), at.line()));
                let text = info.payload_as_str().unwrap_or("without a message");
                message.as_mut().map(|message| *message = format!("panic: {text}{place}")).is_some()
            });
            if !caught {
                before(info);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_comes_back_with_its_message_and_place() {
        assert_eq!(catch_panic(|| 7), Ok(7));
        let error = catch_panic(|| panic!("made to {}", "fail")).unwrap_err();
        assert!(error.starts_with("panic: made to fail ("), "{error}");
        assert!(error.contains("panics.rs:"), "{error}");
        assert_eq!(
            catch_panic(|| std::panic::panic_any(7)).unwrap_err().split(" (").next(),
            Some("panic: without a message")
        );
        assert_eq!(catch_panic(|| "as before"), Ok("as before"));
    }
}
