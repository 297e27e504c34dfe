//! The image of a device, for as long as it can be written.

use crate::image::{Image, ImageError, LockedImage};

/// None, one that is written, or one that could not be. That one stays open, so that no other process can use it while this one
/// serves what it holds.
#[derive(Default)]
pub struct OpenImage {
    image: Option<Image>,
    /// Nothing is written to it any more.
    error: Option<String>,
    /// One that is never written.
    read: Option<LockedImage>,
}

impl OpenImage {
    pub fn set(&mut self, image: Image) {
        self.image = Some(image);
    }

    pub fn set_read(&mut self, image: LockedImage) {
        self.read = Some(image);
    }

    pub fn take(&mut self) -> Option<Image> {
        self.image.take_if(|_| self.error.is_none())
    }

    pub fn is_written(&self) -> bool {
        self.image.is_some() && self.error.is_none()
    }

    /// Why it could not be written. It has been given up since.
    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// Writes to the image, if there is one.
    pub fn write(&mut self, write: impl FnOnce(&mut Image) -> Result<(), ImageError>) {
        if let Some(Err(error)) = self.image.as_mut().filter(|_| self.error.is_none()).map(write) {
            self.error = Some(error.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;

    #[test]
    fn an_image_that_could_not_be_written_stays_in_use_and_is_left_alone() {
        let path = std::env::temp_dir().join(format!("ssdlab-failed-{}.ssd", std::process::id()));
        drop(std::fs::remove_file(&path));
        let mut open = OpenImage::default();
        open.set(Image::create(&path, "a", 7, &Store::new(1 << 20), None).unwrap());
        open.write(|_| Err(ImageError::NoSpace));
        assert_eq!((open.error(), open.is_written()), (Some("its disk is full"), false));
        open.write(|_| panic!("it was given up"));
        assert!(open.take().is_none());
        assert!(matches!(Image::find(&path).err(), Some(ImageError::InUse)));
        drop(open);
        assert!(Image::find(&path).is_ok());
        std::fs::remove_file(&path).unwrap();
    }
}
