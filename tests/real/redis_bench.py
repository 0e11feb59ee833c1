"""redis-server under redis-benchmark, with and without the tested library, over a socket in a temporary directory.

The benchmark's figures are its own affair: here its every command must end well, and the server must go on answering.
What is compared is the data set that a script leaves (strings, hashes, lists, sets, sorted sets, with deletions), by its
digest, also after the server has forked to save it, loaded it again, thrown all away in its background thread and been
filled anew, and that the server ends when it is told to.
"""

import os
import shutil
import subprocess
import time

from both import WORDS_OF_THE_ALLOCATOR, Session, end_group, fail, need, sized, skip

FILL = """
for i = 1, tonumber(ARGV[1]) do
  local key = i * 7919 % 1000
  redis.call('SET', 's:' .. key, string.rep('v', i % 500) .. i)
  redis.call('HSET', 'h:' .. key % 50, 'f' .. i % 700, i)
  redis.call('RPUSH', 'l:' .. key % 40, 'item' .. i)
  redis.call('ZADD', 'z:' .. key % 30, i % 97, 'm' .. i % 900)
  redis.call('SADD', 't:' .. key % 20, i % 3000)
  redis.call('APPEND', 'a:' .. key % 10, string.rep('x', i % 40))
  if i % 3 == 0 then redis.call('DEL', 's:' .. (i * 31 % 1000)) end
  if i % 5 == 0 then redis.call('LPOP', 'l:' .. key % 40) end
end
return redis.call('DBSIZE')
"""


def server_program(session):
    """redis-server. Debian's redis-tools has the program too, as the checker of dumps, which is the server by another
    name; the package redis-server would start a service on the machine that only wants to run tests."""
    installed = shutil.which("redis-server")
    if installed:
        return installed
    path = session.path("redis-server")
    if not os.path.exists(path):
        os.symlink(need("redis-check-rdb"), path)
    return path


class Server:
    """One redis-server and the commands that talk to it."""

    def __init__(self, session, preloaded, directory):
        self.session, self.preloaded, self.directory = session, preloaded, directory
        self.socket = "socket"  # in the directory: the whole path may be too long for a socket
        self.log = os.path.join(directory, "log")
        options = ["--port", "0", "--unixsocket", self.socket, "--dir", directory, "--save", "", "--logfile", self.log]
        options += ["--enable-debug-command", "yes", "--daemonize", "no", "--activedefrag", "no"]
        self.errors = open(os.path.join(directory, "errors"), "wb")
        self.process = session.start(
            [server_program(session), *options],
            preloaded,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self.errors,
        )

    def words(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()[-3000:]

    def wait_until_it_answers(self):
        for _ in range(3000):
            if self.process.poll() is not None:
                return False
            if os.path.exists(os.path.join(self.directory, self.socket)) and self.ask("PING").output == b"PONG\n":
                return True
            time.sleep(0.1)
        return False

    def ask(self, *words):
        return self.session.run([need("redis-cli"), "-s", self.socket, *words], False, cwd=self.directory)

    def answer(self, *words):
        outcome = self.ask(*words)
        if outcome.status or outcome.output.startswith((b"ERR", b"(error)")):
            fail(f"redis {words[0]} (preloaded: {self.preloaded}): {outcome.describe()}\n{outcome.output}\n{self.words()}")
        return outcome.output

    def end(self):
        self.ask("SHUTDOWN", "NOSAVE")
        try:
            status = self.process.wait(300)
        finally:
            end_group(self.process)
            self.process.wait()
            self.errors.close()
        return status


def work(session, preloaded):
    """What the server holds and says after all of the work."""
    directory = session.path(f"redis{preloaded:d}")
    os.mkdir(directory)
    server = Server(session, preloaded, directory)
    try:
        if not server.wait_until_it_answers():
            (fail if preloaded else skip)(f"redis-server does not answer (preloaded: {preloaded})")
        benchmark = [need("redis-benchmark"), "-s", server.socket, "-n", sized("20000", "4000"), "-c", "20", "-P", "8"]
        benchmark += ["-r", "5000", "-d", "100", "-q", "-t", "set,get,incr,lpush,rpop,sadd,hset,spop,zadd,zpopmin,mset"]
        outcome = session.run(benchmark, preloaded, cwd=directory)
        if outcome.status:
            fail(f"redis-benchmark (preloaded: {preloaded}): {outcome.describe()}\n{server.words()}")
        server.answer("FLUSHALL")
        results = {"size": server.answer("EVAL", FILL, "0", sized("30000", "8000"))}
        results["digest"] = server.answer("DEBUG", "DIGEST")
        results["reload"] = server.answer("DEBUG", "RELOAD")
        server.answer("BGSAVE")
        while b"rdb_bgsave_in_progress:1" in server.answer("INFO", "persistence"):
            time.sleep(0.1)
        results["saved"] = b"rdb_last_bgsave_status:ok" in server.answer("INFO", "persistence")
        results["digest after"] = server.answer("DEBUG", "DIGEST")
        server.answer("FLUSHALL", "ASYNC")
        server.answer("EVAL", FILL, "0", sized("30000", "8000"))
        results["digest of the second filling"] = server.answer("DEBUG", "DIGEST")
    finally:
        status = server.end()
    results["end"] = status
    with open(server.errors.name, "rb") as errors:
        if WORDS_OF_THE_ALLOCATOR.search(errors.read()):
            fail("the allocator complains in redis-server")
    return results


def main():
    for name in ("redis-cli", "redis-benchmark"):
        need(name)
    with Session("redis") as session:
        plain, tested = work(session, False), work(session, True)
        for what, value in plain.items():
            session.same(what, value, tested[what])
        session.finish()


if __name__ == "__main__":
    main()
