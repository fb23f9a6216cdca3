//! Folders with their parents.

use std::collections::HashMap;

/// The longest path; longer ones are cycles.
const MAX_DEPTH: usize = 32;

/// Names and parents by their ids.
pub struct FolderTree(HashMap<String, (String, Option<String>)>);

impl FolderTree {
    /// Builds the tree from ids, names and parents.
    pub fn new(folders: impl Iterator<Item = (String, String, Option<String>)>) -> Self {
        Self(folders.map(|(id, name, parent)| (id, (name, parent))).collect())
    }

    /// Returns the path of a folder, the outermost first; empty if there is no such folder.
    pub fn path(&self, id: &str) -> Vec<String> {
        // From the folder up to the root, and reversed at the end.
        let (mut names, mut next) = (Vec::new(), Some(id));
        while let Some((name, parent)) =
            next.and_then(|id| self.0.get(id)).filter(|_| names.len() < MAX_DEPTH)
        {
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
    fn cyclic_folders_have_a_finite_path() {
        let some = |text: &str| text.to_owned();
        let tree = FolderTree::new(
            [(some("a"), some("A"), Some(some("b"))), (some("b"), some("B"), Some(some("a")))].into_iter(),
        );

        assert_eq!(tree.path("a").len(), MAX_DEPTH);
        assert!(tree.path("c").is_empty());
    }
}
