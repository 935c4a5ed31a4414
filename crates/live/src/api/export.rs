//! A whole room as a file, for its host: read and sent page by page, however long it is.

use std::sync::Arc;

use bytes::Bytes;
use edge::{Body, Failure, HeaderMap, IntoResponse, Path, Response, State, header};
use futures_util::{StreamExt, stream};
use table::Item;
use utoipa::ToSchema;

use super::Api;
use super::comments::host_room;
use crate::error::Error;
use crate::live::{ShownComment, ShownRoom, json};
use crate::model::Comment;

/// Says that the text is UTF-8 to programs that would guess.
const BYTE_ORDER_MARK: &str = "\u{feff}";
const CSV_HEAD: &str =
    "seq,createdAt,nickname,content,state,pinned,answered,likes,isHost,author,commentId\r\n";

/// The room's comments as a table.
#[utoipa::path(get, path = "/live/rooms/{roomId}/export.csv", params(
    ("roomId" = String, Path, description = "The room's id"),
    ("Authorization" = String, Header, description = "`Bearer` and the host's credential"),
), responses(
    (status = 200, description = "One line for each comment.", body = String, content_type = "text/csv"),
    (status = 400, description = "The id is too long."),
    (status = 403, description = "Only for the host."),
    (status = 404, description = "No such room."),
))]
pub(super) async fn export_csv(
    State(api): State<Arc<Api>>,
    Path(room_id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let room = host_room(&api, &room_id, &headers).await?;
    let file = File {
        api,
        room_id: room.id,
        head: format!("{BYTE_ORDER_MARK}{CSV_HEAD}"),
        row: csv_row,
        between: "",
        end: "",
    };
    Ok(file.answer("text/csv; charset=utf-8", "csv"))
}

/// A whole room. It is written piece by piece; this is what the pieces make.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the schema of what `export_json` writes piece by piece")]
struct ExportedRoom {
    /// The room.
    room: ShownRoom,
    /// All its comments, as the host sees them, oldest first.
    comments: Vec<ShownComment>,
}

/// The room and its comments.
#[utoipa::path(get, path = "/live/rooms/{roomId}/export.json", params(
    ("roomId" = String, Path, description = "The room's id"),
    ("Authorization" = String, Header, description = "`Bearer` and the host's credential"),
), responses(
    (status = 200, description = "The room and all its comments.", body = ExportedRoom, content_type = "application/json"),
    (status = 400, description = "The id is too long."),
    (status = 403, description = "Only for the host."),
    (status = 404, description = "No such room."),
))]
pub(super) async fn export_json(
    State(api): State<Arc<Api>>,
    Path(room_id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let room = host_room(&api, &room_id, &headers).await?;
    let file = File {
        api,
        head: format!("{{\"room\":{},\"comments\":[", json(&ShownRoom::of(&room))),
        room_id: room.id,
        row: |comment| json(&ShownComment::for_host(comment)),
        between: ",",
        end: "]}",
    };
    Ok(file.answer("application/json", "json"))
}

/// A file that is made while it is sent.
struct File {
    api: Arc<Api>,
    room_id: String,
    head: String,
    row: fn(&Comment) -> String,
    between: &'static str,
    end: &'static str,
}

/// What is sent next.
enum Next {
    Head,
    Rows { start_after: Option<Item>, is_first: bool },
    Nothing,
}

impl File {
    fn answer(self, kind: &'static str, ending: &str) -> Response {
        let name = format!("attachment; filename=\"room-{}.{ending}\"", self.room_id);
        let parts = stream::unfold((self, Next::Head), |(file, next)| async move {
            let (part, next) = file.part(next).await?;
            Some((part, (file, next)))
        });
        // Compression asks once more behind the end.
        let parts = parts.fuse();
        let headers = [
            (header::CONTENT_TYPE, kind.to_owned()),
            (header::CONTENT_DISPOSITION, name),
            (header::CACHE_CONTROL, "no-store".to_owned()),
        ];
        (headers, Body::from_stream(parts)).into_response()
    }

    async fn part(&self, next: Next) -> Option<(Result<Bytes, Error>, Next)> {
        let (start_after, is_first) = match next {
            Next::Nothing => return None,
            Next::Head => {
                let rows = Next::Rows { start_after: None, is_first: true };
                return Some((Ok(Bytes::from(self.head.clone())), rows));
            }
            Next::Rows { start_after, is_first } => (start_after, is_first),
        };
        let page = self.api.live.export_comments(&self.room_id, start_after).await;
        let (comments, last) = match page {
            Ok(page) => page,
            // The reader sees that the file is not whole.
            Err(error) => return Some((Err(error), Next::Nothing)),
        };
        let rows: Vec<String> = comments.iter().map(self.row).collect();
        let is_empty = is_first && rows.is_empty();
        let mut text = rows.join(self.between);
        if !is_first && !text.is_empty() {
            text.insert_str(0, self.between);
        }
        let next = match last {
            None => {
                text.push_str(self.end);
                Next::Nothing
            }
            Some(last) => Next::Rows { start_after: Some(last), is_first: is_empty },
        };
        Some((Ok(Bytes::from(text)), next))
    }
}

fn csv_row(comment: &Comment) -> String {
    let cells = [
        comment.seq.to_string(),
        comment.created_at.to_string(),
        cell(&comment.nickname),
        cell(&comment.content),
        comment.state.word().to_owned(),
        comment.pinned.to_string(),
        comment.answered.to_string(),
        comment.likes.to_string(),
        comment.is_host.to_string(),
        comment.author.clone(),
        comment.id.clone(),
    ];
    cells.join(",") + "\r\n"
}

/// A text that anybody may have written. A program that calculates would take some for formulas;
/// an apostrophe keeps them texts.
fn cell(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let apostrophe = if is_formula { "'" } else { "" };
    format!("\"{apostrophe}{}\"", text.replace('"', "\"\""))
}
