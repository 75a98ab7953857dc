// The page of a level: keys, touch, gamepad and buttons in; boards, texts and sounds out.
"use strict";

/** @returns {any} */
const get = (id) => document.getElementById(id);
const SMALLEST_CELL = 10; // pixels; of larger grids a part is shown, around the agent, in cells of:
const READABLE_CELL = 20;
const MAP_WIDE = 128, MAP_TALL = 104; // pixels of a picture on the map of the levels
const GLIDE = 120; // milliseconds of a step's animation
const LAST_GLIDE = 700; // milliseconds of that of an episode's last step
const INSIDE = 0.5; // side, in cells, of an agent that has entered an exit
const NIGHT = 110 / 255, GLOW = 0.55; // opacity of the dark at an end, and of the light on the agent
const CAPTION_STAYS = 1500; // milliseconds
const SIGHT = 90 / 255; // opacity of the colour over cells that guards see, as in gv_engine.play.grid.overlay
const REPEAT = [300, 120]; // milliseconds until a held gamepad button repeats, and from then on
const STICK_OUT = 0.6; // deflection of a gamepad's stick that counts as pressing
const FORWARD = 0, BACKWARD = 1, LEFT = 2, RIGHT = 3;
const ANGLES = [0, Math.PI, -Math.PI / 2, Math.PI / 2];
const MOVES = ["MOVE_FORWARD", "MOVE_BACKWARD", "MOVE_LEFT", "MOVE_RIGHT"];
const TURNS = { [BACKWARD]: ["TURN_RIGHT", "TURN_RIGHT"], [LEFT]: ["TURN_LEFT"], [RIGHT]: ["TURN_RIGHT"] };
const PLAIN = [...MOVES, "TURN_LEFT", "TURN_RIGHT", "NOOP", "DONE", "WAIT"]; // actions that need no turn before
const STEERING = { STEER_UP: FORWARD, STEER_DOWN: BACKWARD, STEER_LEFT: LEFT, STEER_RIGHT: RIGHT };
const STEERING_ORDER = ["STEER_LEFT", "STEER_UP", "STEER_DOWN", "STEER_RIGHT"];
const SPOT_TURNS = { STEER_TURN_LEFT: "TURN_LEFT", STEER_TURN_RIGHT: "TURN_RIGHT" };
const USES = ["ACTUATE", "TOGGLE", "PICK_UP", "PICK_N_DROP"]; // what a tap does, the first that a level has
const SIDE_STEPS = { TURN_LEFT: "MOVE_LEFT", TURN_RIGHT: "MOVE_RIGHT" }; // in levels without turns
const ARROWS = {
  MOVE_FORWARD: "▲", MOVE_BACKWARD: "▼", MOVE_LEFT: "◀", MOVE_RIGHT: "▶", TURN_LEFT: "↺", TURN_RIGHT: "↻",
  STEER_LEFT: "◀", STEER_UP: "▲", STEER_DOWN: "▼", STEER_RIGHT: "▶", STEER_TURN_LEFT: "↺", STEER_TURN_RIGHT: "↻",
};
const SHORT_WORDS = { "Use what is ahead": "Use", "Pick up or drop": "Take" }; // on buttons
const RIM = 0.5; // cells that are shown of the wall around a level
const TIME_SPEED = 4; // steps a second where the level says nothing, as in the window
const MEDAL_SIGNS = { solved: "✓", par: "★", first: "1" };
const PAD = "A B X Y LB RB LT RT Back Start LeftStick RightStick Up Down Left Right Guide".split(" ");
const CODES = {
  ArrowUp: "Up", ArrowDown: "Down", ArrowLeft: "Left", ArrowRight: "Right", Enter: "Return",
  Backquote: "Grave", BracketLeft: "LeftBracket", BracketRight: "RightBracket", Equal: "Equals",
};

const rotate = (way, by) => way ^ by ^ ((way & by) >> 1);
const findRelative = (facing, way) => [0, 1, 2, 3].findIndex((move) => rotate(facing, move) === way);
const toRelative = (way, to) => rotate(way, to ^ (to >> 1));
const capitalize = (text) => text[0].toUpperCase() + text.slice(1);
const inWords = (name) => name[0].toUpperCase() + name.slice(1).replace(/_/g, " ").toLowerCase();
const format = (number) => String(Number(number.toPrecision(6)));
const inSteps = (count) => `${count} ${count === 1 ? "step" : "steps"}`;
const isSeed = (text) => /^\d+$/.test(text);

/** Return a new element with these properties and children. */
function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/** Return the name of a key event as commands have it, such as `Shift+Left`. */
function nameKey(event) {
  const name = CODES[event.code] ?? event.code.replace(/^(Key|Digit)/, "").replace("Numpad", "Keypad ");
  return (event.ctrlKey || event.metaKey ? "Ctrl+" : "") + (event.altKey ? "Alt+" : "") +
    (event.shiftKey ? "Shift+" : "") + name;
}

/** Return the value that the browser's local storage holds under a name, after storing `value` if
 * it is given; null if there is none. */
function keep(name, value = undefined) {
  try {
    if (value !== undefined) localStorage.setItem(`gv-engine ${name}`, JSON.stringify(value));
    return JSON.parse(localStorage.getItem(`gv-engine ${name}`) ?? "null");
  } catch {
    return null; // a browser may forbid it
  }
}

/** Play a tone of a page. @param {any} tone frequencies, and seconds of each */
function playTone([frequencies, seconds]) {
  const audio = (playTone.audio ??= new AudioContext()), volume = audio.createGain();
  volume.connect(audio.destination);
  frequencies.forEach((frequency, k) => {
    const tone = audio.createOscillator(), start = audio.currentTime + k * seconds;
    tone.frequency.value = frequency;
    volume.gain.setTargetAtTime(0.25, start, 0.002);
    volume.gain.setTargetAtTime(0.02, start + 0.01, seconds / 4);
    tone.connect(volume);
    tone.start(start);
    tone.stop(start + seconds);
  });
}
playTone.audio = undefined;

// ---- pictures -----------------------------------------------------------------------------------

/** Sprites as pictures in any size and colour; each is drawn once. */
class Sprites {
  /** @param {() => void} onLoad called when a sprite has been loaded */
  constructor(data, onLoad) {
    this.data = data;
    this.onLoad = onLoad;
    this.palette = data.palette;
    this.images = new Map();
  }

  /** Draw a sprite into a square.
   * @param {number} turn 0 as drawn, or a direction @param {boolean} isLit false for a cell out of sight
   * @param {number} joins bits of the edges that are left out, see joinsAt */
  draw(context, name, color, x, y, size, turn = FORWARD, isLit = true, joins = 0) {
    const { otherAgents, sprites } = this.data;
    if (Object.hasOwn(otherAgents, name)) [name, turn] = ["other_agent", otherAgents[name]];
    if (!Object.hasOwn(sprites, name)) name = "unknown";
    this._put(context, name, color, x, y, size, turn, isLit, joins);
    if (color && sprites[name].includes("{{fill}}") && !/{{(emblem|sign)}}/.test(sprites[name]))
      this._put(context, "mark", color, x, y, size, FORWARD, isLit, 0);
  }

  /** Draw a cell with a ground object and an object, each given by type, state and colour. */
  drawCell(context, types, ground, thing, x, y, size, isLit = true, joins = 0) {
    const fills = (name, color) => this.fills(name, color, size);
    const { layers, covered } = cellSprites(types, ground, thing, this.data.sprites, fills);
    layers.forEach(([name, color], k) =>
      this.draw(context, name, color, x, y, size, FORWARD, isLit, k === layers.length - 1 ? joins : 0));
    if (covered) this.drawCovered(context, ...covered, x, y, size, isLit);
  }

  /** Return the edges at which the object in a cell joins its neighbours; 0 for a sprite without edges. */
  joins(types, top, height, width, y, x) {
    const [name] = spriteOf(types, top[y * width + x]);
    return this.data.joining.includes(name) ? joinsAt(top, height, width, y, x) : 0;
  }

  /** Draw the sprite of a covered object small into a corner of a cell, if it is large enough: as
   * gv_engine.play.ui.drawing.sprites.SpriteSheet.draw_covered. */
  drawCovered(context, name, color, x, y, size, isLit = true, share = 2 / 5, [right, down] = [0, 1]) {
    const side = Math.floor(size * share), inner = Math.floor((side * 5) / 6), edge = (side - inner) / 2;
    if (side < this.data.covered.smallest) return;
    const left = x + right * (size - side), top = y + down * (size - side);
    context.fillStyle = this.data.covered.color;
    context.beginPath();
    context.roundRect(left, top, side, side, side / 4);
    context.fill();
    this.draw(context, name, color, left + edge, top + edge, inner, FORWARD, isLit);
  }

  /** True if a sprite fills its cell, so that it is seen around an agent in the cell. */
  fills(name, color, size) {
    const image = this._image(Object.hasOwn(this.data.sprites, name) ? name : "unknown", color, size);
    return image?.getContext("2d").getImageData(0, 0, 1, 1).data[3] === 255;
  }

  _put(context, name, color, x, y, size, turn, isLit, joins) {
    const image = this._image(name, color, size, isLit, joins);
    if (!image) return;
    context.save();
    context.translate(x + size / 2, y + size / 2);
    context.rotate(ANGLES[turn]);
    context.drawImage(image, -size / 2, -size / 2);
    context.restore();
  }

