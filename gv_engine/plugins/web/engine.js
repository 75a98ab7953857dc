// Worlds of an exported level: WebAssembly compiled from its rules, and the parts of the engine
// that are Python elsewhere. This file does not use the DOM: tests run it in Node.
"use strict";

const STACK_TOP = 2 ** 20; // as gv_engine.compiler.language.wasm has it
const ARENA_HEAD = 64n, BLAME = 16, NUMBERS = 24; // as gv_engine.compiler.language.body has them
const ARENA_BYTES = 2 ** 22;
const RESTART = -1, LOOK = -2; // in place of action indices, see gv_engine.world.simulation
const HIDDEN = 1, FLOOR = 2; // object types, see components.core
const WAIT = 255, WAIT_IN_DIGESTS = 8; // see gv_engine.rules.geometry and gv_engine.play.session.replay
const DISABLED = 2n; // autoreset mode
const PAGE_FORMAT = "GV Engine page 2", FORMAT = "GV Engine replay 2";
const LINE_BEGINS = "gv:";
const LARGEST_GAME = 2 ** 22; // bytes, as gv_engine.play.session.replay has it
const SEPARATOR = " | "; // as gv_engine.play.session.episode.ACTION_SEPARATOR

/** Return the bytes of a base64 text. */
function fromBase64(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

/** Return a base64 text of bytes. */
function toBase64(bytes) {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

/** Return the UTF-8 bytes of a text. */
function encode(text) {
  return new TextEncoder().encode(text);
}

/** Return zlib data packed or unpacked by a browser's stream; fail at more than `most` bytes. */
async function pipe(bytes, stream, most = Infinity) {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader(), parts = [];
  for (let size = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) return new Uint8Array(await new Blob(parts).arrayBuffer());
    parts.push(value);
    if ((size += value.length) <= most) continue;
    reader.cancel();
    throw new ReplayError(`This is larger than ${most >> 20} MiB, which no game is.`);
  }
}

/** Return the bytes of base64 text of zlib data; fail at more than `most`. */
function unpack(text, most = Infinity) {
  return pipe(fromBase64(text), new DecompressionStream("deflate"), most);
}

// ---- SHA-256 ------------------------------------------------------------------------------------

const [ROUNDS, START] = (() => {
  const primes = [];
  for (let n = 2; primes.length < 64; n++) if (primes.every((p) => n % p)) primes.push(n);
  const bits = (x) => Math.floor((x % 1) * 2 ** 32) | 0;
  return [primes.map((p) => bits(Math.cbrt(p))), primes.slice(0, 8).map((p) => bits(Math.sqrt(p)))];
})();

/** Return the SHA-256 of bytes in hexadecimal. Source: FIPS 180-4. */
function sha256(bytes) {
  const padded = new Uint8Array((bytes.length + 72) & ~63);
  padded.set(bytes);
  padded[bytes.length] = 128;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - 8, BigInt(bytes.length) * 8n);
  const hash = [...START], w = new Int32Array(64);
  const turn = (x, k) => (x >>> k) | (x << (32 - k));
  for (let at = 0; at < padded.length; at += 64) {
    for (let i = 0; i < 16; i++) w[i] = view.getInt32(at + 4 * i);
    for (let i = 16; i < 64; i++) {
      const a = w[i - 15], b = w[i - 2];
      w[i] = w[i - 16] + w[i - 7] + (turn(a, 7) ^ turn(a, 18) ^ (a >>> 3)) +
        (turn(b, 17) ^ turn(b, 19) ^ (b >>> 10));
    }
    let [a, b, c, d, e, f, g, h] = hash;
    for (let i = 0; i < 64; i++) {
      const one = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) +
        ROUNDS[i] + w[i]) | 0;
      const two = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((x, i) => (hash[i] = (hash[i] + x) | 0));
  }
  return hash.map((x) => (x >>> 0).toString(16).padStart(8, "0")).join("");
}

// ---- seeds --------------------------------------------------------------------------------------

const PCG_FACTOR = (2549297995355413924n << 64n) | 4865540595714422341n;

/** Return state and increment of NumPy's `default_rng(SeedSequence(seed, spawn_key=keys))`, a PCG64
 * generator. Sources: as gv_engine.envs.backends.seeding.
 * @param {bigint} seed a whole number from 0 on
 * @param {bigint[]} keys whole numbers from 0 on; without them the generator is that of a level */
