// Play the games of a file in the worlds of a page, and print a checksum of all bytes and the digest
// after each step.
// usage: node compare.js PAGE GAMES: GAMES is JSON, a list of [level, seed, list of joint actions]
"use strict";
const fs = require("fs");
require("vm").runInThisContext(fs.readFileSync(`${__dirname}/../../gv_engine/plugins/web/engine.js`, "utf-8"));

const TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n;
});

/** Return the CRC-32 of the row and all outputs of a world. @param {World} world */
function checksum(world) {
  const { level, bytes } = world, [row, rowSize] = level.row;
  let sum = -1;
  const add = (at, size) => {
    for (let i = at; i < at + size; i++) sum = TABLE[(sum ^ bytes[i]) & 255] ^ (sum >>> 8);
  };
  add(row, rowSize);
  for (const name of Object.keys(level.arrays).sort()) {
    const [at, kind, shape] = level.arrays[name];
    add(at, multiplyAll(shape) * Number(kind[1]));
  }
  return ~sum >>> 0;
}

async function main() {
  const page = fs.readFileSync(process.argv[2], "utf-8");
  const data = JSON.parse(/id="data"[^>]*>([^<]*)</.exec(page)[1]);
  const rules = await loadRules(data);
  const games = JSON.parse(fs.readFileSync(process.argv[3], "utf-8"));
  const worlds = new Map();
  for (const [number, seed, actions] of games) {
    if (!worlds.has(number)) {
      const level = data.levels[number];
      worlds.set(number, new World(level, rules, await unpack(level.image)));
    }
    const world = worlds.get(number);
    world.reset(BigInt(seed));
    const state = () => [checksum(world), world.digest()], states = [state()];
    for (const action of actions) world.step(action), states.push(state());
    console.log(JSON.stringify(states));
  }
}

main();
