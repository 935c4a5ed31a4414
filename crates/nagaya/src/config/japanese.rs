//! What each setting means, in Japanese, for the console. The English text stands at the setting's
//! declaration, in the options of its crate. A test fails for a setting without a Japanese text, and
//! for a text without a setting.

/// What a section is about.
pub(super) fn section(name: &str) -> Option<&'static str> {
    SECTIONS.iter().find(|(known, _)| *known == name).map(|(_, about)| *about)
}

/// What a setting means.
pub(super) fn setting(key: &str) -> Option<&'static str> {
    let parts: [&[(&str, &str)]; 3] = [HOUSE, ROOMS, STORE];
    let mut all = parts.into_iter().flatten();
    all.find(|(known, _)| *known == key).map(|(_, about)| *about)
}

const SECTIONS: &[(&str, &str)] = &[
    ("http", "待ち受けるアドレスと、呼び出し元から受け付ける量。"),
    ("stream", "WebSocket、イベントストリーム、ポーリングの上限。"),
    ("operator", "ブラウザーで長屋を管理する人について。"),
    ("hub", "ストアを共有するインスタンスの間でプッシュを運ぶもの。"),
    ("mesh", "メッシュ: Scratch と Smalruby のプロジェクトのグループ。"),
    ("live", "ライブ: 発表者の画面に流れる、客席のコメント。"),
    ("collect", "収集: HTTP API を定期的に呼び出し、欠けも含めて記録する系列。"),
    ("score", "スコア: 厳しい入口を備えた、ゲームのランキング。"),
    ("sns", "SNS: 小さなソーシャルネットワーク。"),
    ("dynamodb", "DynamoDB 用のツールから使える、この長屋のエンドポイント。"),
    (
        "store",
        "データの置き場所と保存のしかた。`backend` 以外は組み込みストアの設定です。DynamoDB の設定は `aws` にあります。",
    ),
    ("aws", "ストアとして使う DynamoDB。`store.backend` が `dynamodb` のときに使われます。"),
    ("log", "標準エラー出力に書き出すログ。"),
    ("otlp", "リクエストのトレースの送り先。"),
];