function makeGenerator(seed, ...keys) {
  const words = [];
  for (let number of [seed, ...keys]) {
    do words.push(Number(number & 0xffffffffn)), (number >>= 32n); while (number);
    while (keys.length && words.length < 4) words.push(0);
  }
  let salt = 0x43b0d7e5;
  const hash = (value) => {
    value ^= salt;
    salt = Math.imul(salt, 0x931e8875);
    value = Math.imul(value, salt);
    return value ^ (value >>> 16);
  };
  const mix = (x, y) => {
    const mixed = Math.imul(x, 0xca01f9dd) - Math.imul(y, 0x4973f715);
    return mixed ^ (mixed >>> 16);
  };
  const pool = [0, 1, 2, 3].map((k) => hash(words[k] ?? 0));
  for (let source = 0; source < 4; source++)
    for (let k = 0; k < 4; k++) if (k !== source) pool[k] = mix(pool[k], hash(pool[source]));
  for (const word of words.slice(4)) for (let k = 0; k < 4; k++) pool[k] = mix(pool[k], hash(word));
  let other = 0x8b51f9dd;
  const out = Array.from({ length: 8 }, (_, k) => {
    let value = pool[k % 4] ^ other;
    other = Math.imul(other, 0x58f38ded);
    value = Math.imul(value, other);
    return BigInt((value ^ (value >>> 16)) >>> 0);
  });
  const [high, low, streamHigh, streamLow] = [0, 2, 4, 6].map((k) => out[k] | (out[k + 1] << 32n));
  const step = BigInt.asUintN(128, (((streamHigh << 64n) | streamLow) << 1n) | 1n);
  return [BigInt.asUintN(128, (step + ((high << 64n) | low)) * PCG_FACTOR + step), step];
}

/** Return the six 64-bit words of a new generator, as a row holds them: state and increment, each
 * high and low, and an empty buffer. */
function seedGenerator(seed) {
  const halves = makeGenerator(seed).flatMap((word) => [word >> 64n, BigInt.asUintN(64, word)]);
  return [...halves, 0n, 0n];
}

// ---- worlds -------------------------------------------------------------------------------------

const stepY = (way) => [-1, 1, 0, 0][way]; // of the directions forward, backward, left and right
const stepX = (way) => [0, 0, -1, 1][way];
const multiplyAll = (numbers) => numbers.reduce((a, b) => a * b, 1);

/** Return the compiled rules of a page, and for each of their programs the messages by codes of errors.
 * @typedef {{ code: WebAssembly.Module, errors: Record<string, string>[] }} Rules @returns {Promise<Rules>} */
async function loadRules({ wasm, errors }) {
  const messages = JSON.parse(new TextDecoder().decode(await unpack(errors)));
  return { code: await WebAssembly.compile(await unpack(wasm)), errors: messages };
}

/** Error of a rule: its message for the player. */
class RuleFailed extends Error {}
const READ = {
  u1: Uint8Array, b1: Uint8Array, i1: Int8Array, u2: Uint16Array, i2: Int16Array, u4: Uint32Array, i4: Int32Array,
  u8: BigInt64Array, i8: BigInt64Array, f4: Float32Array, f8: Float64Array, // u8: only read to hash its bits
};

/** One world of a level. */
class World {
  /** Create the world of a level of a page; call `reset` before any other method.
   * @param {any} level as gv_engine.plugins.web.page describes it
   * @param {Rules} rules of the page @param {Uint8Array} image start of memory */
  constructor(level, rules, image) {
    this.level = level;
    this.errors = rules.errors[level.program];
    this.arena = STACK_TOP + image.length;
    const pages = Math.ceil((this.arena + ARENA_BYTES) / 65536);
    const memory = new WebAssembly.Memory({ initial: pages });
    this.bytes = new Uint8Array(memory.buffer);
    this.view = new DataView(memory.buffer);
    this.bytes.set(image, STACK_TOP);
    this.stack = new WebAssembly.Global({ value: "i32", mutable: true }, STACK_TOP);
    const env = {
      __linear_memory: memory,
      __stack_pointer: this.stack,
      __indirect_function_table: new WebAssembly.Table({ element: "anyfunc", initial: 64 }),
    };
    for (const { name, kind } of WebAssembly.Module.imports(rules.code))
      if (kind === "function") env[name] = name === "fmod" ? (a, b) => a % b : Math[name];
    /** @type {any} */
    this.code = new WebAssembly.Instance(rules.code, { env }).exports;
    this.agents = level.agents.length;
  }

