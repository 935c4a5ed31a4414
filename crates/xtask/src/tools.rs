//! Tools of the steps and their installation. The list itself is `tools.list`.
//!
//! Only missing tools are installed: a second run needs no network.

use std::path::Path;

use crate::run;

const LIST: &str = include_str!("../tools.list");
const FUZZ_LIST: &str = include_str!("../fuzz-tools.list");
#[cfg(feature = "bench")]
const BENCH_LIST: &str = include_str!("../bench-tools.list");

/// The source of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Rustup,
    Cargo,
    Debian,
    /// Installed into this folder: packages that conflict get a folder each.
    Npm(&'static str),
    /// Unpacked without dependencies: some depend on packages that no longer exist.
    NpmAlone,
    Pypi,
}

const SOURCES: [(&str, Source); 8] = [
    ("rustup", Source::Rustup),
    ("cargo", Source::Cargo),
    ("debian", Source::Debian),
    ("npm", Source::Npm("npm")),
    ("npm-appsync", Source::Npm("npm-appsync")),
    ("npm-dynamodb", Source::Npm("npm-dynamodb")),
    ("npm-alone", Source::NpmAlone),
    ("pypi", Source::Pypi),
];

/// One line of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Tool {
    source: Source,
    package: String,
    version: Option<String>,
    program: String,
}

/// Installs missing parts of the compiler.
pub(crate) fn install_components() -> Result<(), String> {
    install_list(LIST, |source| source == Source::Rustup)
}

/// Installs all other missing tools. Continues after a failure and reports all failures.
pub(crate) fn install_missing() -> Result<(), String> {
    install_list(LIST, |source| source != Source::Rustup)
}

/// The same for the engine of fuzz targets.
pub(crate) fn install_for_fuzzing() -> Result<(), String> {
    install_list(FUZZ_LIST, |_| true)
}

/// The same for the peers of benches, which the tests do not need.
#[cfg(feature = "bench")]
pub(crate) fn install_for_benches() -> Result<(), String> {
    install_list(BENCH_LIST, |_| true)
}

fn install_list(list: &str, is_wanted: fn(Source) -> bool) -> Result<(), String> {
    let wanted = parse(list)?.into_iter().filter(|tool| is_wanted(tool.source));
    let missing: Vec<Tool> = wanted.filter(|tool| !is_there(tool)).collect();
    let mut failures = Vec::new();
    for (name, source) in SOURCES {
        let wanted: Vec<&Tool> = missing.iter().filter(|tool| tool.source == source).collect();
        if wanted.is_empty() {
            continue;
        }
        let packages: Vec<String> = wanted.iter().map(|tool| tool.pinned()).collect();
        println!("installing from {name}: {}", packages.join(" "));
        if let Err(error) = install(source, &packages).and_then(|()| stamp(&wanted)) {
            failures.push(format!("{name}: {error}"));
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("; ")) }
}

/// Whether a program can be found.
pub(crate) fn has(program: &str) -> bool {
    std::env::split_paths(&run::search_path()).any(|folder| folder.join(program).is_file())
}

impl Tool {
    /// The package with its version, in the notation of its source.
    fn pinned(&self) -> String {
        let joint = match self.source {
            Source::Rustup | Source::Debian => "=",
            Source::Cargo | Source::Npm(_) | Source::NpmAlone => "@",
            Source::Pypi => "==",
        };
        match &self.version {
            Some(version) => format!("{}{joint}{version}", self.package),
            None => self.package.clone(),
        }
    }

    /// A file name for an installed package and version.
    fn stamp(&self) -> String {
        let name = self.pinned().replace(['/', '@', '='], "_");
        format!("{name}.installed")
    }
}

fn parse(list: &str) -> Result<Vec<Tool>, String> {
    let lines = list.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    lines
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(number, line)| parse_line(line).map_err(|e| format!("tools.list:{number}: {e}")))
        .collect()
}

fn parse_line(line: &str) -> Result<Tool, String> {
    let columns: Vec<&str> = line.split_whitespace().collect();
    let [source, package, version, program] = columns.as_slice() else {
        return Err(format!("wants 4 columns, has {}", columns.len()));
    };
    let known = SOURCES.iter().find(|(name, _)| name == source);
    let (_, source) = known.ok_or_else(|| format!("no source named `{source}`"))?;
    Ok(Tool {
        source: *source,
        package: (*package).to_owned(),
        version: (*version != "-").then(|| (*version).to_owned()),
        program: (*program).to_owned(),
    })
}

fn is_there(tool: &Tool) -> bool {
    match tool.source {
        Source::Rustup | Source::Cargo | Source::Debian => has(&tool.program),
        Source::Npm(folder) => run::tools_folder().join(folder).join(tool.stamp()).is_file(),
        Source::NpmAlone => run::tools_folder().join("npm-alone").join(tool.stamp()).is_file(),
        Source::Pypi => run::tools_folder().join("pypi").join(tool.stamp()).is_file(),
    }
}

