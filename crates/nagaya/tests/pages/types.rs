//! The modules' types, which stand in their comments: a compiler reads them, and builds nothing.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use testkit::node::packages;

/// Modules of a folder, laid beside each other as browsers find them.
fn lay_out(from: &str, to: &Path) -> usize {
    std::fs::create_dir_all(to).unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(from);
    let files = std::fs::read_dir(from).unwrap().map(|file| file.unwrap().path());
    let modules: Vec<_> =
        files.filter(|file| file.extension().is_some_and(|e| e == "js")).collect();
    for module in &modules {
        std::fs::copy(module, to.join(module.file_name().unwrap())).unwrap();
    }
    modules.len()
}

/// Reads the modules of a folder as a compiler does.
#[track_caller]
fn check(folder: &TempDir) {
    let settings = r#"{ "compilerOptions": { "noEmit": true, "allowJs": true, "checkJs": true, "strict": true,
             "target": "es2024", "lib": ["es2024", "dom", "dom.iterable"], "module": "esnext",
             "moduleResolution": "bundler", "types": [] }, "include": ["**/*.js"] }"#;
    std::fs::write(folder.path().join("tsconfig.json"), settings).unwrap();
    let compiler = packages("npm", &["typescript"]).join("node_modules/typescript/bin/tsc");
    let mut command = Command::new("node");
    let ran = command.arg(compiler).arg("--project").arg(folder.path()).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
}

#[test]
fn the_modules_keep_the_types_that_their_comments_promise() {
    let folder = TempDir::new().unwrap();
    for room in ["collect", "console", "live", "mesh", "score", "sns"] {
        let own = folder.path().join(room);
        let kit = own.join("kit");
        let count =
            lay_out(&format!("{room}/src/pages/assets"), &own) + lay_out("kit/src/assets", &kit);
        // Others wrote it, and it promises nothing here.
        let chart = "declare const uPlot: any;\nexport default uPlot;\n";
        std::fs::write(kit.join("uplot.d.ts"), chart).unwrap();
        assert!(count >= 7, "{room}: {count} modules");
    }
    assert_eq!(lay_out("edge/src/openapi", &folder.path().join("openapi")), 1);
    check(&folder);
}

#[test]
fn the_sample_game_keeps_its_types() {
    let folder = TempDir::new().unwrap();
    assert_eq!(lay_out("../examples/score-game", folder.path()), 2);
    check(&folder);
}