  /** Return the values of an output of the last step, such as `grid`, for all agents together. */
  output(name) {
    return name in this.level.arrays ? Array.from(this._read(this.level.arrays[name])) : [];
  }

  /** Return the part of an output that belongs to an agent.
   * @param {number} agent counted from 0 */
  outputOf(name, agent) {
    const all = this.output(name), size = all.length / this.agents;
    return all.slice(agent * size, (agent + 1) * size);
  }

  /** Return the values of a field of the row, such as `door.status`. */
  column(name) {
    return Array.from(this._read(this.level.fields[name]));
  }

  /** Return the single value of a field of the row. */
  value(name) {
    return this._read(this.level.fields[name])[0];
  }

  /** Return a copy of numbers of the memory as a typed array. */
  _read([at, kind, shape]) {
    const size = multiplyAll(shape) * READ[kind].BYTES_PER_ELEMENT;
    return new READ[kind](this.bytes.buffer.slice(at, at + size));
  }

  /** Step limit of the episode: the lower of the limits of level and mission; 0 for no limit. */
  get stepLimit() {
    const { maxSteps, missionLimits } = this.level;
    const own = missionLimits ? this.column("mission.max_steps")[1] : 0;
    const limits = [maxSteps[this.value("member")], own].filter(Boolean);
    return limits.length ? Math.min(...limits) : 0;
  }

  get isOver() {
    return Boolean(this.value("terminated") || this.value("truncated"));
  }

  get outcome() {
    return this.value("terminated") ? "terminated" : this.value("truncated") ? "truncated" : "";
  }

  /** Start the episode of a seed. */
  reset(seed) {
    const [rng] = this.level.fields["rng.state_high"];
    seedGenerator(seed).forEach((word, k) => this.view.setBigUint64(rng + 8 * k, word, true));
    this._run(Array(this.agents).fill(RESTART));
  }

  /** Take an action of each agent. If a rule fails, restore the world and throw the error.
   * @param {(number | null)[]} actions indices of actions; null for an agent that does nothing, and
   * the number of actions plus 1 for a partner that chooses itself */
  step(actions) {
    const before = this.snapshot();
    try {
      this._run(actions);
    } catch (error) {
      this.restore(before);
      throw error;
    }
  }

  /** Return the numbers that players see of an agent: its state vector, and those of the world. */
  shownNumbers(agent) {
    const own = this.level.display.map(({ column, item, size, entity, kind }) => {
      const e = kind === null ? entity ?? agent + 1 : this.column("kind.value").indexOf(kind);
      return Number(this.column(column)[e * size + item] ?? 0);
    });
    return [...this.outputOf("state", agent), ...own];
  }

  /** Return the index of the action that an agent has taken in the last step. */
  lastAction(agent) {
    return this.level.actionNumbers.indexOf(Number(this.column("action")[agent + 1]));
  }

  /** Return a snapshot of the world: a copy of the bytes of its row. */
  snapshot() {
    const [at, size] = this.level.row;
    return this.bytes.slice(at, at + size);
  }

  /** Load a snapshot of the world, without new observations: `output` does not change. */
  load(row) {
    this.bytes.set(row, this.level.row[0]);
  }

  /** Load a snapshot of the world, and compute its observations for `output`. */
  restore(row) {
    this.load(row);
    this._run(Array(this.agents).fill(LOOK));
    this.load(row); // looking may draw random numbers
  }

  _run(actions) {
    const { level, view, code } = this, [at] = level.arrays.actions, wait = level.actions.length; // see ScenarioPlan
    actions.forEach((action, k) => view.setBigInt64(at + 8 * k, BigInt(action ?? wait), true));
    view.setBigInt64(this.arena, ARENA_HEAD, true);
    view.setBigInt64(this.arena + 8, BigInt(ARENA_BYTES), true);
    code.gv_engine_start();
    let failed;
    try {
      failed = code[`run${level.program}`](BigInt(STACK_TOP), 0n, 1n, DISABLED);
    } catch {
      this.stack.value = STACK_TOP;
      throw new RuleFailed(`The rule ${this._failedRule()} does not end`);
    }
    if (failed) throw new RuleFailed(this._describeFailure());
  }