  /** Return the picture of a sprite; null until it has been loaded. */
  _image(name, color, size, isLit = true, joins = 0) {
    const key = `${this.palette} ${color} ${size} ${isLit} ${joins} ${name}`;
    if (!this.images.has(key)) {
      this.images.set(key, null);
      const image = new Image();
      image.onload = () => {
        const canvas = new OffscreenCanvas(size, size); // a browser may draw SVG from new each time
        canvas.getContext("2d")?.drawImage(image, 0, 0, size, size);
        this.images.set(key, canvas);
        this.onLoad();
      };
      image.src = this.address(name, color, size, isLit, joins);
    }
    return this.images.get(key);
  }

  /** Return the address of the picture of a sprite, which is within the page. */
  address(name, color, size, isLit = true, joins = 0) {
    const shades = this.data.palettes[this.palette][color] ?? this.data.palettes[this.palette][0];
    const drawn = joins ? cutEdges(this.data.sprites[name], joins) : this.data.sprites[name];
    const text = drawn.replace(/{{(\w+)}}/g, (all, shade) => shades[shade] ?? all);
    const sized = text.replace(/<svg([^]*?)>([^]*)<\/svg>/, (all, attributes, parts) =>
      `<svg xmlns="http://www.w3.org/2000/svg" width="${size}" height="${size}"${attributes}>` +
      (isLit ? parts : `${this.data.dim}<g filter="url(#dim)">${parts}</g>`) + "</svg>");
    return "data:image/svg+xml;utf8," + encodeURIComponent(sized);
  }
}

/** Draw cells into a canvas, as large as fits.
 * @param {any} picture height, width, top, below, lit, agent (y, x, direction) and its color, watched cells, and
 *   the area to show, if not all
 * @param {number} wide room in CSS pixels @param {number} tall
 * @returns the side of a cell in CSS pixels, and the cell (y, x) in the corner, which may be a fraction */
function drawBoard(canvas, sprites, types, picture, wide, tall, smallest = SMALLEST_CELL) {
  const scale = window.devicePixelRatio || 1, { height, width, top, below, lit, agent, color, moved, ended } = picture;
  const area = picture.area ?? { y: 0, x: 0, height, width };
  const fit = Math.floor(Math.min((wide * scale) / area.width, (tall * scale) / area.height));
  const size = fit >= smallest * scale ? fit : Math.round(READABLE_CELL * scale);
  const columns = Math.min(area.width, Math.floor((wide * scale) / size));
  const rows = Math.min(area.height, Math.floor((tall * scale) / size));
  canvas.width = Math.round(columns * size);
  canvas.height = Math.round(rows * size);
  canvas.style.width = `${canvas.width / scale}px`;
  const start = (at, shown, all) => Math.max(0, Math.min(at - (shown - 1) / 2, all - shown));
  const y0 = area.y + start(agent[0] - area.y, rows, area.height);
  const x0 = area.x + start(agent[1] - area.x, columns, area.width);
  const context = canvas.getContext("2d"), nothing = [FLOOR, 0, 0];
  context.translate(-x0 * size, -y0 * size);
  for (let y = Math.floor(y0); y < y0 + rows; y++)
    for (let x = Math.floor(x0); x < x0 + columns; x++) {
      const cell = y * width + x, thing = moved?.has(cell) ? nothing : top[cell];
      if (picture.isFoggy && thing[0] === HIDDEN) continue; // as the page
      const joins = moved?.has(cell) ? 0 : sprites.joins(types, top, height, width, y, x);
      const isLit = !lit || Boolean(lit[cell]);
      sprites.drawCell(context, types, below?.[cell] ?? nothing, thing, x * size, y * size, size, isLit, joins);
    }
  for (const [, [look, y, x]] of moved ?? [])
    sprites.draw(context, ...spriteOf(types, look), x * size, y * size, size);
  const [y, x, facing] = agent;
  if (y >= 0 && y < height && x >= 0 && x < width) {
    const isInside = picture.won && top[y * width + x]?.[0] > FLOOR, share = isInside ? 1 - (1 - INSIDE) * ended : 1;
    context.save();
    context.translate((x + 0.5) * size, (y + 0.5) * size);
    context.scale(share, share);
    sprites.draw(context, color ? "own_agent" : "agent", color, -size / 2, -size / 2, size, facing);
    context.restore();
    const fills = (name, shade) => sprites.fills(name, shade, size);
    const covered = moved || share < 1 ? null : spriteUnderAgent(types, top[y * width + x], fills);
    const corner = sprites.data.covered.corners[facing];
    if (covered) sprites.drawCovered(context, ...covered, x * size, y * size, size, true, 1 / 3, corner);
  }
  context.globalAlpha = SIGHT;
  context.fillStyle = getComputedStyle(canvas).getPropertyValue("--loss");
  for (const cell of picture.watched ?? [])
    context.fillRect((cell % width) * size, Math.floor(cell / width) * size, size, size);
  context.globalAlpha = 1;
  if (ended) drawSpotlight(context, picture, size);
  drawMarks(context, picture, size);
  return { side: size / scale, y: y0, x: x0 };
}

/** Return the area inside the object that is along all edges of a grid, such as a wall, with a part of it; nothing
 * if there is none: as gv_engine.play.grid.stage.GridStage._find_area. */
function findInside({ top, height, width }) {
  const edge = String(top[0]), ys = [], xs = [];
  for (const [cell, thing] of top.entries())
    if (String(thing) !== edge) {
      ys.push(Math.floor(cell / width));
      xs.push(cell % width);
    }
  const [y, bottom, x, right] = [Math.min(...ys), Math.max(...ys), Math.min(...xs), Math.max(...xs)];
  if (top[0][0] <= FLOOR || !ys.length || y < 1 || x < 1 || bottom > height - 2 || right > width - 2) return undefined;
  return { y: y - RIM, x: x - RIM, height: bottom - y + 1 + 2 * RIM, width: right - x + 1 + 2 * RIM };
}

/** Darken the board, and shed light on an agent that has won, as far as `ended` from 0 to 1: as
 * gv_engine.play.grid.overlay.draw_spotlight. */
function drawSpotlight(context, { height, width, agent: [y, x], ended, won }, size) {
  context.fillStyle = `rgb(0 0 0 / ${NIGHT * ended})`;
  context.fillRect(0, 0, width * size, height * size);
  if (!won || y < 0) return;
  const cy = (y + 0.5) * size, cx = (x + 0.5) * size, radius = (size * (2 + 3 * ended)) / 2;
  const light = context.createRadialGradient(cx, cy, 0, cx, cy, radius);
  light.addColorStop(0, getComputedStyle(context.canvas).getPropertyValue("--accent"));
  light.addColorStop(1, "transparent");
  Object.assign(context, { fillStyle: light, globalAlpha: GLOW * ended, globalCompositeOperation: "lighter" });
  context.fillRect(cx - radius, cy - radius, 2 * radius, 2 * radius);
  Object.assign(context, { globalAlpha: 1, globalCompositeOperation: "source-over" });
}

/** Draw an arrow above the player's agent, and as many dots on each agent of a team as the number of
 * the team: as gv_engine.play.grid.stage.GridStage._draw_agent_marks. */
function drawMarks(context, { marks, moved, agent, width }, cell) {
  const style = getComputedStyle(context.canvas), color = (name) => style.getPropertyValue(`--${name}`);
  const size = Math.max(4, Math.floor(cell / 5)), fill = (name) => { context.fillStyle = color(name); context.fill(); };
  for (const { y, x, isOwn, team } of marks ?? []) {
    const [, cy, cx] = moved?.get(y * width + x) ?? [null, ...(isOwn ? agent : [y, x])];
    const top = cy * cell, right = (cx + 1) * cell, middle = (cx + 0.5) * cell, tip = top + Math.floor(size / 3);
    if (isOwn) {
      context.beginPath();
      context.moveTo(middle - size, tip - size);
      context.lineTo(middle + size, tip - size);
      context.lineTo(middle, tip + Math.floor(size / 2));
      context.closePath();
      fill("accent");
      Object.assign(context, { strokeStyle: color("on_select"), lineWidth: Math.max(1, Math.floor(size / 5)) });
      context.stroke();
    }
    for (let k = 0; k < team; k++)
      for (const [name, radius] of [["on_select", size / 2], ["select", Math.max(1, Math.floor(size / 3))]]) {
        context.beginPath();
        context.arc(right - size / 2, top + size / 2 + k * size, radius, 0, 2 * Math.PI);
        fill(name);
      }
  }
}

// ---- player -------------------------------------------------------------------------------------

/** The page: one game of one level at a time. */
class Player {
  /** @type {World | any} */ world;
  /** @type {Game | any} */ game;
  /** @type {any} */ level;
  /** @type {Wall | any} */ wall = null;
  /** @type {any} */ motion = null; // between two pictures
  /** @type {any} */ shown; // pictures of both boards
  /** @type {any} */ observed;
  keys = new Map(); // command by key
  number = 0; // of the level
  agent = 0; // whose view is shown
  view = "state";
  change = () => {}; // apply and store the settings
  facings = [FORWARD, FORWARD]; // in which each player's agent is drawn while arrows steer it
  followed = ""; // state of which the first of them is
  images = new Map(); // starts of memory by level
  /** @type {any} */ places = {}; // of the boards, as `drawBoard` returns them
  asked = 0; // games that were asked for, of which the last counts
  heldButtons = new Map();
  isPolling = false;
  willDraw = false;
  isRunning = false; // whether the policy acts
  due = 0; // steps of the policy
  captionTimer = 0;
  hasTime = false; // whether time runs without actions
  /** @type {any} */ clock; // timer of the next beat
  /** @type {(() => void)[]} */ mapPictures = []; // functions that draw them

