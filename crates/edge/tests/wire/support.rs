//! A server of test rooms in a world, and a client that speaks in raw bytes.

use std::net::SocketAddr;

use axum::Router;
use axum::body::Bytes;
use axum::routing::{get, post};
use base::VirtualTime;
use edge::{About, Cors, Ground, Metrics, Options, Readiness, Room, Server, Traces, house_room};
use testkit::{Answer, Instance, World, wait};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::sync::mpsc;

/// A server under test. The test drains it.
pub(crate) struct Site {
    pub(crate) instance: Instance,
    pub(crate) time: VirtualTime,
    pub(crate) server: Server,
    pub(crate) readiness: Readiness,
    pub(crate) address: SocketAddr,
}

/// Small bodies.
pub(crate) fn options() -> Options {
    Options { body_bytes_max: 1_024, ..Options::default() }
}

/// Traces that nobody collects.
pub(crate) fn uncollected(ground: &Ground) -> Traces {
    Traces::uncollected(ground.random.fork("traces"))
}

impl Site {
    /// With these routes and one more, `/echo`.
    pub(crate) async fn open(routes: Router) -> Site {
        Site::with(routes, options()).await
    }

    pub(crate) async fn with(routes: Router, options: Options) -> Site {
        let room = Room::new("test", routes).with_cors(Cors::Listed);
        Site::of(vec![room], options).await
    }

    pub(crate) async fn of(rooms: Vec<Room>, options: Options) -> Site {
        let world = World::new().await;
        Site::on(&world, world.instance().await, rooms, options, uncollected).await
    }

    /// On an instance whose ground the rooms already use.
    pub(crate) async fn on(
        world: &World,
        instance: Instance,
        mut rooms: Vec<Room>,
        options: Options,
        traces: impl FnOnce(&Ground) -> Traces,
    ) -> Site {
        let readiness = Readiness::new();
        let about = About { name: "house", version: "1.2.3", commit: Some("abc") };
        let metrics = Metrics::of_process();
        rooms.push(house_room(about, readiness.clone(), metrics, options.metrics));
        let echo = post(|body: Bytes| async move { body });
        rooms.push(Room::new("echo", Router::new().route("/echo", echo)));
        let traces = traces(&instance.ground);
        let server = instance.start_server(rooms, options, readiness.clone(), traces).await;
        let address = server.address();
        Site { instance, time: world.time.clone(), server, readiness, address }
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends a whole request and reads the answer to its end.
    pub(crate) async fn ask(&self, request: impl AsRef<[u8]>) -> Answer {
        testkit::send(self.address, request.as_ref()).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.get_with(path, "").await
    }

    /// With more headers, each ending its line.
    pub(crate) async fn get_with(&self, path: &str, headers: &str) -> Answer {
        let request =
            format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{headers}\r\n");
        self.ask(request).await
    }

    /// Closes in order, in whatever time that needs.
    pub(crate) async fn drain(self) {
        let (drained, _) = wait::while_time_passes(&self.time, self.server.drain()).await;
        drained.unwrap();
    }

    /// The server is there for the next one.
    pub(crate) async fn is_alive(&self) {
        assert_eq!(self.get("/livez").await.status, 200);
    }

    /// The server is there for the next one, and closes in order.
    pub(crate) async fn still_serves(self) {
        self.is_alive().await;
        self.drain().await;
    }
}

/// Everything until the other side closes, also if it does so rudely.
pub(crate) async fn read(mut stream: TcpStream) -> Answer {
    let mut bytes = Vec::new();
    let _read = stream.read_to_end(&mut bytes).await;
    Answer::parse(&bytes)
}

/// A route that says when it is reached and answers when told.
pub(crate) fn gated() -> (Router, mpsc::Receiver<()>, mpsc::Sender<()>) {
    let (reached, is_reached) = mpsc::channel(1);
    let (open, gate) = mpsc::channel::<()>(1);
    let gate = std::sync::Arc::new(tokio::sync::Mutex::new(gate));
    let slow = get(move || async move {
        reached.send(()).await.unwrap();
        gate.lock().await.recv().await;
        "finished"
    });
    (Router::new().route("/slow", slow), is_reached, open)
}
