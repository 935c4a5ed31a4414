//! Files for browsers: embedded, named by what they hold, kept for ever.
//!
//! A room's files, and the kit's under `kit/`, lie in one folder whose name is the fingerprint of
//! them all. So a module imports another by a relative name (`./kit/dom.js`), and still nobody
//! mixes files of two versions. A file without the fingerprint in its path does not exist.

use std::sync::Arc;

use edge::{HeaderMap, HeaderValue, Response, Routes, State, Tagged, fingerprint, get};

/// A file: its name in the folder, and what it holds.
pub type Asset = (&'static str, &'static str);

/// What every room's folder holds.
const KIT: [Asset; 10] = [
    ("kit/base.css", include_str!("assets/base.css")),
    ("kit/again.js", include_str!("assets/again.js")),
    ("kit/dom.js", include_str!("assets/dom.js")),
    ("kit/events.js", include_str!("assets/events.js")),
    ("kit/icon.svg", edge::ICON),
    ("kit/language.js", include_str!("assets/language.js")),
    ("kit/link.js", include_str!("assets/link.js")),
    ("kit/search.js", include_str!("assets/search.js")),
    ("kit/text.js", include_str!("assets/text.js")),
    ("kit/times.js", include_str!("assets/times.js")),
];

/// What a room adds to its files if its pages have charts: uPlot, as it was published, made a module.
/// Its licence lies beside it.
pub const CHART: [Asset; 2] = [
    (
        "kit/uplot.js",
        concat!(
            "/* uPlot 1.6.32, copyright (c) 2022 Leon Sorokin, MIT licence */\n",
            include_str!("assets/uplot/uPlot.iife.min.js"),
            "\nexport default uPlot;\n"
        ),
    ),
    ("kit/uplot.css", include_str!("assets/uplot/uPlot.min.css")),
];

/// The files of a room's pages.
#[derive(Clone, Debug)]
pub struct Assets {
    folder: String,
    files: Vec<Asset>,
}

impl Assets {
    /// The files of `room`, and the kit's.
    pub fn new(room: &str, files: &[Asset]) -> Assets {
        let files = [&KIT, files].concat();
        let all: String = files.iter().map(|(name, text)| format!("{name}\0{text}\0")).collect();
        Assets { folder: format!("/{room}/assets/{}", fingerprint(all.as_bytes())), files }
    }

    /// Where a file is found.
    ///
    /// # Panics
    /// There is no such file: the page that names it would be broken.
    pub fn path(&self, name: &str) -> String {
        assert!(self.files.iter().any(|(known, _)| *known == name), "there is no file `{name}`");
        format!("{}/{name}", self.folder)
    }

    /// Routes to all files.
    pub fn routes(&self) -> Routes {
        self.files.iter().fold(Routes::new(), |routes, (name, text)| {
            let file = Arc::new(Tagged::new(content_type(name), *text).for_ever());
            routes.route(&self.path(name), get(get_file).with_state(file))
        })
    }
}

async fn get_file(State(file): State<Arc<Tagged>>, headers: HeaderMap) -> Response {
    file.answer(&headers)
}

fn content_type(name: &str) -> HeaderValue {
    HeaderValue::from_static(match name.rsplit_once('.') {
        Some((_, "css")) => "text/css; charset=utf-8",
        Some((_, "js")) => "text/javascript; charset=utf-8",
        Some((_, "svg")) => "image/svg+xml",
        Some(_) | None => "application/octet-stream",
    })
}

#[cfg(test)]
mod tests {
    use super::Assets;

    #[test]
    fn another_text_or_another_name_makes_another_folder() {
        let folder = |files| Assets::new("live", files).folder;
        let first = folder(&[("a.js", "1"), ("b.js", "2")]);
        assert_eq!(first, folder(&[("a.js", "1"), ("b.js", "2")]));
        assert!(first.starts_with("/live/assets/"));
        for other in [
            &[("a.js", "1"), ("b.js", "3")][..],
            &[("a.js", "1"), ("c.js", "2")],
            &[("a.js", "1b.js"), ("", "2")],
        ] {
            assert_ne!(first, folder(other));
        }
    }

    #[test]
    fn files_are_found_in_the_folder_the_kits_too() {
        let assets = Assets::new("live", &[("a.js", "1")]);
        assert_eq!(assets.path("a.js"), format!("{}/a.js", assets.folder));
        assert_eq!(assets.path("kit/dom.js"), format!("{}/kit/dom.js", assets.folder));
    }
}