  /** @param {Rules} rules @param {Policy | null} policy */
  constructor(data, rules, policy) {
    this.data = data;
    this.rules = rules;
    this.policy = policy;
    this.sprites = new Sprites(data, () => this.draw());
    this.prepare();
  }

  /** Fill the page, and listen. */
  prepare() {
    const { data } = this, saved = keep("settings") ?? {};
    document.body.classList.toggle("embedded", data.embedded);
    get("level").append(...data.levels.map((_, k) => new Option("", String(k))));
    for (const element of get("levels").querySelectorAll("button:not(#open-more), select")) element.hidden = data.levels.length < 2;
    Object.assign(get("index"), { hidden: !data.indexPage, href: data.indexPage || "#" });
    const inTitle = (names) => Object.fromEntries(names.map((name) => [name, inWords(name)]));
    const choices = { palette: inTitle(Object.keys(data.palettes)), theme: inTitle(data.themes), arrows: data.arrowKeys };
    for (const [id, names] of Object.entries(choices)) {
      get(id).append(...Object.entries(names).map(([name, text]) => new Option(text, name)));
      get(id).value = saved[id] in names ? saved[id] : data[id] ?? Object.keys(names)[0];
    }
    const switches = ["sound", "captions", "research"];
    for (const id of switches) get(id).checked = saved[id] ?? false;
    const apply = () => {
      this.sprites.palette = get("palette").value;
      document.documentElement.dataset.theme = get("theme").value;
      document.body.classList.toggle("research", this.isResearch);
      this.draw();
    };
    const change = () => {
      const isOther = this.isResearch !== document.body.classList.contains("research");
      const chosen = Object.keys(choices).map((id) => [id, get(id).value]);
      const switched = switches.map((id) => [id, get(id).checked]);
      keep("settings", { ...keep("settings"), ...Object.fromEntries([...chosen, ...switched]) });
      apply();
      if (isOther) this.chooseView();
      if (this.game) this.bindKeys(), this.show();
    };
    this.change = change;
    const changes = {
      ...Object.fromEntries([...Object.keys(choices), ...switches].map((id) => [id, change])),
      level: (value) => this.open(Number(value)), seed: (value) => this.begin(value),
      who: (value) => this.showAgent(Number(value)),
    };
    document.onchange = (/** @type {any} */ { target }) => {
      changes[target.id]?.(target.value);
      target.blur(); // so that keys are the level's again
    };
    document.onclick = (/** @type {any} */ { target, detail }) => {
      const button = target.closest("[data-command]");
      if (button) this.command(button.dataset.command);
      if (detail) button?.blur(); // clicked, not chosen by keys
    };
    document.onkeydown = (event) => this.onKey(event);
    document.onpaste = (event) => {
      const text = event.clipboardData?.getData("text").trim() ?? "";
      if (text.startsWith(LINE_BEGINS)) event.preventDefault(), this.openLine(text);
    };
    window.onhashchange = () => this.openAddress();
    window.addEventListener("gamepadconnected", () => this.isPolling || this.pollGamepad());
    get("rewind").oninput = () => this.seek(Number(get("rewind").value));
    get("line").oninput = () => this.openLine(get("line").value);
    for (const id of ["state", "observation"])
      get(id).onmousemove = ({ offsetX, offsetY }) => { get(id).title = this.describeAt(id, offsetX, offsetY); };
    get("wall").onclick = (event) => this.openWorld(this.wall.at(event.clientX, event.clientY));
    get("agent").hidden = !this.policy;
    get("watch").textContent = `Watch ${this.policy?.data.name}`;
    const room = new ResizeObserver(() => this.draw());
    for (const id of ["boards", "wall-figure"]) room.observe(get(id));
    this.listenToTouch(get("boards"));
    apply();
  }

  // ---- levels and games ----

  /** Begin a game of a level with a seed. */
  open(number, seed = this.data.seed) {
    if (!isSeed(seed)) return this.say(`A seed is a whole number from 0 on, found ${seed}`, "loss");
    return this.start(number, (world) => new Game(world, BigInt(seed), this.data.engine));
  }

  /** Begin the game that the address names, and say so if there is none; return whether it has begun. */
  async openAddress() {
    const asked = new URLSearchParams(location.hash.slice(1)), { levels, seed } = this.data, faults = [];
    const known = levels.map((level) => String(level.number)), name = asked.get("level") ?? known[0];
    const own = asked.get("seed") ?? seed;
    if (!known.includes(name)) faults.push(`The address asks for level ${name}, and this page has ${known.join(", ")}.`);
    if (!isSeed(own)) faults.push(`The address asks for seed ${own}: a seed is a whole number from 0 on.`);
    const isOpen = await this.open(Math.max(known.indexOf(name), 0), isSeed(own) ? own : seed);
    if (isOpen && faults.length) this.say(faults.join(" "), "loss");
    return isOpen;
  }

  /** Begin a game of this level with a seed. */
  begin(seed) {
    return this.open(this.number, seed);
  }

  /** Show the game that `create` returns for a new world of a level. If that fails, say why, and go on
   * with the game before. Return whether the game is shown. */
  async start(number, create) {
    const asked = ++this.asked, level = this.data.levels[number];
    if (!this.images.has(number)) this.images.set(number, await unpack(level.image));
    if (asked !== this.asked) return false; // another game was asked for meanwhile
    const game = this.attempt(() => create(this.makeWorld(number)));
    if (!game) return false;
    const isSame = level === this.level;
    this.markTry();
    this.watch(false);
    document.body.classList.remove("walled");
    Object.assign(this, { number, level, game, world: game.world, motion: null, followed: "" });
    this.agent = isSame ? Math.min(this.agent, this.world.present - 1) : 0;
    if (!isSame) {
      this.chooseView();
      get("title").textContent = level.title;
      get("place").textContent = level.place && `· ${level.place}`;
      get("description").textContent = level.description;
      get("who").replaceChildren(...level.agents.map((name, k) => new Option(name, String(k))));
      get("who").hidden = level.agents.length < 2;
      get("partnered").hidden = !level.hasPartner;
      get("partner").checked = true;
      this.showLevels();
    }
    if (!isSame) this.runTime(level.beat > 0);
    this.bindKeys();
    get("seed").value = String(game.seed);
    this.say("");
    this.show();
    return true;
  }

  /** Return a new world of a level whose memory is unpacked. */
  makeWorld(number) {
    return new World(this.data.levels[number], this.rules, this.images.get(number));
  }

  /** Return what `act` returns; if it fails, stop the policy, say why, and return null. */
  attempt(act) {
    try {
      return act();
    } catch (error) {
      this.watch(false);
      this.say(String(error.message), "loss");
      return null;
    }
  }

  /** Bind the keys of the level and the view, and show them. */
  bindKeys() {
    const { level, data, steers } = this, steerings = steers ? level.steerings : [];
    const steering = steerings.flatMap((each) => each.commands), replaced = steerings.flatMap((each) => each.replaces);
    const own = level.commands.filter(({ name }) => !replaced.includes(name));
    const has = (name) => level.actions.includes(name);
    const taken = new Set(own.flatMap((command) => command.keys));
    const usual = data.commands.filter(({ name }) =>
      !replaced.includes(name) && (!/^[A-Z_]+$/.test(name) || has(name) || has(SIDE_STEPS[name])));
    const { commands: acting, wallCommands } = data.policy ?? { commands: [] };
    const commands = this.isWalled ? wallCommands : [...own, ...steering, ...usual, ...acting];
    this.keys.clear();
    for (const command of commands)
      for (const key of command.keys)
        if (this.isWalled || own.includes(command) || !taken.has(key)) this.keys.set(key, command);
    this.showActions(commands);
  }

  /** Take a step with the actions of all agents. */
  step(actions) {
    const { game, world } = this, before = this.shown, numbers = world.shownNumbers(this.agent);
    if (world.isOver || this.attempt(() => game.step(actions)) === null) return;
    this.scheduleBeat();
    this.say("");
    this.show();
    if (!world.isOver) this.say(this.explain(before, numbers) || this.describeTicks(numbers));
    this.animate(before, this.shown);
    this.sound(before);
    if (world.isOver) this.finish();
  }

  /** Let time run, or let it wait for actions: as `gv_engine.play.session.controller`. */
  runTime(isRunning) {
    this.hasTime = isRunning;
    Object.assign(get("clock"), { hidden: !this.level.beat, textContent: isRunning ? "Stop time" : "Start time" });
    this.scheduleBeat();
  }

  /** Take the next step without an action one beat from now, while time runs. */
  scheduleBeat() {
    clearTimeout(this.clock);
    if (this.hasTime) this.clock = setTimeout(() => this.beat(), 1000 / (this.level.beat || TIME_SPEED));
  }

