//! The side bar and the head of the operator's pages, and the search that opens above them.
//!
//! The list of pages is data: names and paths, so that a room's page shows the way to the other
//! rooms and knows none of them. A test of the binary visits every path.

use edge::{Language, Reader};
use maud::{Markup, html};

/// One entry of the side bar: its path, its names, and the strokes of its icon in a square of 20.
#[derive(Clone, Copy, Debug)]
pub struct Desk {
    /// Where it is.
    pub path: &'static str,
    en: &'static str,
    ja: &'static str,
    icon: &'static str,
}

impl Desk {
    /// Its name in a language.
    pub fn name(&self, language: Language) -> &'static str {
        match language {
            Language::En => self.en,
            Language::Ja => self.ja,
        }
    }
}

/// The pages of the server.
const SERVER: [Desk; 7] = [
    Desk {
        path: "/console",
        en: "Overview",
        ja: "概要",
        icon: "M3.5 14a7 7 0 1 1 13 0M10 12l3.5-4.5M3.5 14h13",
    },
    Desk {
        path: "/console/tables",
        en: "Tables",
        ja: "テーブル",
        icon: "M3 4h14v12H3zM3 8.5h14M8 4v12",
    },
    Desk {
        path: "/console/flow",
        en: "Flow",
        ja: "フロー",
        icon: "M3 6h10M10 3l3 3-3 3M17 14H7M10 11l-3 3 3 3",
    },
    Desk {
        path: "/console/access",
        en: "Access",
        ja: "アクセス",
        icon: "M13 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM10 10l-7 7M5.5 14.5l2 2",
    },
    Desk {
        path: "/console/backups",
        en: "Backups",
        ja: "バックアップ",
        icon: "M3 4h14v4H3zM4 8v8h12V8M8 11.5h4",
    },
    Desk {
        path: "/console/settings",
        en: "Settings",
        ja: "設定",
        icon: "M3 6h8M15 6h2M3 14h2M9 14h8M13 4v4M7 12v4",
    },
    Desk { path: "/openapi", en: "API", ja: "API", icon: "M7 5l-4 5 4 5M13 5l4 5-4 5" },
];

/// The pages of the rooms.
const ROOMS: [Desk; 5] = [
    Desk {
        path: "/mesh/class",
        en: "Mesh",
        ja: "メッシュ",
        icon: "M10 3a2 2 0 1 1 0 4 2 2 0 0 1 0-4ZM4 13a2 2 0 1 1 0 4 2 2 0 0 1 0-4ZM16 13a2 2 0 1 1 \
               0 4 2 2 0 0 1 0-4ZM9 7l-4 6M11 7l4 6M6 15h8",
    },
    Desk {
        path: "/sns",
        en: "SNS",
        ja: "SNS",
        icon: "M10 16.5S3.5 12.6 3.5 8A3.4 3.4 0 0 1 10 6.6 3.4 3.4 0 0 1 16.5 8c0 4.6-6.5 8.5-6.5 8.5Z",
    },
    Desk { path: "/live", en: "Live", ja: "ライブ", icon: "M3 4h14v9H9l-4 3.5V13H3z" },
    Desk {
        path: "/collect/operate",
        en: "Collect",
        ja: "収集",
        icon: "M3 16.5h14M5 13.5V9M9 13.5V4M13 13.5V8M17 13.5V6",
    },
    Desk {
        path: "/score/operate",
        en: "Score",
        ja: "スコア",
        icon: "M6 3h8v5a4 4 0 0 1-8 0zM6 5H3v1a3 3 0 0 0 3 3M14 5h3v1a3 3 0 0 1-3 3M10 12v3M7 17h6",
    },
];

/// Where the search answers without script, and beside it its results for the dialog.
const SEARCH: &str = "/console/search";

/// Letters of a question. The server bounds them too.
pub const QUESTION_LETTERS_MAX: u32 = 100;

/// All pages of the side bar.
pub fn desks() -> impl Iterator<Item = Desk> {
    SERVER.into_iter().chain(ROOMS)
}

struct Words {
    menu: &'static str,
    pages: &'static str,
    server: &'static str,
    rooms: &'static str,
    search: &'static str,
    search_for: &'static str,
    close: &'static str,
    leave: &'static str,
    none: &'static str,
    found: &'static str,
    more: &'static str,
    late: &'static str,
    failed: &'static str,
    keys: &'static str,
}