fn install(source: Source, packages: &[String]) -> Result<(), String> {
    let folder = run::tools_folder();
    match source {
        Source::Rustup => call("rustup", &["component", "add"], packages),
        Source::Cargo => cargo_install(packages),
        Source::Debian => {
            let run_as_root: &[&str] = if is_root()? { &[] } else { &["sudo", "-n"] };
            let apt = [run_as_root, &["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]].concat();
            let (first, rest) = apt.split_first().expect("apt has at least the word apt-get");
            call(first, &[rest, &["update", "-q"]].concat(), &[])?;
            call(first, &[rest, &["install", "-q", "-y"]].concat(), packages)
        }
        Source::Npm(own) => {
            let npm = folder.join(own);
            make_folder(&npm)?;
            let npm = npm.to_string_lossy();
            call("npm", &["install", "--no-audit", "--no-fund", "--prefix", &npm], packages)
        }
        Source::NpmAlone => {
            packages.iter().try_for_each(|package| unpack(&folder.join("npm-alone"), package))
        }
        Source::Pypi => {
            let pypi = folder.join("pypi");
            call("python3", &["-m", "venv", &pypi.to_string_lossy()], &[])?;
            let python = pypi.join("bin/python");
            call(&python.to_string_lossy(), &["-m", "pip", "install", "--quiet"], packages)
        }
    }
}

/// Installs into a folder with the package's name.
fn unpack(folder: &Path, package: &str) -> Result<(), String> {
    let (name, _) = package.rsplit_once('@').unwrap_or((package, ""));
    let own = folder.join(name);
    make_folder(&own)?;
    let mut pack = run::program("npm");
    pack.args(["pack", "--silent", "--pack-destination"]).arg(folder).arg(package);
    let packed = pack.output().map_err(|error| format!("npm: {error}"))?;
    let file = String::from_utf8_lossy(&packed.stdout).trim().to_owned();
    if !packed.status.success() || file.is_empty() {
        return Err(format!("`npm pack {package}` failed"));
    }
    let (file, own) = (folder.join(file), own.to_string_lossy().into_owned());
    let arguments = ["-C", &own, "--strip-components", "1", "-xzf", &file.to_string_lossy()];
    call("tar", &arguments, &[])
}

/// Installs into cargo's own folder: built once for all clones of a machine. A tool checks our tree
/// within seconds without optimisation, and its build is most of what installing takes. So a tool's
/// own release profile does not count: some ask for link-time optimisation of everything.
fn cargo_install(packages: &[String]) -> Result<(), String> {
    let mut install = run::cargo(&["install", "--locked", "--quiet"]);
    install
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0")
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")
        .args(packages);
    if run::status(&mut install)? { Ok(()) } else { Err("`cargo install` failed".to_owned()) }
}

fn call(program: &str, arguments: &[&str], packages: &[String]) -> Result<(), String> {
    let ran = run::status(run::program(program).args(arguments).args(packages))?;
    if ran { Ok(()) } else { Err(format!("`{program} {}` failed", arguments.join(" "))) }
}

fn is_root() -> Result<bool, String> {
    let id = run::program("id").arg("-u").output().map_err(|error| format!("id: {error}"))?;
    Ok(id.stdout.trim_ascii() == b"0")
}

/// Marks npm and PyPI packages as installed; the others are recognized by their program.
fn stamp(tools: &[&Tool]) -> Result<(), String> {
    for tool in tools {
        let folder = match tool.source {
            Source::Rustup | Source::Cargo | Source::Debian => continue,
            Source::Npm(folder) => run::tools_folder().join(folder),
            Source::NpmAlone => run::tools_folder().join("npm-alone"),
            Source::Pypi => run::tools_folder().join("pypi"),
        };
        let file = folder.join(tool.stamp());
        std::fs::write(&file, "").map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(())
}

fn make_folder(folder: &Path) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_of_this_workspace_can_be_read() {
        let tools = parse(LIST).unwrap();
        assert!(tools.iter().any(|tool| tool.package == "cargo-deny"));
        assert!(parse(FUZZ_LIST).unwrap().iter().any(|tool| tool.package == "g++"));
    }

    #[test]
    fn packages_are_pinned_as_their_source_spells_it() {
        let list = "cargo a 1.2 a\nnpm @b/c 3 c\npypi d 4 -\ndebian e - e\n";
        let pinned: Vec<String> = parse(list).unwrap().iter().map(Tool::pinned).collect();
        assert_eq!(pinned, ["a@1.2", "@b/c@3", "d==4", "e"]);
    }

    #[test]
    fn another_version_has_another_stamp() {
        let tools = parse("npm @b/c 3 c\nnpm @b/c 4 c\n").unwrap();
        assert_eq!(tools[0].stamp(), "_b_c_3.installed");
        assert_ne!(tools[0].stamp(), tools[1].stamp());
    }

    #[test]
    fn packages_that_do_not_stand_each_other_go_into_folders_of_their_own() {
        let tools = parse("npm graphql 16 -\nnpm-appsync graphql 14 -\n").unwrap();
        assert_eq!(tools[0].source, Source::Npm("npm"));
        assert_eq!(tools[1].source, Source::Npm("npm-appsync"));
    }

    #[test]
    fn a_bad_line_is_named_by_its_number() {
        assert_eq!(
            parse("# head\nbrew a - a\n").unwrap_err(),
            "tools.list:2: no source named `brew`"
        );
        assert_eq!(parse("cargo a -\n").unwrap_err(), "tools.list:1: wants 4 columns, has 3");
    }
}