  /** Return the name of the rule that has failed, or ran when the program stopped. */
  _failedRule() {
    const { rules, groups } = this.level, mark = Number(this.view.getBigInt64(this.arena + BLAME, true));
    return rules[groups[this.value("member")]]?.[mark - 1] ?? "of this level";
  }

  /** Return the message for the error that has ended the last run. */
  _describeFailure() {
    const read = (_, k) => String(this.view.getBigInt64(this.arena + NUMBERS + 8 * k, true));
    const message = this.errors[this.value("error")] ?? "A rule failed";
    return message.replace("{rule}", this._failedRule()).replace(/\{(\d)\}/g, read);
  }

  /** Return height and width of the grid, and the (type, state, colour) of the topmost object and
   * of the ground of each cell, row by row. The ground has those of covered objects between the two
   * as its fourth item, the lowest first. The agent with index `agent` is left out, others count
   * as objects. */
  cells(agent) {
    const { level } = this, height = this.value("height"), width = this.value("width"), stride = level.fields.at[2][1];
    const read = (name) => this._read(level.fields[name]), states = {};
    const kinds = read("kind.value"), colors = read("color.value");
    const stacks = Object.keys(level.fields).filter((name) => /^stack\..*/.test(name) && level.fields[name][2].length > 1);
    const stackOf = (entity) => stacks.flatMap((name) => {
      const size = level.fields[name][2][1];
      return [...(states[name] ??= read(name)).slice(entity * size, (entity + 1) * size)].filter((state) => state);
    });
    const look = (entity) => {
      const kind = kinds[entity], { state } = level.types[kind] ?? {};
      const seen = [kind, state ? (states[state] ??= read(state))[entity] : 0, colors[entity]];
      return state && stacks.length ? [...seen, stackOf(entity)] : seen;
    };
    const names = this._layers(), layers = names.map(read), top = [], below = [];
    for (let y = 0; y < height; y++)
      for (let x = 0; x < width; x++) {
        const objects = layers.map((layer) => layer[y * stride + x]), ground = "ground" in level.fields ? objects.pop() : 0;
        const [shown, ...between] = objects.filter((entity) => entity);
        top.push(look(shown ?? ground));
        below.push(between.length ? [...look(ground), between.reverse().map(look)] : look(ground));
      }
    for (let other = 0; other < this.present; other++) {
      const [y, x] = this.pose(other);
      if (other !== agent && y >= 0) top[y * width + x] = look(other + 1);
    }
    return { height, width, top, below: layers.length > 1 ? below : null };
  }

  /** Return the fields with the object of each cell, one for each layer, topmost first. */
  _layers() {
    return Object.keys(this.level.fields).filter((name) => /^(at|ground|between_\d+)$/.test(name));
  }

  /** Return the cells that guards see, by the cell of the guard, as `GridEpisode` finds them.
   * @returns {Map<number, number[]>} */
  watched() {
    const { level } = this, found = new Map(), width = this.value("width"), height = this.value("height");
    const read = (name) => (name in level.fields ? this._read(level.fields[name]) : []), stride = level.fields.at[2][1];
    const names = ["at", "kind.value", "opaque.has", "solid.has", "door.status"], layers = this._layers().map(read);
    const [things, kinds, opaque, solid, closed] = names.map(read);
    const looksPast = (at) => !opaque[things[at]] && !closed[things[at]];
    const enters = (at) => layers.every((layer) => !solid[layer[at]] && !closed[layer[at]]);
    for (const [kind, reach] of level.guards[this.value("member")]) {
      const states = read(level.types[kind].state);
      for (let y = 0; y < height; y++)
        for (let x = 0; x < width; x++) {
          const guard = layers.map((layer) => layer[y * stride + x]).find((entity) => kinds[entity] === kind);
          if (guard === undefined) continue;
          const cells = found.get(y * width + x) ?? [], way = states[guard] ?? 0;
          found.set(y * width + x, cells);
          for (let k = 1; k <= reach; k++) {
            const cy = y + k * stepY(way), cx = x + k * stepX(way), at = cy * stride + cx;
            if (cy < 0 || cx < 0 || cy >= height || cx >= width) break;
            if (looksPast(at) || enters(at)) cells.push(cy * width + cx);
            if (!looksPast(at)) break;
          }
        }
    }
    return found;
  }