const EN: Words = Words {
    menu: "Menu",
    pages: "Pages",
    server: "Server",
    rooms: "Rooms",
    search: "Search",
    search_for: "Pages, tables, sources, games, rooms, people, settings",
    close: "Close",
    leave: "Sign out",
    none: "Nothing is called that.",
    found: "Results: {n}",
    more: "Results: the first {n}. More letters find fewer.",
    late: "Results: {n}. Some rooms did not answer in time.",
    failed: "The search does not answer. Try again.",
    keys: "↑↓ choose · Enter open · Esc close",
};

const JA: Words = Words {
    menu: "メニュー",
    pages: "ページ",
    server: "サーバー",
    rooms: "部屋",
    search: "検索",
    search_for: "ページ、テーブル、データ元、ゲーム、ルーム、人、設定",
    close: "閉じる",
    leave: "ログアウト",
    none: "見つかりませんでした。",
    found: "{n}件",
    more: "最初の{n}件。文字を増やすと絞り込めます。",
    late: "{n}件。時間内に応答しなかった部屋があります。",
    failed: "検索が応答しません。もう一度お試しください。",
    keys: "↑↓ 選択 · Enter 開く · Esc 閉じる",
};

fn words(reader: Reader) -> &'static Words {
    match reader.language {
        Language::En => &EN,
        Language::Ja => &JA,
    }
}

/// The head of a page: the menu of small screens, the name of the house, the search, and in the
/// corner the languages and the way out.
pub(crate) fn header(reader: Reader, languages: &Markup) -> Markup {
    let words = words(reader);
    html! {
        header .house.desk-head {
            button .menu-button type="button" popovertarget="menu" aria-label=(words.menu) {
                (icon("M3 5h14M3 10h14M3 15h14"))
            }
            (brand())
            a .desk-search #open-search href=(SEARCH) aria-label=(words.search) aria-keyshortcuts="/ Control+K" {
                (icon("M8.5 14a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11ZM12.5 12.5l4.5 4.5"))
                span .desk-search-word { (words.search) }
                kbd .scripted aria-hidden="true" { "/" }
            }
            div .desk-corner {
                (languages)
                a href="/console/sign-out" { (words.leave) }
            }
        }
    }
}

/// The side bar: always there on wide screens, and what the menu button opens on small ones.
pub(crate) fn side(reader: Reader, here: &str) -> Markup {
    let words = words(reader);
    html! {
        nav .desk-side #menu popover aria-label=(words.pages) {
            (group(reader, "side-server", words.server, &SERVER, here))
            (group(reader, "side-rooms", words.rooms, &ROOMS, here))
        }
    }
}

fn group(reader: Reader, id: &str, name: &str, desks: &[Desk], here: &str) -> Markup {
    html! {
        p .desk-group #(id) { (name) }
        ul aria-labelledby=(id) {
            @for desk in desks {
                li {
                    a href=(desk.path) aria-current=[(desk.path == here).then_some("page")] {
                        (icon(desk.icon)) span { (desk.name(reader.language)) }
                    }
                }
            }
        }
    }
}

/// The dialog of the search. Modules fill it, so it stays closed without script.
pub(crate) fn search(reader: Reader) -> Markup {
    let words = words(reader);
    html! {
        dialog #desk-search aria-label=(words.search) data-path={ (SEARCH) "/found" }
            data-none=(words.none) data-found=(words.found) data-more=(words.more)
            data-late=(words.late) data-failed=(words.failed) {
            div .search-field {
                input #search-field type="search" role="combobox" aria-expanded="false"
                    aria-controls="search-found" aria-autocomplete="list" aria-label=(words.search)
                    placeholder=(words.search_for) maxlength=(QUESTION_LETTERS_MAX)
                    autocomplete="off" autocapitalize="off" spellcheck="false";
                button .small #search-close type="button" { (words.close) }
            }
            ul #search-found role="listbox" aria-label=(words.search) hidden {}
            p .search-foot {
                span #search-state role="status" {}
                span .search-keys aria-hidden="true" { (words.keys) }
            }
            template #search-one {
                li role="option" {
                    span .search-name data-slot="name" {}
                    span .search-hint data-slot="hint" {}
                    span .badge data-slot="kind" {}
                }
            }
        }
    }
}

/// The name of the house. It leads to the front.
fn brand() -> Markup {
    html! { a .brand href="/" { "長屋" span { "Nagaya" } } }
}

fn icon(strokes: &str) -> Markup {
    html! { svg .desk-icon viewBox="0 0 20 20" aria-hidden="true" { path d=(strokes) {} } }
}