/// The settings of the house itself.
const HOUSE: &[(&str, &str)] = &[
    (
        "http.listen",
        "待ち受けるアドレスとポート。`:8080` はすべての IPv4 インターフェースのポート 8080 で、LAN から開けます。`localhost:8080` はこのマシンだけです。ポート 0 は空いているポートを使い、起動時に表示します。",
    ),
    (
        "http.public_url",
        "利用者から見た長屋のアドレス。`https://nagaya.example.org` のように書きます。プロキシの内側、コンテナ、別の名前など、待ち受けるアドレスと違うときに指定します。参加カード、QR コード、セットアップ用リンクの先頭に使います。空なら、LAN のアドレスを表示します。",
    ),
    (
        "http.tls_certificate",
        "証明書の PEM ファイル。長屋自身の証明書を先頭に、その上位の証明書を続けます。鍵とともに指定すると TLS で応答し、ファイルが変わると両方を読み直します。",
    ),
    ("http.tls_key", "証明書の秘密鍵の PEM ファイル。"),
    (
        "http.cors_origins",
        "API を呼び出せるページのオリジン。`https://example.org` のように書き、コンマで区切ります。すべてのオリジンに開かれた部屋と、どこにも開かれていない部屋には影響しません。",
    ),
    (
        "http.hosts",
        "ループバックアドレスの長屋にブラウザーがアクセスするときの名前。`box.local` のように書き、コンマで区切ります。ほかの名前では、DNS リバインディングを防ぐため、管理者のページとキー不要の DynamoDB エンドポイントを拒否します。`localhost` とループバックアドレス、またページについては `http.public_url` と `operator.url` のホストを書く必要はありません。",
    ),
    (
        "http.connections_max",
        "同時に開ける接続の数。超えた接続では、少しの余裕の範囲でヘルスチェックと管理者のページにだけ応答し、ほかには 503 を返します。",
    ),
    (
        "http.connections_per_address_max",
        "一つのアドレス (IPv6 では一つの /64) から同時に開ける接続の数。0 は `connections_max` の半分です。信頼するプロキシは対象外です。",
    ),
    (
        "http.requests_per_address_max",
        "一つのアドレス (IPv6 では一つの /64) から同時に処理するリクエストの数。ストリームとソケットを含みます。0 は `connections_max` の半分です。信頼するプロキシの先にいる呼び出し元は、プロキシが伝えるアドレスで数えます。",
    ),
    ("http.header_bytes_max", "リクエストの先頭部分 (リクエスト行とヘッダー) のバイト数。"),
    (
        "http.header_timeout_seconds",
        "リクエストの先頭部分が届くまでの秒数。何も送られてこない接続も、この時間で閉じます。",
    ),
    ("http.write_timeout_seconds", "送信したデータを相手が少しでも受け取るまでの秒数。"),
    ("http.body_bytes_max", "リクエスト本文のバイト数。経路が別に定める場合を除きます。"),
    (
        "http.stranger_bytes_max",
        "確認済みのキー、トークン、セッションを持たない呼び出し元全体で、同時に保持するリクエスト本文のバイト数。半分は各本文の最初の 4 KiB に使い、一つのアドレスはそれぞれの半分までです。",
    ),
    (
        "http.known_bytes_max",
        "そのほかの呼び出し元全体で、同時に保持するリクエスト本文のバイト数。",
    ),
    ("http.request_timeout_seconds", "応答を始めるまでの秒数。経路が別に定める場合を除きます。"),
    ("http.drain_seconds", "終了するとき、処理中のリクエストの完了を待つ秒数。"),
    (
        "http.trusted_proxies",
        "手前に置いたプロキシ。`127.0.0.1, 10.0.0.0/8` のように書きます。ここに書いたプロキシが伝える呼び出し元だけを信じます。",
    ),
    (
        "http.proxy_header",
        "プロキシが呼び出し元のアドレスを伝えるヘッダー。`x-forwarded-for` か `forwarded` です。もう一方は読みません。",
    ),
    (
        "http.metrics",
        "`/metrics` を読める人。だれでも (`open`)、このマシンからのみ (`loopback`)、だれも読めない (`closed`) から選びます。`nagaya top` はこのマシンから読みます。",
    ),
    ("stream.message_bytes_max", "クライアントが WebSocket で送る一つのメッセージのバイト数。"),
    (
        "stream.queue_pushes_max",
        "受信の遅い一つの相手のために待たせるプッシュの数。それより後は履歴から読んでもらいます。",
    ),
    ("stream.queue_bytes_max", "受信の遅い一つの相手のために待たせるバイト数。"),
    (
        "stream.send_buffer_bytes",
        "受信の遅い一つの相手のために、待ち行列とは別に OS が保持するバイト数。",
    ),
    ("stream.ping_seconds", "生存確認を送る間隔の秒数。"),
    ("stream.idle_seconds", "WebSocket から何も届かないとき、切れたとみなすまでの秒数。"),
    (
        "stream.close_spread_seconds",
        "終了するとき、ストリームの切断をばらつかせる秒数。全員が同時に再接続するのを防ぎます。",
    ),
    (
        "operator.url",
        "ブラウザーから見た長屋のアドレス。`https://nagaya.example.org` のように書きます。表示するリンクの先頭に使います。空なら、`http.public_url` か待ち受けているアドレスを使います。",
    ),
    (
        "operator.password_file",
        "管理者の最初のパスワードを書いたファイル。人手で設定しない長屋のためのものです。パスワードがない間だけ起動時に読み、その後は読みません。",
    ),
    ("operator.session_hours", "操作の有無にかかわらず、管理者に再ログインを求めるまでの時間数。"),
    ("operator.idle_minutes", "操作がないとき、管理者に再ログインを求めるまでの分数。"),
    ("operator.link_hours", "セットアップ用リンクの有効時間数。"),
    (
        "hub.carrier",
        "単独で動かすなら `process`、複数のインスタンスの一つとして動かすなら `nats`。",
    ),
    (
        "hub.nats_url",
        "NATS サーバー。JetStream が必要です。複数ならコンマで区切ります。`tls://` で始めると TLS を使います。",
    ),
    ("hub.nats_user", "NATS に認証が必要な場合の名前。"),
    ("hub.nats_password", "その名前のパスワード。"),
    ("hub.nats_ca_file", "OS が信頼する証明書に加えて、NATS に認める証明書の PEM ファイル。"),
    (
        "hub.nats_prefix",
        "ストリームの名前と、サブジェクトの先頭。同じサーバーを使う長屋ごとに変えます。英数字と `-`、`_` が使えます。",
    ),
    (
        "log.level",
        "ログの量。`off`、`error`、`warn`、`info`、`debug`、`trace` から選びます。`info,table=debug` のようにクレートごとにも指定できます。",
    ),
    (
        "log.format",
        "人が読むなら `text`、プログラムが読むなら `json`。ログが端末に出るとき、`text` では出来事ごとに短い 1 行になり、`json` はどこでも同じです。端末以外では、リクエストの行は常に JSON です。不要なら `log.level` を `info,access=off` とします。",
    ),
    (
        "otlp.endpoint",
        "OTLP over HTTP を受け取るコレクター。`http://127.0.0.1:4318` のように書きます。トレースは、その下の `/v1/traces` に送ります。空なら送りません。",
    ),
    ("otlp.service_name", "コレクターに表示される、この長屋の名前。"),
    (
        "otlp.sample_percent",
        "自分のトレースを持たないリクエストのうち、送る割合 (百分率)。トレースを持つリクエストは、送るかどうかをそれ自身が決めます。",
    ),
];