  /** Return an object in words, such as `red locked door`, given its type, state and colour. */
  words([kind, state, color]) {
    const { words } = this.level.types[kind], name = this.level.colors[color];
    return (color && name ? `${name} ` : "") + (words[state] ?? words[0]);
  }

  /** Number of agents of this episode. */
  get present() {
    return "present" in this.level.fields ? this.value("present") : this.agents;
  }

  /** Return (y, x, direction) of an agent. @param {number} agent counted from 0 */
  pose(agent) {
    return ["position.y", "position.x", "agent.facing"].map((name) => this._read(this.level.fields[name])[agent + 1]);
  }

  /** Return the colour of an agent, 0 for the only one of a level. @param {number} agent from 0 on */
  colorOf(agent) {
    return this.agents > 1 ? this.column("color.value")[agent + 1] : 0;
  }

  /** Return the hash of the state that replays hold, as `gv_engine.play.session.replay.row_digest`. */
  digest() {
    const { fields, types } = this.level, parts = [], add = (text) => parts.push(encode(text));
    const update = (name, shape, values, kind) => {
      add(`${name} (${shape.join(", ")}${shape.length === 1 ? "," : ""}) `);
      const numbers = kind[0] === "f" ? Float64Array.from(values) : BigInt64Array.from(values, BigInt);
      parts.push(new Uint8Array(numbers.buffer));
    };
    const where = (flags) => flags.flatMap((flag, k) => (flag ? [k] : []));
    for (const name in fields)
      if (name.startsWith("rng.")) update(name.slice(4), [], this.column(name), "u8");
    for (const name of "reward total steps error action free terminated truncated member done".split(" ")) {
      const [, kind, shape] = fields[name], values = this.column(name).slice(shape.length);
      if (name === "done" && values.length < 2) continue;
      const sent = name === "action" ? values.map((a) => (Number(a) === WAIT ? WAIT_IN_DIGESTS : a)) : values;
      update(name, sent.length > 1 ? [sent.length] : [], sent, kind);
    }
    const height = this.value("height"), width = this.value("width");
    for (const layer of this._layers()) {
      const [, kind, [, stride]] = fields[layer], cells = this.column(layer);
      const inside = cells.filter((_, k) => k % stride < width && k < height * stride);
      update(layer, [height, width], inside, kind);
    }
    const alive = where(this.column("alive"));
    update("alive", [alive.length], alive, "i8");
    let having = []; // entities with the component whose fields follow
    for (const [path, [, kind, [, ...shape]]] of Object.entries(fields)) {
      const [component, field] = path.split("."), isComponent = `${component}.has` in fields;
      if (!isComponent) continue;
      const all = this.column(path), size = multiplyAll(shape);
      if (field === "has") update(component, [(having = where(all)).length], having, "i8");
      else if (path === "kind.value") add(having.map((e) => types[all[e]].name).join(" "));
      else update(field, [having.length, ...shape], having.flatMap((e) => all.slice(e * size, (e + 1) * size)), kind);
    }
    for (const table of ["placed", "recent"]) {
      const values = this.column(table);
      const pairs = where(values).map((kind) => `('${types[kind].name}', ${values[kind]})`);
      add(`${table} [${pairs.sort().join(", ")}]`);
    }
    return sha256(parts.flatMap((part) => [...part])).slice(0, 16);
  }
}

// ---- cells --------------------------------------------------------------------------------------

/** Return name and colour of the sprite of an object, given its type, state and colour. */
function spriteOf(types, [kind, state, color]) {
  const { sprites } = types[kind];
  return [sprites[Math.min(state, sprites.length - 1)], color];
}

/** Return the (name, colour) of each sprite of a cell, from the floor up, and of the covered object
 * that is shown small in a corner, null for none: as gv_engine.play.ui.drawing.sprites.SpriteSheet.tile.
 * `sprites` are texts by name; `fills` says whether a sprite fills its cell. */
function cellSprites(types, ground, thing, sprites, fills) {
  const isBeneath = ground[0] > FLOOR && String(ground) !== String(thing);
  const lower = [...(isBeneath ? [ground] : []), ...(ground[3] ?? [])].map((look) => spriteOf(types, look));
  const upper = spriteOf(types, thing), covered = lower.at(-1), both = covered && `${upper[0]}_on_${covered[0]}`;
  const layers = [["floor", 0], ...lower];
  if (covered && Object.hasOwn(sprites, both)) return { layers: [...layers.slice(0, -1), [both, upper[1]]], covered: null };
  if (thing[3]?.length) return { layers: [...layers, ...thing[3].map((state) => spriteOf(types, [thing[0], state, 0]))], covered: null };
  if (thing[0] !== FLOOR) layers.push(upper);
  const isCovered = covered && thing[0] !== FLOOR && (fills(...upper) || !fills(...covered));
  return { layers, covered: isCovered ? covered : null };
}