  /** Take a step without an action, unless the page is not in front or shows a policy or the map. */
  beat() {
    this.scheduleBeat();
    if (document.hasFocus() && !this.isRunning && !this.isWalled && !get("map").open) this.step(this.waiting());
  }

  /** Return the labels of the numbers that are less than the cost of a command. */
  findMissing({ cost }, numbers) {
    const all = [...this.level.state, ...this.level.display], place = (name) => all.findIndex((each) => each.name === name);
    return cost.filter(([name, amount]) => numbers[place(name)] < amount).map(([name]) => all[place(name)].label).join(", ");
  }

  /** Return why the last step, with an action of the level's own, had no effect; "" if it had one: as
   * `gv_engine.play.grid.motion.is_failure`. */
  explain(before, numbers) {
    const { level, world, agent, shown: after } = this, action = level.actions[world.lastAction(agent)];
    const command = level.commands.find(({ name, cost, needs }) => name === action && (cost.length || needs));
    const all = [...level.state, ...level.display], now = world.shownNumbers(agent);
    const [y, x] = after.agent, isNear = (k) => Math.abs(Math.floor(k / after.width) - y) < 2 && Math.abs((k % after.width) - x) < 2;
    const hasChanged = [...after.top.keys()].some((k) => isNear(k) && String(before.top[k]) !== String(after.top[k]));
    const hasGained = now.some((value, k) => (all[k].bar ? value > numbers[k] : !all[k].isHidden && value !== numbers[k]));
    const isSame = String([before.agent, before.item]) === String([after.agent, after.item]);
    if (!command || !isSame || hasChanged || hasGained) return "";
    const missing = this.findMissing(command, numbers);
    return `${capitalize(command.description)}: ${missing ? `too little ${missing}` : `it needs ${command.needs}`}`;
  }

  /** Return the items of checklists that the last step has ticked, as a text. */
  describeTicks(numbers) {
    const { level, world, agent } = this, now = world.shownNumbers(agent);
    const ticked = [...level.state, ...level.display].filter(({ checklist }, k) => checklist && now[k] && !numbers[k]);
    return ticked.length ? `${ticked[0].checklist}: ${ticked.map(({ label }) => label).join(", ")}` : "";
  }

  /** Return the actions of a step in which the player waits: null, or for partners the number of
   * actions plus 1. */
  waiting() {
    const { level, world, agent } = this, partner = level?.hasPartner && get("partner").checked ? level.actions.length + 1 : null;
    return Array.from({ length: world?.agents ?? 0 }, (_, k) => (k === agent ? null : partner));
  }

  /** Take an action of one agent; a partner works along, or others do nothing. A second player takes
   * the partner over. */
  act(name, agent = this.agent) {
    this.watch(false);
    if (agent !== this.agent) get("partner").checked = false;
    const actions = this.waiting(), aside = SIDE_STEPS[name];
    actions[agent] = this.level.actions.indexOf(this.level.actions.includes(name) ? name : aside);
    if (actions[agent] >= 0) this.step(actions);
  }

  /** Run a steering command of the first agent, or of a second player's: as
   * `gv_engine.play.grid.input_map.Steering.steer`. */
  steer(name, isSecond = false) {
    const { level, world } = this, agent = isSecond ? 1 : this.agent, can = (action) => level.actions.includes(action);
    const hasEffect = (action) => world.outputOf("mask", agent)[level.actions.indexOf(action)] === 1;
    if (name in SPOT_TURNS) return this.act(SPOT_TURNS[name], agent);
    const way = STEERING[name], facing = level.relativeMoves ? world.pose(agent)[2] : FORWARD;
    // the next cell may be unknown
    const isSafeAhead = ([y, x]) => this.view !== "explored" || this.isSafe(...this.ahead([y, x, way]), world.cells(agent), true);
    const plain = MOVES[findRelative(facing, way)], turns = (TURNS[findRelative(facing, way)] ?? []).filter(can);
    const canTurn = can("TURN_LEFT") || can("TURN_RIGHT");
    if (!turns.length && !hasEffect(plain) && canTurn && this.facings[Number(isSecond)] !== way) {
      this.facings[Number(isSecond)] = way;
      return this.show();
    }
    // the second agent is drawn as it looks
    if (!turns.length || (!isSecond && hasEffect(plain) && isSafeAhead(world.pose(agent)))) return can(plain) && this.act(plain, agent);
    for (const turn of turns) this.act(turn, agent);
    const goes = world.pose(agent)[2] === way && hasEffect("MOVE_FORWARD");
    if (goes && isSafeAhead(world.pose(agent))) this.act("MOVE_FORWARD", agent);
  }

  /** Take an action, or the step to the same side in place of a turn that the level lacks. Where
   * arrows steer, an action on what is ahead turns the agent first as it is drawn. */
  use(name) {
    const { level, world, agent } = this, canTurn = ["TURN_LEFT", "TURN_RIGHT"].every((turn) => level.actions.includes(turn));
    if (this.steers && level.actions.includes(name) && !PLAIN.includes(name) && canTurn)
      for (const turn of TURNS[findRelative(world.pose(agent)[2], this.facings[0])] ?? []) this.act(turn);
    this.act(name);
  }

  /** Find the direction in which the agent is drawn in this state: as
   * `gv_engine.play.grid.input_map.Steering.follow`. */
  follow() {
    const { game, world, level, agent, followed } = this, facing = world.pose(agent)[2];
    const said = game.position ? game.steps[game.position - 1][0] : "", state = `${game.position} ${said} ${world.pose(agent)}`;
    if (state === followed) return;
    this.followed = state;
    const action = said && said !== "WAIT" ? level.actions[game.parse(said)[agent]] ?? "" : said;
    const canTurn = level.actions.includes("TURN_LEFT") || level.actions.includes("TURN_RIGHT");
    if (level.steerings[0].isDrawnAsMoved && MOVES.includes(action))
      this.facings[0] = rotate(level.relativeMoves ? facing : FORWARD, MOVES.indexOf(action));
    else if (canTurn || !action || facing !== Number(followed.split(",").at(-1))) this.facings[0] = facing;
  }

  /** Return the agent's (y, x, direction), as it is drawn. */
  get drawnPose() {
    const [y, x, facing] = this.world.pose(this.agent);
    return [y, x, this.steers ? this.facings[0] : facing];
  }

  /** Return the cell ahead of a pose. @returns {[number, number]} */
  ahead([y, x, facing]) {
    return [y + stepY(facing), x + stepX(facing)];
  }

  /** Return whether a shown cell has only floor, or an object that can block but does not now. */
  isSafe(y, x, { width, top, below } = this.shown, steers = false) {
    const cell = y * width + x, [kind, state] = top[cell];
    const { blocks, name } = this.level.types[kind];
    if (steers && ["Exit", "Key", "Telepod"].includes(name)) return true;
    return !(below?.[cell][0] > FLOOR) && (kind === FLOOR || (blocks.includes(true) && !blocks[state]));
  }

  // ---- a policy ----

  get isWalled() {
    return document.body.classList.contains("walled");
  }

  /** Return the decision of the policy in this state; null without one, or if it fails. */
  decide() {
    return this.policy && !this.world?.isOver ? this.attempt(() => this.game.decide(this.policy)) : null;
  }

  /** Let the policy act, or stop it. */
  watch(isRunning) {
    if (isRunning && !this.isRunning) requestAnimationFrame((now) => this.run(now, now));
    this.isRunning = isRunning;
    get("watch").setAttribute("aria-pressed", String(isRunning));
  }

  /** Take the steps that are due since the last picture of the screen. */
  run(before, now) {
    if (!this.isRunning) return;
    const count = (Math.min(now - before, 100) / 1000) * Number(get("speed").value);
    if (this.isWalled) this.showWall(() => this.wall.advance(count));
    else for (this.due += count; this.due >= 1 && this.isRunning; this.due--) this.stepPolicy();
    requestAnimationFrame((next) => this.run(now, next));
  }

  /** Take one step of the policy, or of all worlds of the wall. */
  stepPolicy() {
    if (this.isWalled) return this.showWall(() => this.wall.stepAll());
    const decision = this.decide();
    if (decision) this.step(decision.actions);
    if (!decision || this.world?.isOver) this.watch(false);
  }

  /** Make the policy slower or faster, by a number of choices. */
  changeSpeed(by) {
    const speed = get("speed");
    speed.selectedIndex = Math.max(0, Math.min(speed.selectedIndex + by, speed.length - 1));
  }

  /** Call `change`, which changes the wall, and show how many of its worlds were won and lost. */
  showWall(change) {
    this.attempt(change);
    get("fared").textContent = this.wall.describe();
    get("wall").setAttribute("aria-label", this.wall.describe());
  }

  /** Show many worlds, or the game again. */
  toggleWall() {
    if (!this.policy) return;
    const isWalled = document.body.classList.toggle("walled");
    this.watch(false);
    this.say("");
    if (isWalled && this.wall?.world.level !== this.level)
      this.wall = new Wall(this.makeWorld(this.number), this.policy, this.game.seed, get("wall"), this.sprites);
    this.bindKeys();
    this.draw();
    if (isWalled) this.watch(true);
  }