/// The settings of the rooms.
const ROOMS: &[(&str, &str)] = &[
    ("mesh.api_key", "クライアントが `x-api-key` で送るキー。空なら、最初の起動時に作ります。"),
    (
        "mesh.profile",
        "ハートビートの間隔とグループの最長時間。`production` (30 秒、120 秒、50 分) か `development` (15 秒、15 秒、10 分) です。",
    ),
    (
        "mesh.membership",
        "値の報告とイベントの送信ができる人。メンバーのみ (`members`) か、グループを知っている全員 (`open`) です。",
    ),
    (
        "mesh.domain",
        "呼び出し元のドメインの決め方。公開アドレスそのまま (`address`、IPv6 では先頭 64 ビット) か、そのハッシュ (`hashed`) です。`hashed` では、プライベートアドレスの呼び出し元に使う `site` もハッシュにします。",
    ),
    (
        "mesh.site",
        "プライベートアドレスから呼び出す人すべてに共通のドメイン。一つの教室を表します。",
    ),
    ("mesh.domain_secret", "ドメインのハッシュに混ぜる秘密の値。アドレスを推測できなくします。"),
    (
        "mesh.nodes_per_group",
        "一つのグループのノード数。ホストは、自分で参加しない限り数えません。1クラスは40人ほどです。値の報告は全メンバーに届くため、授業の負荷はこの数の2乗で増えます。",
    ),
    (
        "mesh.requests_per_second",
        "一つのアドレスからの毎秒のリクエスト数。一度にはその2倍まで受け付けます。1000人の学校が一つのアドレスから、それぞれ毎秒15回報告しても、3分の1の余裕があります。一つの接続はその20分の1までです。",
    ),
    (
        "mesh.node_requests_per_second",
        "グループ内の一つのノードの毎秒の呼び出し数。一度にはその10倍まで受け付けます。ノードは毎秒15回報告するほか、イベントとハートビートも送ります。",
    ),
    ("mesh.event_retention_seconds", "イベントをポーリングで読める秒数。"),
    ("mesh.introspection", "クライアントがスキーマを問い合わせられるかどうか。"),
    (
        "live.environment",
        "テーブル名の一部。試用と本番が同じストアを使えるようにします。英小文字、数字、ハイフンが使えます。",
    ),
    (
        "live.retention_days",
        "最後のコメントか変更から、ルームを中身ごと削除するまでの日数。0 なら、ホストが削除するまで残します。",
    ),
    ("live.comment_graphemes_max", "一つのコメントの文字数。"),
    ("live.comment_bytes_max", "一つのコメントのバイト数。"),
    (
        "live.address_comments_per_second",
        "一つのアドレスの、署名済み参加者全員の毎秒のコメント数。一度にはその4倍まで受け付けます。1000人の会場も一つのアドレスを共有します。そのほかの呼び出し元には別に同じ数を割り当て、名乗らない人はその5分の1までです。",
    ),
    (
        "live.address_participants_per_hour",
        "一つのアドレスに対して1時間に署名する参加者の数。一度にも同じ数までです。更新は数えません。一つの接続はその20分の1までです。",
    ),
    (
        "live.address_joins_per_second",
        "一つのアドレスの署名済み参加者全員が、ソケットかストリームで1秒間にルームへ参加する回数。一度にはその40倍まで受け付けます。そのほかの呼び出し元には、別に同じ数を割り当てます。",
    ),
    (
        "live.host_requests_per_second",
        "一人のホストが、自分のルームで1秒間に行う操作の数。一度にはその10倍まで受け付けます。一つのアドレスの署名済みホスト全員では10倍、そのほか全員でも別に10倍です。",
    ),
    (
        "live.address_rooms_per_hour",
        "一つのアドレスの署名済み参加者全員が1時間に開くルームの数。一度にも同じ数までです。そのほかの呼び出し元には、別に同じ数を割り当てます。",
    ),
    (
        "live.rooms_max",
        "長屋全体のルームの数。開いているものも閉じたものも数えます。超えると 507 `rooms_full` で拒否します。",
    ),
    (
        "live.unused_room_days",
        "一度もコメントがなく、ホストも変更していないルームを削除するまでの日数。0 なら残します。",
    ),
    (
        "live.comments_per_room_max",
        "一つのルームのコメント数。ホストの変更も数えます。超えると 409 `room_full` で拒否します。",
    ),
    (
        "live.comments_max",
        "全ルームのコメント数。1時間ごとに数え、超えると 507 `comments_full` で拒否します。",
    ),
    (
        "collect.base_url",
        "既定のソースの呼び出し先。5秒ごとに `{base_url}/response_count?from=…&to=…` を呼び出します。空なら既定のソースはありません。`AI_API_BASE_URL` でも指定できます。長屋自身のモックは `http://127.0.0.1:8080/collect` です。",
    ),
    ("collect.table", "値を入れるテーブル。`AI_METRICS_TABLE_NAME` でも指定できます。"),
    (
        "collect.lag_seconds",
        "既定のソースで、枠の始まりから呼び出しまでの秒数。枠の5秒と、落ち着くまでの1秒です。0 では、その時間が過ぎる前に問い合わせます。",
    ),
    ("collect.deadline_seconds", "既定のソースで、失敗した枠を再試行する期限の秒数。"),
    (
        "collect.sources_file",
        "ソースを追加するファイル。`[{\"name\": \"tokyo\", \"baseUrl\": \"https://api.example.com\", \"intervalSeconds\": 30}]` のような JSON の配列です。変更すると読み直します。内容に誤りがあれば、以前のままにします。",
    ),
    ("collect.secrets_path", "ヘッダーと URL に使う秘密の値のファイルを置くディレクトリー。"),
    (
        "collect.private_networks",
        "API から登録したソースが呼び出せるプライベートネットワーク。`10.0.0.0/8, ::1` のように書きます。設定とソースのファイルに書いたものには不要です。",
    ),
    ("collect.catch_up_seconds", "停止していた間の分を、さかのぼって取得する秒数。"),
    ("collect.catch_up_per_second", "さかのぼるときの、全ソース合計の毎秒の呼び出し数。"),
    (
        "collect.reads_per_second",
        "一つのアドレスからの毎秒の読み取り数。一度にはその2倍まで受け付けます。1000人の学校も一つのアドレスを共有します。一つの接続はその20分の1までです。",
    ),
    (
        "score.games_file",
        "ゲームのファイル。`[{\"gameName\": \"snake\", \"sort\": [{\"by\": \"score\", \"dir\": \"desc\"}], \"topN\": 100}]` のような JSON の配列です。変更すると読み直します。内容に誤りがあれば知らせ、ゲームは以前のままにします。",
    ),
    ("score.time_zone", "月の始まりと終わりを決めるタイムゾーン。"),
    ("score.edge_auth", "手前のプロキシが `X-Edge-Auth` で送る値。空なら、プロキシを求めません。"),
    ("score.submits_per_second", "一人のユーザーが一つのゲームに送る、毎秒のスコア数。"),
    (
        "score.submits_at_once",
        "しばらく送っていないユーザーが、一つのゲームに一度に送れるスコアの数。",
    ),
    (
        "score.address_submits_per_second",
        "一つのアドレスから一つのゲームに送られる毎秒のスコア数。ユーザーは区別しません。一度にはその2倍まで受け付けます。1000人の学校も一つのアドレスを共有します。",
    ),
    (
        "score.reads_per_second",
        "一つのアドレスからの、ランキングの毎秒の読み取り数。一度にはその2倍まで受け付けます。プレイの開始と終了には、別に同じ数を割り当てます。一つの接続はそれぞれの20分の1までです。",
    ),
    (
        "score.board_rows_max",
        "一つのランキングの行数。超えると、夜を待たずに切り詰めます。それより多く表示するランキングは、表示する分を残します。",
    ),
    (
        "score.board_refresh_seconds",
        "読まれているランキングのメモリー上の内容を、ストアと照合するまでの秒数。変更はすぐに反映されます。これは、ほかのインスタンスの変更が伝わらなかった場合のためです。",
    ),
    (
        "sns.environment",
        "テーブル名の一部。試用と本番が同じストアを使えるようにします。英小文字、数字、ハイフンが使えます。",
    ),
    (
        "sns.registration",
        "登録できる人。だれでも (`open`)、管理者が作ったコードを持つ人 (`invite`)、だれも登録できない (`closed`) から選びます。",
    ),
    (
        "sns.issuer",
        "トークンの発行者。各トークンの `iss` になります。クライアントから見た部屋のアドレスが適しています。",
    ),
    (
        "sns.issuers_file",
        "ここでアカウントを開けるトークンの、ほかの発行者のファイル。`[{\"issuer\": \"https://id.example\", \"audience\": \"nagaya\", \"jwks\": {\"keys\": []}}]` のような JSON の配列です。変更すると読み直します。",
    ),
    (
        "sns.push_threshold",
        "フォロワーがこの数以上の投稿者については、投稿を各フォロワーのタイムラインに書き込まず、読み取り時に合流させます。",
    ),
    (
        "sns.requests_per_second",
        "一人のユーザーの毎秒のリクエスト数。一度にはその2倍まで受け付けます。",
    ),
    (
        "sns.address_requests_per_second",
        "一つのアドレスからの、まだどのユーザーのものでもない毎秒のリクエスト数。ログイン、登録、初めて見るトークン、ストリームの開始です。一度にはその2倍まで受け付けます。1000人の学校も一つのアドレスを共有します。一つの接続はその20分の1までです。",
    ),
    (
        "sns.address_registrations_per_hour",
        "一つのアドレスから1時間に登録できるアカウントの数。一度にも同じ数までです。一つの接続はその20分の1までです。",
    ),
    (
        "sns.accounts_max",
        "長屋全体のアカウント数。超えると登録を 507 `accounts_full` で拒否します。",
    ),
    ("sns.posts_per_minute", "一人のユーザーの毎分の投稿数。"),
    ("sns.follows_per_minute", "一人のユーザーの毎分のフォロー数。"),
    (
        "sns.login_failures_max",
        "一つのアドレスから一つのアカウントへのログインに、この回数失敗すると、次を5秒遅らせます。失敗のたびに倍になり、15分が上限です。一つのアカウントは、全アドレス合計でその4倍まで失敗しても遅れません。超えると、ログインしたことのないアドレスからのログインを最大1分遅らせます。一つのアドレスは、全アカウント合計で10分間にその100倍までです。パスワード変更時の、現在のパスワードの誤りも同じです。",
    ),
];