/** Return the edges at which the object in a cell joins its neighbours, a bit for each of EDGES: as
 * gv_engine.play.ui.drawing.sprites.SpriteSheet.add_joins. */
function joinsAt(top, height, width, y, x) {
  const kind = top[y * width + x][0];
  const isAlike = (down, right) => {
    const row = Math.min(Math.max(y + down, 0), height - 1), column = Math.min(Math.max(x + right, 0), width - 1);
    return [kind, HIDDEN].includes(top[row * width + column][0]);
  };
  const sides = [[-1, 0], [1, 0], [0, -1], [0, 1]].map((side) => isAlike(...side));
  const corners = [[-1, -1], [-1, 1], [1, -1], [1, 1]].map(([down, right]) =>
    isAlike(down, right) || !(isAlike(down, 0) && isAlike(0, right)));
  return [...sides, ...corners].reduce((bits, isJoined, k) => bits | (Number(isJoined) << k), 0);
}

const EDGES = ["up", "down", "left", "right", "up-left", "up-right", "down-left", "down-right"];
const EDGE_PART = /<(\w+)\b[^>]*?\bid="((?:up|down)-(?:left|right)|up|down|left|right)"[^>]*?(?:\/>|>[^]*?<\/\1>)/g;

/** Return the SVG text of a sprite without its parts for the edges in `joins`. */
function cutEdges(text, joins) {
  return text.replace(EDGE_PART, (part, _, edge) => ((joins >> EDGES.indexOf(edge)) & 1 ? "" : part));
}

/** Return the (name, colour) of the object under an agent that is shown small in a corner; null for
 * Floor, or if the sprite is one that `fills` its cell and is seen around the agent. */
function spriteUnderAgent(types, look, fills) {
  const sprite = look[0] > FLOOR ? spriteOf(types, look) : null;
  return sprite && !fills(...sprite) ? sprite : null;
}

// ---- games --------------------------------------------------------------------------------------

/** Return a reward as replays have it: infinities and NaN as texts. */
function encodeReward(reward) {
  return Number.isFinite(reward) ? reward : String(reward).replace("Infinity", "inf").replace("NaN", "nan");
}

/** Error of a text that is no game of this page; the message is for the player. */
class ReplayError extends Error {}

/** One episode with all its steps, which can go back to any of them. */
class Game {
  /** @param {string} engine version of GV Engine */
  constructor(world, seed, engine) {
    this.world = world;
    this.seed = seed;
    this.engine = engine;
    world.reset(seed);
    this.start = world.digest();
    this.steps = []; // action, reward, digest, outcome
    this.rows = [world.snapshot()];
    this.terms = [[]]; // rewards by reward function, of all agents
    /** @type {Record<string, any[]>} */
    this.followed = {};
    this.position = 0;
  }

  /** Call `next` in each state up to the current one, with its result for the state before
   * (undefined for the first state), and return the last result. Results are cached.
   * @param {string} name key of the cache @param {(before: any) => any} next */
  follow(name, next) {
    const { world, position, rows } = this, values = (this.followed[name] ??= []);
    const isBehind = values.length < position;
    for (let k = values.length; k <= position; k++) {
      if (isBehind) world.restore(rows[k]);
      values.push(next(values[k - 1]));
    }
    return values[position];
  }

  /** Return the decision of a policy in this state; it has seen all states before. */
  decide(policy) {
    return this.follow("decisions", (before) => policy.decide(this.world, before, this.seed));
  }

  /** Return the name of a joint action, as replays have it. */
  name(actions) {
    const { agents, actions: names } = this.world.level;
    if (agents.length === 1) return actions[0] === null ? "WAIT" : names[actions[0]];
    const said = actions.flatMap((action, k) => (action === null ? [] : [`${agents[k]} ${names[action]}`]));
    return said.join(SEPARATOR) || "WAIT";
  }

