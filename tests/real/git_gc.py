"""git gc on a repository of 3,000 commits, with and without the tested library.

The repository is made by fast-import from a seeded stream (the same each time), with many loose and packed versions of
files that change a little from commit to commit, so that gc has deltas to search in several threads. Afterwards both
copies must hold the same objects, pass fsck, and show the same history; which deltas the threads found first may
differ and is not compared.
"""

import random
import shutil

from both import Session, fail, need, sized

COMMITS = sized(3000, 800)
SETTINGS = ("gc.auto=0", "gc.autoDetach=false", "maintenance.auto=false", "pack.threads=2", "gc.aggressiveWindow=20")
QUIET = [word for setting in SETTINGS for word in ("-c", setting)]


def stream():
    """A fast-import stream: 60 files that change by a line at a time."""
    draw = random.Random(1)
    files = [[f"line {line} of file {name}" for line in range(120)] for name in range(60)]
    for commit in range(COMMITS):
        message = f"commit {commit}\n"
        yield f"commit refs/heads/main\nmark :{commit + 1}\n"
        yield f"committer A <a@example.org> {1_600_000_000 + commit * 60} +0000\n"
        yield f"data {len(message)}\n{message}"
        for _ in range(draw.randint(1, 4)):
            name = draw.randrange(len(files))
            files[name][draw.randrange(len(files[name]))] = f"changed in {commit}: {draw.random()}"
            content = "\n".join(files[name]) + "\n"
            yield f"M 100644 inline dir{name % 7}/file{name}\ndata {len(content)}\n{content}\n"
    yield "done\n"


def main():
    git = need("git")
    with Session("git") as session:
        config = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}

        def run(preloaded, *words, cwd=None, data=None):
            outcome = session.run([git, *QUIET, *words], preloaded, config, cwd, data)
            if outcome.status:
                fail(f"git {words[0]} (preloaded: {preloaded}): {outcome.describe()}")
            if preloaded:
                session.check_words(f"git {words[0]}", outcome)
            return outcome.output

        data = "".join(stream()).encode()
        results = []
        for preloaded in (False, True):
            directory = session.path(f"repository{preloaded:d}")
            run(preloaded, "init", "-q", "-b", "main", directory)
            run(preloaded, "fast-import", "--quiet", "--done", cwd=directory, data=data)
            run(preloaded, "gc", "-q", "--aggressive", "--prune=now", cwd=directory)
            counts = dict(line.split(b": ") for line in run(preloaded, "count-objects", "-v", cwd=directory).splitlines())
            results.append(
                {
                    "fsck": run(preloaded, "fsck", "--full", "--strict", cwd=directory),
                    "history": run(preloaded, "log", "--format=%H %T %s", cwd=directory),
                    "objects": sorted(run(preloaded, "rev-list", "--all", "--objects", cwd=directory).splitlines()),
                    "counts": {key: counts[key] for key in (b"count", b"in-pack", b"packs", b"garbage")},
                    "blame": run(preloaded, "blame", "main", "--", "dir0/file0", cwd=directory),
                }
            )
            shutil.rmtree(directory)
        for what, plain in results[0].items():
            if plain != results[1][what]:
                fail(f"git: {what} differs with the library")
            session.compared += 1
        session.finish()


if __name__ == "__main__":
    main()