/// The settings of what keeps the data.
const STORE: &[(&str, &str)] = &[
    (
        "dynamodb.listen",
        "エンドポイントのアドレスとポート。`127.0.0.1:8000` のように書きます。空なら開きません。",
    ),
    (
        "dynamodb.keys_file",
        "受け付けるアクセスキーのファイル。1行に一つ、ID、空白、シークレットの順に書きます。",
    ),
    ("dynamodb.open", "キーなしでだれでも受け付けるかどうか。ループバックアドレスでのみ使えます。"),
    (
        "dynamodb.cors_origins",
        "ブラウザーからエンドポイントを呼び出せるページのオリジン。`https://example.org, http://localhost:3000` のように、コンマで区切ります。ほかの呼び出しと同じく、キーが必要です。空なら、どのページも呼び出せません。",
    ),
    (
        "store.backend",
        "データの保存先。専用のディレクトリー (`embedded`) か DynamoDB (`dynamodb`) です。",
    ),
    ("store.path", "すべてを入れるディレクトリー。なければ作ります。"),
    (
        "store.memory_mib",
        "まだツリーに書き込んでいない変更のためのメモリー (MiB)。多いほど、書き込みの回数が減って一度の量が増えます。いっぱいになると、書き込みは待たされます。",
    ),
    ("store.history_days", "変更ログを残す日数。この日数までさかのぼって復元できます。"),
    ("store.history_gib", "残す変更ログに使うディスクの量 (GiB)。超えると、古いものから消えます。"),
    (
        "store.backup_days",
        "バックアップを残す日数。古いものは自動で削除しますが、最新のものは残します。0 ならすべて残します。",
    ),
    (
        "store.checkpoint_hours",
        "チェックポイントの間隔の時間数。復元では、直前のチェックポイントからログを再生します。",
    ),
    ("store.segment_mib", "ログの一つのセグメントの大きさ (MiB)。"),
    (
        "aws.region",
        "使用する DynamoDB のリージョン。`AWS_REGION` か `AWS_DEFAULT_REGION` でも指定できます。",
    ),
    (
        "aws.endpoint",
        "DynamoDB の URL。空なら、リージョン標準のものを使います。`AWS_ENDPOINT_URL_DYNAMODB` か `AWS_ENDPOINT_URL` でも指定できます。",
    ),
    (
        "aws.prefix",
        "すべてのテーブル名の先頭。複数の長屋や環境が一つのアカウントを共有できます。`nagaya-test-` と `nagaya-live-` のように使い分けます。",
    ),
    (
        "aws.access_key_id",
        "リクエストの署名に使うアクセスキー。`AWS_ACCESS_KEY_ID` でも指定できます。",
    ),
    ("aws.secret_access_key", "そのシークレット。`AWS_SECRET_ACCESS_KEY` でも指定できます。"),
    ("aws.session_token", "一時的なキーに付くトークン。`AWS_SESSION_TOKEN` でも指定できます。"),
];

