//! The tables of the house itself, and what commands print without them.

/// The tables that the house makes for itself and its rooms.
pub(crate) const OWN_TABLES: [&str; 19] = [
    "AiResponseMetrics",
    "LiveComment-Comments-prod",
    "LiveComment-Connections-prod",
    "LiveComment-Marks-prod",
    "LiveComment-Rooms-prod",
    "MeshV2Table",
    "ScoreTable",
    "collect",
    "console_steps",
    "dispatch",
    "edge_answers",
    "edge_credentials",
    "mini-sns-prod-post-ddb",
    "mini-sns-prod-session-ddb",
    "mini-sns-prod-social-ddb",
    "mini-sns-prod-timeline-ddb",
    "mini-sns-prod-user-ddb",
    "score",
    "score_players",
];

/// What `table ls` prints of a house in which nobody has done anything, for visitors.
pub(crate) const EMPTY_HOUSE: &str = "table                         items  bytes\n";

/// What a command printed, without the house's own tables and without counts that its own work
/// changes.
pub(crate) fn for_visitors(text: &str) -> String {
    let is_own = |name: &str| OWN_TABLES.contains(&name.trim());
    let line = |line: &str| {
        if line.starts_with("looked at ") {
            let masked = line.replace(|letter: char| letter.is_ascii_digit(), "n");
            return masked.replace("nn", "n");
        }
        match line.split_once("; there are ") {
            None => line.to_owned(),
            Some((said, tables)) => {
                let others: Vec<&str> = tables.split(", ").filter(|name| !is_own(name)).collect();
                format!("{said}; there are {}", others.join(", "))
            }
        }
    };
    let lines = text.lines().filter(|line| !line.split(' ').next().is_some_and(is_own));
    lines.map(|text| line(text) + "\n").collect()
}