  /** Open a world of the wall as a game, to watch it or to take over. */
  async openWorld(k) {
    const { seed, actions } = this.wall.boards[k];
    const create = (world) => {
      const game = new Game(world, seed, this.data.engine);
      for (const joint of actions) game.step(joint);
      return game;
    };
    if (!(await this.start(this.number, create))) return;
    this.say(`World ${k + 1} of the wall`);
    this.finish();
  }

  showAgent(agent) {
    this.agent = agent;
    this.show();
  }

  /** Agent's outcome: true for a win, false for a loss, null if there is nothing to win, or before the end. */
  get hasWon() {
    const { world, level, agent } = this;
    if (!world?.isOver) return null;
    return world.column("success")[agent + 1] === 1 || (level.isInPack || level.tellsSuccess ? false : null);
  }

  /** Sentence on how the game ended; "" before the end. */
  get ending() {
    const { world, level, hasWon } = this;
    if (!world.isOver) return "";
    const outcomes = level.endings[world.value("member")][world.column("ended_by")[this.agent + 1]];
    return outcomes[hasWon ? 1 : 0][world.outcome === "truncated" ? 1 : 0] ?? "";
  }

  /** If the game is over, say how it ended, and keep it if it was won. */
  finish() {
    const { world, level, game, hasWon } = this;
    if (!world?.isOver) return;
    this.say(this.ending, hasWon === false ? "loss" : "gain");
    this.markTry();
    if (hasWon) {
      const [won, first, tried] = ["won", "first", "tried"].map((mark) => `${mark} ${level.identity.digest}`);
      if (!keep(won) && !keep(tried)) keep(first, 1);
      keep(won, Math.min(keep(won) ?? Infinity, game.position));
      this.showLevels();
    }
    this.showEnd();
  }

  /** Mark the level as tried if this game has been lost, or is left or taken back before it is won:
   * as `gv_engine.play.ui.settings.Progress.add_failed_try`. */
  markTry(atStart = false) {
    const { level, game, hasWon } = this, digest = level?.identity.digest;
    if ((game?.steps.length || atStart) && !hasWon && !keep(`won ${digest}`)) keep(`tried ${digest}`, 1);
  }

  /** Return the medals that were won in a level. */
  medals({ identity: { digest }, par }) {
    const best = keep(`won ${digest}`);
    const isWon = { solved: best, par: best && best <= par, first: best && keep(`first ${digest}`) };
    return Object.keys(this.data.medals).filter((medal) => isWon[medal]);
  }

  /** Return par and the player's best of a level, such as `par 4 · your best 6`. */
  describeGoal({ identity: { digest }, par }) {
    const best = keep(`won ${digest}`);
    return [par ? `par ${par}` : "", best ? `your best ${best}` : ""].filter(Boolean).join(" · ");
  }

  /** Level that follows this one: after the last, the first that is not won; itself if it is alone. */
  get nextNumber() {
    const { number, data: { levels } } = this, open = levels.findIndex((level) => !keep(`won ${level.identity.digest}`));
    return number + 1 < levels.length ? number + 1 : Math.max(open, 0);
  }

  /** Show the result on the board, with medals, and what to do next; nothing before the end. */
  showEnd() {
    const { world, level, game, data, hasWon, shown } = this, isLast = this.number === data.levels.length - 1;
    get("end").hidden = !world.isOver || this.isResearch;
    if (get("end").hidden) return;
    const { ending } = this, won = hasWon ? this.medals(level) : [];
    const count = data.levels.filter(({ identity: { digest } }) => keep(`won ${digest}`)).length;
    const isEnd = hasWon && isLast && data.levels.length > 1;
    const texts = [
      hasWon && !level.isInPack ? ending : "", inSteps(game.position), level.isInPack ? this.describeGoal(level) : "",
      level.isInPack || (level.tellsSuccess && game.total <= 0) ? "" : `score ${format(game.total)}`,
      isEnd ? `${count} of ${data.levels.length} levels solved` : "",
    ];
    get("result").textContent = hasWon ? (isEnd && count === data.levels.length ? "All solved!" : "Solved!") : ending || "The end";
    get("end").className = hasWon === false ? "lost" : "won";
    get("end").classList.toggle("above", shown.agent[0] > (shown.height - 1) / 2);
    get("score").textContent = texts.filter(Boolean).join(" · ");
    get("medals").hidden = !hasWon || !level.isInPack;
    get("medals").replaceChildren(...Object.entries(data.medals).map(([medal, text]) =>
      make("li", { className: won.includes(medal) ? medal : "missing" }, make("i", {}, MEDAL_SIGNS[medal]), text,
        make("span", { className: "spoken" }, won.includes(medal) ? "" : ": not yet"))));
    const next = isEnd ? `Level ${data.levels[this.nextNumber].number}` : "Next level";
    const choices = hasWon === false ? [["Try again", "go_on"], ["Undo", "undo"], ["Next level", "next_level"]]
      : [[next, "go_on"], ["Restart", "again"], ["Undo", "undo"]];
    const keys = new Map([...this.keys].reverse().map(([key, { name }]) => [name, key.replace("Return", "Enter")]));
    get("choices").replaceChildren(...choices.map(([text, command]) => {
      const button = make("button", {}, text, make("kbd", {}, keys.get(command) ?? ""));
      button.dataset.command = command;
      return button;
    }));
  }

  seek(position) {
    if (position < this.game?.position) this.markTry();
    this.watch(false);
    this.game?.seek(position);
    this.motion = null;
    this.say("");
    this.show();
    this.finish();
  }

  /** Run a command by its name. */
  command(name) {
    const { game, data, number, world } = this, choose = (by) => this.wall.choose(this.wall.chosen + by);
    const go = (by) => {
      const seed = game.seed + BigInt(by);
      if (data.levels.length < 2) this.begin(seed < 0n ? 0n : seed);
      else if (data.levels[number + by]) this.open(number + by);
    };
    const cut = name.lastIndexOf(" "), agent = name.slice(0, Math.max(cut, 0)), action = name.slice(cut + 1), pace = {
      agent: () => this.watch(!this.isRunning), agent_step: () => { this.watch(false); this.stepPolicy(); },
      agent_faster: () => this.changeSpeed(1), agent_slower: () => this.changeSpeed(-1),
    };
    const commands = {
      undo: () => this.seek(game.position - 1), redo: () => this.seek(game.position + 1),
      first: () => this.seek(0), last: () => this.seek(game.steps.length),
      again: () => this.begin(game.seed), next_level: () => go(1), previous_level: () => go(-1),
      go_on: () => world?.isOver && this.goOn(), enter_seed: () => get("seed").select(),
      research: () => { get("research").checked = !this.isResearch; this.change(); },
      help: () => { get("keys").open = !get("keys").open; get("keys").scrollIntoView({ block: "nearest" }); },
      real_time: () => this.runTime(!this.hasTime),
      copy: () => this.copy(), paste: () => this.showLine("", "Paste a game here: gv:…"),
      view: () => this.nextView(), next_agent: () => this.showAgent((this.agent + 1) % (world?.present ?? 1)),
      map: () => this.showMap(), wall: () => this.toggleWall(), leave: () => this.toggleWall(), ...pace,
      batch_pause: pace.agent, batch_step: pace.agent_step,
      batch_faster: pace.agent_faster, batch_slower: pace.agent_slower,
      batch_left: () => choose(-1), batch_right: () => choose(1), batch_up: () => choose(-this.wall.across),
      batch_down: () => choose(this.wall.across), batch_open: () => this.openWorld(this.wall.chosen),
    };
    if (commands[name]) commands[name]();
    else if (action in STEERING || action in SPOT_TURNS) this.steer(action, Boolean(agent));
    else if (agent) this.act(action, this.level.agents.indexOf(agent));
    else this.use(name);
  }

  /** Go on after the end: with the same level if it was lost, else with the next level or seed. */
  goOn() {
    const { game, data } = this;
    if (this.hasWon === false) this.begin(game.seed);
    else if (data.levels.length > 1) this.open(this.nextNumber);
    else this.begin(game.seed + 1n);
  }

  /** True if arrows move the agent in their direction on the screen: where it is seen from above, by
   * default not in levels that were made for agents that turn. */
  get steers() {
    const { value } = get("arrows");
    return this.view !== "observation" && (value === "usual" ? !this.level.isForAgents : value === "point");
  }

  /** True if the page shows rewards, the observation and captions to somebody who studies agents. */
  get isResearch() {
    return get("research").checked;
  }

  get views() {
    const { views } = this.data, { view, playerViews } = this.level;
    return this.isResearch ? views.filter((name) => name !== "explored" || view === name) : playerViews;
  }

  /** Show the level's own view, or else the first. */
  chooseView() {
    const { views } = this, wanted = this.level.view || keep("settings")?.view;
    this.view = this.isResearch && views.includes(wanted) ? wanted : views[0];
  }

  nextView() {
    const { views } = this;
    this.view = views[(views.indexOf(this.view) + 1) % views.length];
    if (this.isResearch && !this.level.view) keep("settings", { ...keep("settings"), view: this.view });
    const whole = ["state", "both"];
    if (this.level.view && !whole.includes(this.level.view) && whole.includes(this.view)) this.markTry(true);
    this.bindKeys();
    this.show();
  }

  // ---- games as text ----

  async copy() {
    const line = await this.game.toLine();
    try {
      await navigator.clipboard.writeText(line);
      this.say("Copied the game as a line of text");
    } catch {
      this.showLine(line, "");
      this.say("Copy this line");
    }
  }

