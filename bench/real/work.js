// node: objects, maps, buffers and text; prints one checksum. usage: node work.js ROUNDS
'use strict';

let check = 0;
for (let round = 0; round < Number(process.argv[2]); round++) {
    const groups = new Map();
    for (let i = 0; i < 40000; i++) {
        const word = 'w' + (i * 7919) % 10007 + 'x'.repeat(i % 40);
        const key = word.slice(0, 5);
        if (!groups.has(key))
            groups.set(key, []);
        groups.get(key).push({ word, bytes: Buffer.alloc(16 + (i % 500), word) });
    }
    const text = JSON.stringify([...groups].map(([key, list]) => [key, list.map((entry) => entry.word)]));
    check += JSON.parse(text).length + text.length;
    for (const list of groups.values())
        check += list[0].bytes.length;
}
console.log(check);
