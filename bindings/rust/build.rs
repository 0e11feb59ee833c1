//! Compiles the C source of hakmem, as one object, into an archive that is linked into the crate.
//!
//! The flags that matter are those of cmake/flags.cmake; the test `bindings_rust` compares the two lists.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An allocator must not have its own calls turned into calls of itself.
const NO_BUILTIN: [&str; 10] = [
    "malloc",
    "calloc",
    "realloc",
    "free",
    "aligned_alloc",
    "memalign",
    "posix_memalign",
    "valloc",
    "pvalloc",
    "reallocarray",
];

const FLAGS: [&str; 8] = [
    "-fvisibility=hidden",
    "-ftls-model=initial-exec",
    "-falign-functions=64",
    "-ffunction-sections",
    "-fno-plt",
    "-fno-semantic-interposition",
    "-fexceptions",
    "-fasynchronous-unwind-tables",
];

/// Also where CFLAGS asks for link-time optimisation: no name of such an object can be made local.
const LAST: &str = "-fno-lto";

fn has_feature(name: &str) -> bool {
    env::var_os(format!("CARGO_FEATURE_{}", name.to_uppercase())).is_some()
}

/// Features add up over all who depend on the crate: of several variants the most careful one is built.
fn variant() -> &'static str {
    ["hardened", "observe", "fast"]
        .into_iter()
        .find(|name| has_feature(name))
        .unwrap_or("standard")
}

fn refuse_other_systems() {
    let target = env::var("TARGET").unwrap_or_default();
    let is =
        |key: &str, wanted: &[&str]| wanted.contains(&env::var(key).unwrap_or_default().as_str());
    if !is("CARGO_CFG_TARGET_OS", &["linux"])
        || !is("CARGO_CFG_TARGET_ENV", &["gnu", "musl"])
        || !is("CARGO_CFG_TARGET_ARCH", &["x86_64", "aarch64"])
        || !is("CARGO_CFG_TARGET_POINTER_WIDTH", &["64"])
    {
        eprintln!("hakmem is for Linux with glibc or musl on x86-64 and aarch64, not for {target}");
        std::process::exit(1);
    }
}

/// The programs that may be objcopy for this target, the most likely one first.
fn objcopies() -> Vec<String> {
    let target = env::var("TARGET").unwrap_or_default();
    let mut names = Vec::new();
    for key in [
        format!("OBJCOPY_{}", target.replace('-', "_")),
        "OBJCOPY".to_string(),
    ] {
        println!("cargo:rerun-if-env-changed={key}");
        names.extend(env::var(key).ok());
    }
    if env::var("HOST").map_or(false, |host| host != target) {
        names.push(format!("{}-objcopy", target.replace("-unknown", "")));
    }
    names.extend(["objcopy", "llvm-objcopy"].map(String::from));
    names
}

/// Makes every hidden name of the object local, as the archive of `make install` has it: a function or variable of
/// hakmem can then never collide with one of the program.
fn localize(object: &Path) {
    let done = objcopies().iter().any(|objcopy| {
        Command::new(objcopy)
            .arg("--localize-hidden")
            .arg(object)
            .output()
            .map_or(false, |output| output.status.success())
    });
    if !done {
        println!("cargo:warning=no objcopy for this target (set OBJCOPY): hakmem's internal names may collide");
    }
}

fn main() {
    refuse_other_systems();
    let c = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("c");
    let mut object = cc::Build::new();
    object
        .include(&c)
        .include(c.join("src"))
        .include(c.join("include"))
        .std("c11")
        .opt_level(2) // also in debug builds, as Rust's own library
        .pic(true)
        .warnings(false)
        .define(
            &format!("HAKMEM_VARIANT_{}", variant().to_uppercase()),
            None,
        )
        .define(
            "HAKMEM_VERSION",
            Some(format!("\"{}\"", env!("CARGO_PKG_VERSION")).as_str()),
        );
    for name in NO_BUILTIN {
        object.flag(format!("-fno-builtin-{name}"));
    }
    for flag in FLAGS {
        object.flag_if_supported(flag);
    }
    if !has_feature("override") {
        object.define("HAKMEM_PREFIX_ONLY", None);
    }
    let place = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("crate.o");
    let mut compiler = object.get_compiler().to_command();
    compiler.args([LAST, "-c", "-o"]).arg(&place);
    match compiler.arg(c.join("crate.c")).status() {
        Ok(status) if status.success() => (),
        other => panic!("{compiler:?}: {other:?}"),
    }
    localize(&place);
    cc::Build::new().object(place).compile("hakmem");

    println!("cargo:include={}", c.join("include").display());
    for name in ["build.rs", "c/crate.c", "c/src", "c/include"] {
        println!("cargo:rerun-if-changed={name}");
    }
}
