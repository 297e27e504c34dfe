//! The image of a device, for as long as it can be written.

use crate::image::{Image, ImageError};

/// None, one that is written, or why it could not be.
#[derive(Default)]
pub struct OpenImage {
    image: Option<Image>,
    error: Option<String>,
}

impl OpenImage {
    pub fn set(&mut self, image: Image) {
        self.image = Some(image);
    }

    pub fn take(&mut self) -> Option<Image> {
        self.image.take()
    }

    pub fn is_written(&self) -> bool {
        self.image.is_some()
    }

    /// Why it could not be written. It has been given up since.
    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// Writes to the image, if there is one.
    pub fn write(&mut self, write: impl FnOnce(&mut Image) -> Result<(), ImageError>) {
        if let Some(Err(error)) = self.image.as_mut().map(write) {
            self.error = Some(error.to_string());
            self.image = None;
        }
    }
}