  /** Return the actions of the agents in the name of a joint action. */
  parse(text) {
    const { agents, actions: names } = this.world.level;
    const said = Array(agents.length).fill(null);
    for (const part of text === "WAIT" ? [] : text.split(SEPARATOR)) {
      const cut = part.lastIndexOf(" ");
      const agent = cut < 0 ? 0 : agents.indexOf(part.slice(0, cut));
      said[agent] = names.indexOf(part.slice(cut + 1));
      if (agent < 0 || said[agent] < 0) throw new ReplayError(`no action ${part} in this level`);
    }
    return said;
  }

  /** Take a step, and delete all undone steps. Return its reward, summed over agents. */
  step(actions) {
    const { world } = this;
    world.step(actions);
    actions = actions.map((action, k) => (action > world.level.actions.length ? world.lastAction(k) : action));
    this.steps.length = this.position;
    this.rows.length = this.terms.length = this.position + 1;
    for (const values of Object.values(this.followed)) values.splice(this.position + 1);
    const reward = world.output("rewards").reduce((sum, each) => sum + each, 0);
    this.steps.push([this.name(actions), reward, world.digest(), world.outcome]);
    this.rows.push(world.snapshot());
    this.terms.push(world.output("terms"));
    this.position++;
    return reward;
  }

  /** Go to the state after a number of steps. */
  seek(position) {
    this.position = Math.max(0, Math.min(position, this.steps.length));
    this.world.restore(this.rows[this.position]);
  }

  /** Sum of the rewards so far. */
  get total() {
    return this.steps.slice(0, this.position).reduce((sum, step) => sum + step[1], 0);
  }

  /** Return the bytes of a replay file. */
  toBytes() {
    const { identity: scenario, settings, variant } = this.world.level, steps = this.steps.slice(0, this.position);
    const head = JSON.stringify({ format: FORMAT, engine: this.engine, scenario, settings, variant }, null, 1);
    const lines = steps.map(([action, reward, digest]) => "  " + JSON.stringify([action, encodeReward(reward), digest]));
    // a seed may have more digits than a number of JavaScript
    const body = `${head.slice(0, -2)},
 "seed": ${this.seed},
 "outcome": "${steps.at(-1)?.[3] ?? ""}",
 "start": "${this.start}",
 "steps": [
${lines.join(",\n")}
 ]`;
    return encode(`${body},\n "checksum": "${sha256(encode(body))}"\n}\n`);
  }

  /** Return the game as one line of text, as the window copies and pastes it. */
  async toLine() {
    const packed = await pipe(this.toBytes(), new CompressionStream("deflate"));
    return LINE_BEGINS + toBase64(packed).replace(/\+/g, "-").replace(/\//g, "_");
  }
}

/** Return the parsed replay in a line of text, after a check of its checksum. */
async function readLine(line) {
  try {
    const packed = line.trim().replace(LINE_BEGINS, "").replace(/-/g, "+").replace(/_/g, "/");
    const bytes = await unpack(packed.slice(0, 2 * LARGEST_GAME), LARGEST_GAME); // base64 is a third longer
    const text = new TextDecoder().decode(bytes), cut = text.lastIndexOf(',\n "checksum": ');
    if (cut < 0 || !text.slice(cut).includes(`"${sha256(encode(text.slice(0, cut)))}"`))
      throw new ReplayError("This game is damaged: its checksum does not fit the rest.");
    const replay = JSON.parse(text), seed = /^ "seed": (\d{1,4300}),/m.exec(text); // one blank: not a parameter
    if (replay.format !== FORMAT || !seed) throw new ReplayError("This game is of another version.");
    const steps = replay.steps.map(([action, ...rest]) => [String(action), ...rest]);
    return { ...replay, steps, digest: replay.scenario.digest, seed: BigInt(seed[1]) };
  } catch (error) {
    throw error instanceof ReplayError ? error : new ReplayError("This line is not a game, or it is incomplete.");
  }
}

/** Play a parsed replay in a world of its level, and compare each state; return the game. */
function playReplay(world, replay, engine) {
  const game = new Game(world, replay.seed, engine);
  if (game.start !== replay.start) throw new ReplayError("This game begins with another level.");
  replay.steps.forEach((step, k) => {
    const reward = game.step(game.parse(step[0]));
    if (encodeReward(reward) !== step[1] || game.steps[k][2] !== step[2])
      throw new ReplayError(`Step ${k + 1} of this game comes out differently here.`);
  });
  return game;
}