  /** Show the field of a game as text. */
  showLine(value, placeholder) {
    const line = get("line");
    Object.assign(line, { hidden: false, value, placeholder });
    line.select();
  }

  /** Open a game as text. */
  async openLine(line) {
    try {
      const replay = await readLine(line);
      const number = this.data.levels.findIndex((level) => level.identity.digest === replay.digest);
      if (number < 0)
        throw new ReplayError(`This game belongs to ${replay.scenario.name}, or a version of it, that is not on this page.`);
      if (!(await this.start(number, (world) => playReplay(world, replay, this.data.engine)))) return;
      get("line").hidden = true;
      this.say(`A game of ${replay.steps.length} steps`);
      this.finish();
    } catch (error) {
      if (!(error instanceof ReplayError)) throw error;
      this.say(error.message, "loss");
    }
  }

  // ---- texts ----

  say(text, mood = "") {
    get("message").textContent = text;
    get("message").className = mood;
  }

  /** Show the names of the levels, with a mark on those that were won. */
  showLevels() {
    this.data.levels.forEach((level, k) => {
      get("level").options[k].text = `${level.number}. ${level.title} ${this.signs(level)}`.trim();
    });
    get("level").value = String(this.number);
  }

  /** Return the signs of the medals that were won in a level, such as `✓ ★`. */
  signs(level) {
    return this.medals(level).map((medal) => MEDAL_SIGNS[medal].replace("1", "①")).join(" ");
  }

  /** Make the buttons of the actions, and the table of keys of these commands. */
  showActions(commands) {
    const { level, data, policy } = this;
    const known = new Map([...data.commands, ...level.commands, ...level.steerings[0].commands].map((each) => [each.name, each]));
    const isSteered = this.steers && !policy && !this.isResearch, { replaces } = level.steerings[0];
    const others = level.actions.filter((name) => !replaces.includes(name));
    const spotTurns = Object.keys(SPOT_TURNS).filter((name) => level.actions.includes(SPOT_TURNS[name]));
    const names = isSteered ? [...STEERING_ORDER, ...spotTurns, ...others] : level.actions;
    get("actions").classList.toggle("many", names.length > 12);
    const buttons = names.map((name) => {
      const title = inWords(known.get(name)?.description ?? name);
      const { icon, cost = [] } = known.get(name) ?? {};
      const image = (sprite, alt) => make("img", { alt, src: this.sprites.address(sprite in data.sprites ? sprite : "unknown", 0, 48) });
      const prices = cost.flatMap(([number, amount]) => [amount > 1 ? ` ${amount}` : " ", image(level.icons[number], "")]);
      const parts = icon ? [image(icon, title), make("small", {}, ...prices)] : [ARROWS[name] ?? SHORT_WORDS[title] ?? title.split(":")[0]];
      const button = make("button", { title }, ...parts);
      button.dataset.command = name;
      return button;
    });
    const isArrow = ({ dataset: { command } }) => command in ARROWS;
    const pad = make("div", { className: "pad", hidden: !buttons.some(isArrow) }, ...buttons.filter(isArrow));
    get("actions").replaceChildren(pad, make("div", {}, ...buttons.filter((button) => !isArrow(button))));
    const rows = commands.map(({ keys, description }) =>
      make("tr", {}, make("td", {}, keys.join(", ")), make("td", {}, description)));
    get("keys").querySelector("tbody").replaceChildren(...rows);
  }

  /** Return the text of the agent's mission. */
  mission() {
    const { missions } = this.level;
    if (!missions) return "";
    const [wording, ...values] = this.world.outputOf("mission", this.agent), words = {};
    missions.fields.forEach((field, k) => {
      const [low, known] = missions.words[field] ?? [0, []];
      words[field] = known[values[k] - low] ?? String(values[k]);
    });
    for (const [name, phrases] of Object.entries(missions.phrases))
      words[name] = phrases.filter((phrase) => !phrase.when || phrase.when[1].includes(values[phrase.when[0]]))
        .map((phrase) => phrase.words[values[phrase.field]] ?? "").join(" ");
    const text = (missions.texts[wording - 1] ?? "").replace(/{(\w+)}/g, (all, name) => words[name] ?? all);
    return text.split(/\s+/).filter(Boolean).join(" ");
  }

  /** Return what a level of a pack says to players: each command in braces becomes its key, on a touch
   * screen the label of its button. Where arrows steer, one sentence replaces those about the keys of
   * moves; no sentence is about clicks, as they do not walk here. */
  instructions() {
    const { level, data } = this, isTouch = matchMedia("(pointer: coarse)").matches;
    const steering = this.steers ? level.steerings[0].commands : [];
    const known = new Map([...data.commands, ...level.commands, ...steering].map((each) => [each.name, each.keys[0]]));
    const hasOne = (text, names) => names.some((name) => text.includes(`{${name}}`));
    const unknown = ["click", ...Object.keys(SPOT_TURNS).filter((name) => !known.has(name))];
    let sentences = level.says.split(/(?<=[.!?])\s+/).filter((text) => !hasOne(text, unknown));
    if (this.steers) {
      const kept = sentences.filter((text) => !hasOne(text, Object.keys(ARROWS).filter((name) => level.steerings[0].replaces.includes(name))));
      const keys = steering.slice(0, 4).map((command) => command.keys[0]);
      const all = keys.every((key) => Object.values(CODES).includes(key)) ? "Arrow keys" : keys.join(", ");
      const said = `${isTouch ? "Swipes and the buttons with arrows" : all} go where they point.`;
      sentences = [...(kept.length < sentences.length ? [said] : []), ...kept];
    }
    return sentences.join(" ").replace(/{(\w+)}/g, (all, name) => {
      const label = isTouch && document.querySelector(`button[data-command="${name}"]`)?.textContent;
      return label ? ARROWS[name] ?? `“${label}”` : known.get(name) ?? all;
    });
  }

  /** Show the state: boards, texts and numbers. */
  show() {
    const { world, level, game, agent, isResearch } = this, { stepLimit } = world;
    const terms = game.terms[game.position].slice(agent * level.rewards.length);
    const said = level.rewards.flatMap((name, k) => (terms[k] ? [`${inWords(name)} ${format(terms[k])}`] : []));
    const item = world.outputOf("item", agent), numbers = world.shownNumbers(agent), all = [...level.state, ...level.display];
    const isScored = !level.isInPack && (!level.tellsSuccess || game.total > 0);
    const isLimited = stepLimit && (isResearch || 2 * game.position >= stepLimit);
    this.follow();
    this.shown = this.picture();
    this.observed = this.observationPicture();
    const texts = {
      mission: [this.mission(), this.instructions()].filter(Boolean).join(" ") || level.goal,
      steps: game.position + (isLimited ? ` of ${stepLimit}` : ""), unit: game.position === 1 && !isLimited ? "step" : "steps",
      goal: level.isInPack ? this.describeGoal(level) : "", sum: isResearch ? "Return" : "Score",
      total: format(game.total), terms: said.join(", "), "item-name": item[0] > HIDDEN ? world.words(item) : "",
    };
    for (const [id, text] of Object.entries(texts)) get(id).textContent = text;
    Object.assign(get("rewind"), { max: game.steps.length, value: game.position });
    const useless = { undo: !game.position, redo: game.position === game.steps.length, again: !game.steps.length };
    for (const button of get("time").querySelectorAll("button")) button.disabled = useless[button.dataset.command] ?? false;
    get("held").hidden = item[0] <= HIDDEN;
    get("returned").hidden = !isResearch && !isScored;
    get("numbers").replaceChildren(...all.flatMap(({ label, bar, isHidden, isItem, checklist, texts }, k) => {
      const text = texts[numbers[k] - 1];
      if (texts.length) return text ? [make("b", {}, text)] : [];
      if (checklist || (!isResearch && (isHidden || (isItem && !numbers[k])))) return [];
      const parts = bar ? [make("progress", { max: bar[1] - bar[0], value: numbers[k] - bar[0] }), " "] : [];
      return [make("label", {}, `${label} `, ...parts, make("b", {}, format(numbers[k])))];
    }));
    this.showChecklists(all, numbers);
    for (const option of get("who").options) option.hidden = Number(option.value) >= world.present;
    get("who").value = String(agent);
    get("state").setAttribute("aria-label", this.describe());
    const decision = this.decide(), mask = world.outputOf("mask", agent);
    for (const /** @type {any} */ button of get("actions").querySelectorAll("button")) {
      const k = level.actions.indexOf(button.dataset.command), share = decision?.probabilities[agent][k];
      const own = level.commands.find(({ name }) => name === button.dataset.command);
      button.classList.toggle("muted", (k >= 0 && mask[k] !== 1) || Boolean(own && this.findMissing(own, numbers)));
      button.classList.toggle("chosen", k >= 0 && decision?.actions[agent] === k);
      button.style.setProperty("--share", String(share ?? 0));
      button.dataset.share = share === undefined ? "" : `${Math.round(100 * share)} %`;
      button.setAttribute("aria-label", [button.title, button.dataset.share].filter(Boolean).join(", "));
    }
    this.showEnd();
    this.draw();
  }

