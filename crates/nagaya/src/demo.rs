//! `nagaya serve --demo`: people who do not exist, in every room: a class, a talk, a small network,
//! sources of which one is sometimes late, a game with players.
//!
//! All of it goes through the house's own door, as anybody's calls would. What fails is tried again:
//! a demonstration never ends by itself, and never ends the house. It never touches real data: its
//! directory and its settings are its own (`demo/ground.rs`).

mod class;
mod game;
mod ground;
mod network;
mod people;
mod sources;
mod talk;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use base::{Clock, Random, Tasks};
use parking_lot::Mutex;

pub(crate) use self::ground::Ground;
use self::wire::Wire;

/// What a demonstration needs to know of its house.
pub(crate) struct Stage {
    pub(crate) address: std::net::SocketAddr,
    pub(crate) mesh_key: String,
    /// A key that may operate sources.
    pub(crate) operator_key: String,
    pub(crate) clock: Clock,
    pub(crate) random: Random,
}

/// After a failure it is quiet for a while.
const AGAIN: Duration = Duration::from_secs(5);

/// What a scene needs.
#[derive(Clone)]
struct Scene {
    wire: Wire,
    mesh_key: String,
    operator_key: String,
    clock: Clock,
    random: Random,
}

impl Scene {
    /// Waits up to so long, never the same time.
    async fn pause(&self, most: Duration) {
        self.clock.sleep(most / 2 + self.random.jitter(most / 2)).await;
    }

    /// One of several.
    fn pick<'t>(&self, words: &'t [&'t str]) -> &'t str {
        self.random.pick(words).copied().unwrap_or_default()
    }
}

/// What somebody who looks on may open: names, and addresses within the house or words.
pub(crate) type Ways = Vec<(&'static str, String)>;

/// Plays every scene until the tasks end, and tells where to look.
pub(crate) async fn start(stage: Stage, tasks: &Tasks) -> Ways {
    let Stage { address, mesh_key, operator_key, clock, random } = stage;
    let scene = Scene { wire: Wire::new(address), mesh_key, operator_key, clock, random };
    let mut ways = vec![
        ("class", "/mesh/class, for the operator".to_owned()),
        ("series", "/collect".to_owned()),
        ("board", format!("/score/board/{}/ALL", game::NAME)),
    ];
    let room = talk::open(&scene).await.map_err(|why| later("talk", &why)).ok();
    if let Some(room) = &room {
        ways.push(("wall", format!("/live/wall/{}?join=1", room.id)));
        ways.push(("audience", format!("/live/r/{}", room.code)));
    }
    let guest = network::invite(&scene).await.map_err(|why| later("guest", &why)).ok();
    if let Some(guest) = &guest {
        ways.push(("guest", format!("/sns as {} with {}", guest.email, guest.password)));
    }
    play(&scene, tasks, "demo class", class::play);
    let first = Arc::new(Mutex::new(room));
    play(&scene, tasks, "demo talk", move |scene| talk::play(scene, first.lock().take()));
    let guest = guest.map(Arc::new);
    play(&scene, tasks, "demo network", move |scene| network::play(scene, guest.clone()));
    play(&scene, tasks, "demo sources", sources::play);
    for _ in 0..game::PLAYERS {
        play(&scene, tasks, "demo game", game::play);
    }
    ways
}

fn later(who: &str, why: &str) {
    tracing::warn!(who, why, "a demonstration begins without its first");
}

fn play<F: Future<Output = Result<(), String>> + Send>(
    scene: &Scene,
    tasks: &Tasks,
    name: &'static str,
    of: impl Fn(Scene) -> F + Send + Sync + 'static,
) {
    let (scene, shutdown) = (scene.clone(), tasks.shutdown());
    tasks.spawn(name, async move {
        loop {
            tokio::select! {
                biased;
                () = shutdown.begun() => return,
                ended = of(scene.clone()) => {
                    if let Err(why) = ended {
                        tracing::debug!(why, name, "a scene is played again");
                    }
                }
            }
            tokio::select! {
                biased;
                () = shutdown.begun() => return,
                () = scene.clock.sleep(AGAIN) => {}
            }
        }
    });
}
