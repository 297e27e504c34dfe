//! What is under way to the device or from it.

/// Each has a number, which is its own until it ends.
#[derive(Clone, Debug)]
pub struct UnderWay<T> {
    places: Vec<Option<T>>,
    count: usize,
}

impl<T> Default for UnderWay<T> {
    fn default() -> Self {
        UnderWay { places: Vec::new(), count: 0 }
    }
}

impl<T> UnderWay<T> {
    pub fn count(&self) -> usize {
        self.count
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.places.iter_mut().flatten()
    }

    /// Returns the number: the first that is free.
    pub fn begin(&mut self, what: T) -> usize {
        let place = self.places.iter().position(Option::is_none).unwrap_or(self.places.len());
        if place == self.places.len() {
            self.places.push(None);
        }
        self.places[place] = Some(what);
        self.count += 1;
        place
    }

    pub fn end(&mut self, number: usize) -> T {
        self.count -= 1;
        self.places[number].take().expect("it was under way")
    }
}