  /** Show all items of each checklist, those that are done with a tick. */
  showChecklists(all, numbers) {
    const titles = [...new Set(all.map(({ checklist }) => checklist).filter(Boolean))];
    get("checklists").hidden = !titles.length;
    get("checklists").replaceChildren(...titles.flatMap((title) => {
      const items = all.flatMap(({ checklist, label }, k) => (checklist === title ? [[label, Boolean(numbers[k])]] : []));
      const heading = `${title} ${items.filter(([, isDone]) => isDone).length} of ${items.length}`;
      const rows = items.map(([label, isDone]) => make("li", { className: isDone ? "done" : "" }, `${isDone ? "✓" : "○"} ${label}`));
      return [make("h2", {}, heading), make("ul", {}, ...rows)];
    }));
  }

  /** Return a sentence on where the agent is and what is ahead. */
  describe() {
    const { world, shown: { height, width, top } } = this, [y, x, facing] = this.drawnPose;
    if (y < 0) return "The agent is not on the board.";
    const ahead = this.ahead([y, x, facing]);
    const inside = ahead[0] >= 0 && ahead[1] >= 0 && ahead[0] < height && ahead[1] < width;
    const what = inside ? world.words(top[ahead[0] * width + ahead[1]]) : "the edge";
    const way = ["up", "down", "left", "right"][facing], place = `row ${y}, column ${x}`;
    return `Agent at ${place} of ${height} × ${width} cells, facing ${way}; ahead: ${what}`;
  }

  /** Play the sound of the last step, and show its caption, as far as they are on.
   * @param {any} before picture of the state before */
  sound(before) {
    if (!get("sound").checked && !get("captions").checked) return;
    const { world, game, shown: after, motion } = this, isSame = (a, b) => String(a) === String(b);
    const [y, x] = after.agent, moves = MOVES.some((move) => game.steps[game.position - 1][0].endsWith(move));
    const notable = world.outputOf("terms", this.agent).filter((value) => Math.abs(value) > 0.1);
    const total = notable.reduce((a, b) => a + b, 0);
    const changed = [...after.top.keys()].filter((k) => !isSame(before.top[k], after.top[k]));
    const door = changed.some((k) => before.top[k]?.[0] === after.top[k][0] && before.top[k][1] !== after.top[k][1]);
    const hasMoved = !isSame(before.agent.slice(0, 2), [y, x]);
    const pushes = hasMoved && [...(motion?.moved.values() ?? [])].some(([, py, px]) => py === y && px === x);
    const name = world.isOver ? (world.column("success")[this.agent + 1] ? "won" : "over")
      : !isSame(before.item, after.item) ? (after.item[0] > HIDDEN ? "take" : "drop")
      : door ? "door"
      : pushes ? "push"
      : moves && isSame(before.agent, after.agent) && !changed.length ? "bump"
      : total > 0 ? "gain" : total < 0 ? "loss" : "step";
    if (get("sound").checked) playTone(this.data.tones[name]);
    Object.assign(get("caption"), { textContent: `[${this.data.captions[name]}]`, hidden: !get("captions").checked });
    clearTimeout(this.captionTimer);
    this.captionTimer = setTimeout(() => { get("caption").hidden = true; }, CAPTION_STAYS);
  }

  // ---- boards ----

  /** Return the cells that the agent sees, with where they are in its view: [cell, i, j] of each. */
  seenCells(agent = this.agent, world = this.world) {
    const { area } = world.level, [rows, columns] = area.shape, found = [];
    const [y, x, facing] = world.pose(agent), grid = world.outputOf("grid", agent);
    if (y < 0) return found; // it has left
    const up = area.turns ? facing : FORWARD, aside = rotate(up, RIGHT);
    const height = world.value("height"), width = world.value("width");
    for (let i = 0; i < rows; i++)
      for (let j = 0; j < columns; j++) {
        const ahead = area.observer[0] - i, right = j - area.observer[1];
        const cy = y + ahead * stepY(up) + right * stepY(aside);
        const cx = x + ahead * stepX(up) + right * stepX(aside);
        const isSeen = grid[3 * (i * columns + j)] !== HIDDEN;
        if (isSeen && cy >= 0 && cx >= 0 && cy < height && cx < width) found.push([cy * width + cx, i, j]);
      }
    return found;
  }

  /** Return what each agent has seen up to this step, by cell: its object and its ground. */
  explored() {
    const { world, level } = this, count = level.fields["forgotten.count"];
    return this.game.follow("explored", (before) => level.agents.map((_, agent) => {
      const { top, below, height, width } = world.cells(agent);
      const floor = String([height, width, count ? world.column("forgotten.count")[agent + 1] : 0]);
      const known = new Map(before?.[agent].floor === floor ? before[agent].known : []);
      for (const [cell] of this.seenCells(agent)) known.set(cell, [top[cell], below?.[cell]]);
      return { floor, known };
    }));
  }

  /** Return what the board of the state shows. */
  picture() {
    const { world, agent, level, isResearch } = this, known = this.view === "explored" && this.explored()[agent].known;
    const cells = world.cells(agent), pose = this.drawnPose, isDim = level.dim[this.view === "state" && !isResearch ? 0 : 1];
    // without a place, it may see all
    const lit = pose[0] < 0 || !isDim ? null : new Uint8Array(cells.top.length);
    if (lit) for (const [cell] of this.seenCells()) lit[cell] = 1;
    if (known) {
      const shown = cells.top.map((_, k) => known.get(k) ?? [[HIDDEN, 0, 0]]);
      cells.top = shown.map((pair) => pair[0]);
      cells.below = cells.below && shown.map((pair) => pair[1] ?? [FLOOR, 0, 0]);
    }
    const item = world.outputOf("item", agent), all = world.watched();
    const watched = known ? this.watchedInSight(known) : new Set([...all.values()].flat());
    const ended = world.isOver && !isResearch ? 1 : 0;
    const area = this.view === "state" && !isResearch && !isDim ? findInside(cells) : undefined;
    return { ...cells, area, isFoggy: known && !isResearch, lit, agent: pose, color: world.colorOf(agent), item, watched, marks: this.marks(), ended, won: this.hasWon };
  }

  /** Return the place, team and owner of each agent that is marked on the board: none in a level with
   * one agent, and none out of sight where only explored cells are shown. */
  marks() {
    const { world, level } = this, width = world.value("width");
    if (world.present < 2) return [];
    const seen = new Set(this.seenCells().map(([cell]) => cell)), isKnown = this.view !== "explored";
    return level.marks.slice(0, world.present).flatMap((mark, agent) => {
      const [y, x] = world.pose(agent), isOwn = agent === this.agent;
      return y >= 0 && (isKnown || seen.has(y * width + x)) ? [{ ...mark, y, x, isOwn }] : [];
    });
  }

  /** Return the cells that guards in the agent's sight see, of those that `shown` has.
   * @param {{ has(cell: number): boolean }} shown @returns {Set<number>} */
  watchedInSight(shown) {
    const seen = new Set(this.seenCells().map(([cell]) => cell)), guards = [...this.world.watched()];
    return new Set(guards.flatMap(([guard, cells]) => (seen.has(guard) ? cells.filter((cell) => shown.has(cell)) : [])));
  }

  /** Return what the board of the observation shows. */
  observationPicture() {
    const { world, level } = this, [height, width] = level.area.shape, flat = world.outputOf("grid", this.agent);
    const top = Array.from({ length: height * width }, (_, k) => flat.slice(3 * k, 3 * k + 3));
    const { below: ground } = world.cells(this.agent), facing = world.pose(this.agent)[2];
    const up = level.area.turns ? facing : FORWARD, below = ground && top.map(() => [FLOOR, 0, 0]);
    for (const [cell, i, j] of ground ? this.seenCells() : []) {
      const [kind, state, color] = ground[cell];
      below[i * width + j] = [kind, level.types[kind].oriented ? toRelative(state, up) : state, color];
    }
    const agent = [...level.area.observer, level.area.turns ? FORWARD : facing], seen = this.seenCells();
    const inSight = this.watchedInSight(new Set(seen.map(([cell]) => cell)));
    const watched = new Set(seen.flatMap(([cell, i, j]) => (inSight.has(cell) ? [i * width + j] : [])));
    return { height, width, top, below, lit: null, agent, color: world.colorOf(this.agent), watched };
  }

  get isStill() {
    return matchMedia("(prefers-reduced-motion: reduce)").matches;
  }

  /** Prepare the animation of the objects that have moved between two pictures. */
  animate(before, after) {
    this.motion = null;
    const isStill = this.isStill, stays = before.agent[0] >= 0 && after.agent[0] >= 0; // or an agent has come or left
    if (isStill || !stays || before.width !== after.width || before.height !== after.height) return;
    const { width, top } = after, moved = new Map();
    top.forEach((thing, cell) => {
      if (thing[0] === FLOOR || String(before.top[cell]) === String(thing)) return;
      const from = [cell - width, cell + width, cell - 1, cell + 1].find((near) =>
        String(before.top[near]) === String(thing) && String(top[near]) !== String(thing));
      if (from !== undefined) moved.set(cell, [thing, Math.floor(from / width), from % width]);
    });
    this.motion = { start: performance.now(), agent: before.agent, moved };
  }

  /** Draw both boards with the next picture of the screen. */
  draw() {
    if (this.willDraw || !this.game) return;
    this.willDraw = true;
    requestAnimationFrame(() => {
      this.willDraw = false;
      this._draw();
    });
  }

