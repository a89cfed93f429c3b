//! The fleets that are measured.

use std::fs;
use std::path::Path;

use windlass_core::manifest::{MAX_RESOURCES, SourceFile};
use windlass_testkit::fleet::{FleetEdition, FleetForm, FleetText, LARGEST_FILE_NODES, one_file, spread};

/// A fleet and its previous version.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) current: Vec<FleetText>,
    pub(crate) previous: Vec<FleetText>,
    /// One measurement is made for this many requested ones: large fleets take long.
    pub(crate) thinning: usize,
}

impl Case {
    /// The same fleet in four sizes, each about ten times the previous one.
    pub(crate) fn sizes() -> Vec<Case> {
        let nodes =
            |name, nodes| Case::new(name, 1, |edition| vec![one_file(nodes, FleetForm::List, edition)]);
        vec![
            nodes("100 nodes", 100),
            nodes("1,000 nodes", 1000),
            nodes("8,000 nodes", LARGEST_FILE_NODES),
            Case::new("100,000 resources", 3, |edition| spread(MAX_RESOURCES, FleetForm::List, edition)),
        ]
    }

    /// The largest file written with maps instead of lists.
    pub(crate) fn largest_as_maps() -> Case {
        Case::new("8,000 nodes, maps", 1, |edition| {
            vec![one_file(LARGEST_FILE_NODES, FleetForm::Map, edition)]
        })
    }

    fn new(name: &'static str, thinning: usize, make: impl Fn(FleetEdition) -> Vec<FleetText>) -> Case {
        Case { name, current: make(FleetEdition::Current), previous: make(FleetEdition::Previous), thinning }
    }

    /// How often to measure it.
    pub(crate) fn runs(&self, asked: usize) -> usize {
        (asked / self.thinning).max(3)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.current.iter().map(|file| file.text.len()).sum()
    }
}

/// The files as the core needs them.
pub(crate) fn sources(files: &[FleetText]) -> Vec<SourceFile> {
    let source = |file: &FleetText| SourceFile::new(&file.path, file.text.clone().into_bytes());
    files.iter().map(source).collect()
}

/// Writes files below a directory.
pub(crate) fn write_files(directory: &Path, files: &[FleetText]) -> std::io::Result<()> {
    for file in files {
        let path = directory.join(&file.path);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, &file.text)?;
    }
    Ok(())
}
