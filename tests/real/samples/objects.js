// Objects, buffers, maps, compression and worker threads; prints digests of what it made.
'use strict';
const { createHash } = require('crypto');
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const zlib = require('zlib');

function work(seed, count) {
    let state = seed;
    const draw = (below) => {
        state = (Math.imul(state, 1103515245) + 12345) >>> 0;
        return (state >>> 8) % below;
    };
    const map = new Map();
    const hash = createHash('sha256');
    for (let i = 0; i < count; i++) {
        const key = 'k' + draw(5000);
        const value = { i, list: Array.from({ length: draw(20) }, () => draw(1000)), text: 'x'.repeat(draw(200)) };
        map.set(key, value);
        if (draw(3) === 0) map.delete('k' + draw(5000));
        if (i % 64 === 0) hash.update(Buffer.alloc(draw(100000), i & 255));
    }
    const text = JSON.stringify([...map.entries()].sort((a, b) => (a[0] < b[0] ? -1 : 1)));
    const packed = zlib.gzipSync(text);
    hash.update(zlib.gunzipSync(packed));
    return `${map.size} entries, ${text.length} characters, ${hash.digest('hex')}`;
}

if (isMainThread) {
    const count = Number(process.argv[2]);
    console.log('main:', work(1, count));
    let chain = Promise.resolve();
    const done = [2, 3, 4].map((seed) => new Promise((resolve, reject) => {
        const worker = new Worker(__filename, { workerData: { seed, count: count >> 2 } });
        worker.on('message', resolve);
        worker.on('error', reject);
    }));
    for (const one of done) chain = chain.then(() => one).then((line) => console.log('worker:', line));
} else {
    parentPort.postMessage(work(workerData.seed, workerData.count));
}