  _draw() {
    const { sprites, level: { types }, motion } = this, picture = { ...this.shown };
    if (this.isWalled) return this.wall.arrange(...roomOf("wall"));
    const passed = motion ? performance.now() - motion.start : Infinity, done = Math.min(1, passed / GLIDE);
    if (picture.ended) picture.ended = Math.min(1, Math.max(0, (passed - GLIDE) / (LAST_GLIDE - GLIDE)));
    if (done < 1) {
      const between = (a, b) => a + (b - a) * done * (2 - done), [y, x, facing] = picture.agent;
      picture.agent = [between(motion.agent[0], y), between(motion.agent[1], x), facing];
      picture.moved = new Map([...motion.moved].map(([cell, [thing, py, px]]) =>
        [cell, [thing, between(py, Math.floor(cell / picture.width)), between(px, cell % picture.width)]]));
    }
    if (passed < (picture.won !== null || picture.ended ? LAST_GLIDE : GLIDE)) {
      this.draw();
    } else this.motion = null;
    this.drawItem(picture.item);
    if (get("map").open) for (const drawPicture of this.mapPictures) drawPicture();
    const boards = { state: picture, observation: this.observed };
    for (const id in boards) {
      const figure = get(id).parentElement;
      figure.hidden = ![id, "both", id === "state" ? "explored" : ""].includes(this.view);
      const { height, width } = boards[id].area ?? boards[id];
      figure.style.setProperty("--rows", height);
      figure.style.setProperty("--columns", width);
    }
    for (const id in boards) {
      const [wide, tall] = roomOf(id);
      if (wide) this.places[id] = drawBoard(get(id), sprites, types, boards[id], wide, tall);
      const [red, green, blue] = boards[id].area ? get(id).getContext("2d").getImageData(1, 1, 1, 1).data : [];
      get(id).parentElement.style.background = boards[id].area ? `rgb(${red} ${green} ${blue})` : ""; // of the wall
    }
  }

  /** Draw the object that the agent holds beside its name. */
  drawItem(item) {
    const canvas = get("item"), scale = window.devicePixelRatio || 1, side = Math.round(28 * scale);
    Object.assign(canvas, { width: side, height: side }).style.width = `${side / scale}px`;
    const [name, color] = spriteOf(this.level.types, item);
    if (item[0] > HIDDEN) this.sprites.draw(canvas.getContext("2d"), name, color, 0, 0, side);
  }

  /** Show a map of the levels, each with its picture, title and medals. */
  showMap() {
    const { data: { levels }, number } = this, map = get("map");
    if (levels.length < 2) return;
    this.mapPictures = [];
    map.replaceChildren(...levels.map((level, k) => {
      const canvas = make("canvas", {}), text = [this.signs(level), this.describeGoal(level)].filter(Boolean).join(" ");
      const button = make("button", {}, make("i", {}, canvas), make("b", {}, `${level.number}. ${level.title}`), make("span", {}, text));
      button.onclick = () => { map.close(); this.open(k); };
      if (k === number) button.setAttribute("aria-current", "true");
      /** @type {any} */ let picture = null; // of the level's beginning, once it is in sight
      this.mapPictures.push(async () => {
        const { top, bottom } = canvas.getBoundingClientRect();
        if (bottom < 0 || top > innerHeight) return;
        picture ??= this.firstPicture(k);
        const shown = await picture;
        drawBoard(canvas, this.sprites, level.types, shown, MAP_WIDE, MAP_TALL, 1);
      });
      return button;
    }));
    map.onscroll = () => this.draw();
    map.showModal();
    map.querySelector("[aria-current]").focus();
    this.draw();
  }

  /** Return what the board shows at the beginning of a level; in fog only what the first agent sees. */
  async firstPicture(number) {
    if (!this.images.has(number)) this.images.set(number, await unpack(this.data.levels[number].image));
    const world = this.makeWorld(number), { level } = world;
    world.reset(BigInt(this.data.seed));
    const cells = world.cells(0), seen = level.view === "explored" && new Set(this.seenCells(0, world).map(([cell]) => cell));
    if (seen) cells.top = cells.top.map((look, cell) => (seen.has(cell) ? look : [HIDDEN, 0, 0]));
    return { ...cells, below: seen ? null : cells.below, lit: null, agent: world.pose(0), color: world.colorOf(0) };
  }

  /** Return what is in the cell at a place of a board, as the tooltips of the window say it. */
  describeAt(id, left, down) {
    const { places: { [id]: place }, world } = this, isState = id === "state", board = isState ? this.shown : this.observed;
    const y = Math.floor(down / place.side + place.y), x = Math.floor(left / place.side + place.x), { width } = board;
    const thing = x < width ? board.top[y * width + x] : undefined;
    if (!thing) return "";
    if (!isState && thing[0] === HIDDEN) return "not seen";
    const mark = isState && board.marks.find((each) => each.y === y && each.x === x);
    const name = mark ? `${mark.label}: ` : "";
    const agent = board.agent[0] === y && board.agent[1] === x ? "agent on " : "";
    return `${name}${agent}${world.words(thing)}${isState ? ` at row ${y}, column ${x}` : ""}`;
  }

  // ---- input ----

  onKey(event) {
    const { target, code } = event, key = nameKey(event);
    const command = this.keys.get(key) ?? this.keys.get(key.replace("Shift+", ""));
    if (get("map").open) return command?.name === "map" && get("map").close(); // its buttons have the other keys
    if (target.matches("input:not([type=checkbox]), textarea, select")) {
      if (code === "Escape" && target.id === "seed") target.value = String(this.game.seed);
      if (code === "Escape" || (code === "Enter" && target.id === "seed")) target.blur();
      return;
    }
    const presses = target.matches("button, summary") && ["Enter", "Space"].includes(code);
    if (!command || presses) return;
    if (key === "Ctrl+C" && String(getSelection())) return; // text is selected
    event.preventDefault();
    if (!event.repeat || command.repeats) this.command(command.name);
  }

  /** Steer by swipes, and use what is ahead by taps. */
  listenToTouch(area) {
    let start = [0, 0];
    area.onpointerdown = (event) => { start = [event.clientX, event.clientY]; };
    area.onpointerup = (event) => {
      const dx = event.clientX - start[0], dy = event.clientY - start[1];
      if (Math.max(Math.abs(dx), Math.abs(dy)) < 20) {
        const use = USES.find((name) => this.level.actions.includes(name));
        if (use && !event.target.closest("#end")) this.use(use);
        return;
      }
      const way = Math.abs(dx) > Math.abs(dy) ? (dx > 0 ? RIGHT : LEFT) : dy > 0 ? BACKWARD : FORWARD;
      const swiped = Object.keys(STEERING).find((name) => STEERING[name] === way);
      if (this.steers) this.steer(swiped);
      else this.act(["MOVE_FORWARD", "MOVE_BACKWARD", "TURN_LEFT", "TURN_RIGHT"][way]);
    };
  }

  /** Run the commands of pressed gamepad buttons with each picture of the screen. The left stick
   * presses the buttons of its direction. */
  pollGamepad() {
    const pads = navigator.getGamepads().filter((pad) => pad !== null), now = performance.now();
    for (const { index, buttons, axes: [x, y] } of pads) {
      const out = { Up: -y > STICK_OUT, Down: y > STICK_OUT, Left: -x > STICK_OUT, Right: x > STICK_OUT };
      PAD.forEach((name, k) => {
        const id = `${index} ${name}`, due = this.heldButtons.get(id), command = this.keys.get(`Pad ${name}`);
        if (!buttons[k]?.pressed && !out[name]) this.heldButtons.delete(id);
        else if (command && (due === undefined || (command.repeats && now > due))) {
          this.heldButtons.set(id, now + REPEAT[due === undefined ? 0 : 1]);
          this.command(command.name);
        }
      });
    }
    this.isPolling = pads.length > 0;
    if (this.isPolling) requestAnimationFrame(() => this.pollGamepad());
  }
}

/** Return width and height of the room for a canvas in its figure, in CSS pixels. @returns {[number, number]} */
function roomOf(id) {
  const { clientWidth, clientHeight, lastElementChild: caption } = get(id).parentElement;
  return [clientWidth, clientHeight - caption.clientHeight];
}

/** Show an error that ends the play on the page. */
function showFailure(message) {
  get("failure").hidden = false;
  get("failure").textContent = message;
  if (!("player" in window)) get("message").textContent = "";
  Object.assign(window, { hasFailed: true });
}

window.addEventListener("error", (event) => showFailure(`The page has a fault: ${event.message}`));

/** Start the player; say why if the page cannot be played. */
async function main() {
  Object.assign(window, { hasStarted: true });
  const element = get("data");
  try {
    if (sha256(encode(element.textContent)) !== element.dataset.sha256)
      throw new Error("This page is damaged: its checksum does not fit the rest.");
    const data = JSON.parse(element.textContent);
    if (data.format !== PAGE_FORMAT) throw new Error("This page is of another version of GV Engine: export it again.");
    const policy = data.policy && await Policy.load(data.policy);
    const player = new Player(data, await loadRules(data), policy);
    if (!(await player.openAddress())) throw new Error(get("message").textContent);
    Object.assign(window, { player });
  } catch (error) {
    showFailure(error.message);
    throw error;
  }
}

main();
