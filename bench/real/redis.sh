#!/bin/sh
# redis: becomes redis-server under the preloaded allocator, while redis-benchmark asks it REQUESTS times.
#
# usage: redis.sh REQUESTS SOCKET
#
# The measured process is the server alone: the client is started without the allocator by a subshell that nobody
# waits for, so that its time is not counted, and ends the server when it is done (by a signal when it has failed).
# Debian's redis-server is linked to jemalloc: the C library's malloc and the C++ runtime's operator new, as the last
# preloads, stand before it, so that jemalloc serves nothing when it is not the one that is measured.
requests=$1
socket=$2
server=$$
export LD_PRELOAD="${LD_PRELOAD:+$LD_PRELOAD:}libstdc++.so.6:libc.so.6"

ask() {
    env -u LD_PRELOAD "$@" >/dev/null 2>&1
}

ask_everything() {
    tries=0
    until ask redis-cli -s "$socket" ping; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] || return 1
        env -u LD_PRELOAD sleep 0.05
    done
    ask redis-benchmark -s "$socket" -n "$requests" -P 16 -c 20 -r 20000 -d 100 -t set,get,lpush,lpop,sadd,hset &&
        ask redis-cli -s "$socket" eval 'redis.call("FLUSHALL")' 0
}

rm -f "$socket"
(
    {
        ask_everything || kill -KILL $server
        ask redis-cli -s "$socket" shutdown nosave || kill -KILL $server
    } </dev/null >/dev/null 2>&1 &
)
exec redis-server --port 0 --unixsocket "$socket" --save '' --appendonly no --daemonize no --loglevel warning \
    --jemalloc-bg-thread no --bind 127.0.0.1
