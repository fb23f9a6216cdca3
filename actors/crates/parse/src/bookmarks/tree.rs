//! Folders that name the folder they stand in.

use std::collections::HashMap;

/// Longer paths are circles.
const DEPTH: usize = 32;

/// Names and parents by their ids.
pub struct Tree(HashMap<String, (String, Option<String>)>);

impl Tree {
    /// Of ids, names and parents.
    pub fn of(folders: impl Iterator<Item = (String, String, Option<String>)>) -> Self {
        Self(folders.map(|(id, name, parent)| (id, (name, parent))).collect())
    }

    /// The names down to a folder, the outermost first; none where there is no such folder.
    pub fn path(&self, id: &str) -> Vec<String> {
        let (mut names, mut next) = (Vec::new(), Some(id));
        while let Some((name, parent)) = next.and_then(|id| self.0.get(id)).filter(|_| names.len() < DEPTH) {
            names.push(name.clone());
            next = parent.as_deref();
        }
        names.reverse();
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_ends() {
        let some = |text: &str| text.to_owned();
        let tree = Tree::of(
            [(some("a"), some("A"), Some(some("b"))), (some("b"), some("B"), Some(some("a")))].into_iter(),
        );

        assert_eq!(tree.path("a").len(), DEPTH);
        assert!(tree.path("c").is_empty());
    }
}