#[cfg(test)]
mod tests {
    use super::{HOUSE, ROOMS, SECTIONS, STORE, section, setting};
    use crate::Settings;

    /// What stands between backticks: values and names to type, which are the same in every
    /// language.
    fn typed(text: &str) -> Vec<&str> {
        let mut typed: Vec<&str> = text.split('`').skip(1).step_by(2).collect();
        typed.sort_unstable();
        typed.dedup();
        typed
    }

    #[test]
    fn every_setting_has_a_japanese_text_and_every_text_a_setting() {
        let mut settings = Settings::default();
        let mut missing: Vec<String> = Vec::new();
        let mut keys = Vec::new();
        for part in settings.sections() {
            if section(part.name()).is_none() {
                missing.push(format!("[{}] has no Japanese text", part.name()));
            }
            keys.extend(part.settings().iter().map(|setting| setting.key));
        }
        let untold = keys.iter().filter(|key| setting(key).is_none());
        missing.extend(untold.map(|key| format!("`{key}` has no Japanese text")));
        let told = [HOUSE, ROOMS, STORE].concat();
        let stale = told.iter().filter(|(key, _)| !keys.contains(key));
        missing.extend(stale.map(|(key, _)| format!("`{key}` is no setting")));
        let twice = told.len()
            - told.iter().map(|(key, _)| key).collect::<std::collections::BTreeSet<_>>().len();
        assert_eq!((missing, twice), (Vec::<String>::new(), 0));
        assert_eq!(SECTIONS.len(), Settings::default().sections().len());
    }

    #[test]
    fn both_languages_name_the_same_values() {
        let mut settings = Settings::default();
        let mut wrong = Vec::new();
        for english in settings.all() {
            let japanese = setting(english.key).unwrap_or_default();
            assert!(!japanese.is_ascii(), "{}: {japanese}", english.key);
            let doc = english.doc.lines().map(str::trim).collect::<Vec<_>>().join(" ");
            let lost: Vec<&str> =
                typed(&doc).into_iter().filter(|word| !typed(japanese).contains(word)).collect();
            if !lost.is_empty() {
                wrong.push(format!("`{}` does not name {lost:?} in Japanese", english.key));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
