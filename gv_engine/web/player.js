// The page of a level: keys, touch, gamepad and buttons in; boards, texts and sounds out.
"use strict";

/** @returns {any} */
const get = (id) => document.getElementById(id);
const SMALLEST_CELL = 8; // pixels; of larger grids a part is shown, around the agent
const ASIDE_CELL = 14; // pixels from which both boards are side by side
const SPEEDS = [1, 2, 4, 8, 16, 32, 64]; // steps of a policy in a second
const GLIDE = 120; // milliseconds of a step's animation
const DIM = "rgb(138, 131, 150)"; // as gv_engine.ui.drawing.sprites has it, of cells out of sight
const REPEAT = [300, 120]; // milliseconds until a held gamepad button repeats, and from then on
const FORWARD = 0, BACKWARD = 1, LEFT = 2, RIGHT = 3;
const ANGLES = [0, Math.PI, -Math.PI / 2, Math.PI / 2];
const MOVES = ["MOVE_FORWARD", "MOVE_BACKWARD", "MOVE_LEFT", "MOVE_RIGHT"];
const TURNS = { [BACKWARD]: ["TURN_RIGHT", "TURN_RIGHT"], [LEFT]: ["TURN_LEFT"], [RIGHT]: ["TURN_RIGHT"] };
const STEERING = { STEER_UP: FORWARD, STEER_DOWN: BACKWARD, STEER_LEFT: LEFT, STEER_RIGHT: RIGHT };
const SPOT_TURNS = { STEER_TURN_LEFT: "TURN_LEFT", STEER_TURN_RIGHT: "TURN_RIGHT" };
const USES = ["ACTUATE", "TOGGLE", "PICK_UP", "PICK_N_DROP"]; // what a tap does, the first that a level has
const SIDE_STEPS = { TURN_LEFT: "MOVE_LEFT", TURN_RIGHT: "MOVE_RIGHT" }; // in levels without turns
const ARROWS = {
  MOVE_FORWARD: "▲", MOVE_BACKWARD: "▼", MOVE_LEFT: "◀", MOVE_RIGHT: "▶", TURN_LEFT: "↺", TURN_RIGHT: "↻",
};
const PAD = "A B X Y LB RB LT RT Back Start LeftStick RightStick Up Down Left Right Guide".split(" ");
const CODES = {
  Up: "ArrowUp", Down: "ArrowDown", Left: "ArrowLeft", Right: "ArrowRight", Return: "Enter",
  Grave: "Backquote", LeftBracket: "BracketLeft", RightBracket: "BracketRight", Equals: "Equal",
};

const stepY = (way) => [-1, 1, 0, 0][way];
const stepX = (way) => [0, 0, -1, 1][way];
const rotate = (way, by) => way ^ by ^ ((way & by) >> 1);
const toRelative = (way, to) => rotate(way, to ^ (to >> 1));
const inWords = (name) => name[0].toUpperCase() + name.slice(1).replace(/_/g, " ").toLowerCase();

/** Return the name of a key event as commands have it, such as `Shift+Left`. */
function nameKey(event) {
  const known = Object.entries(CODES).find(([, code]) => code === event.code)?.[0];
  const name = known ?? event.code.replace(/^(Key|Digit)/, "").replace("Numpad", "Keypad ");
  return (event.ctrlKey || event.metaKey ? "Ctrl+" : "") + (event.altKey ? "Alt+" : "") +
    (event.shiftKey ? "Shift+" : "") + name;
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

/** Sprites as images in any size, colour and turn; each is drawn once. */
class Sprites {
  /** @param {() => void} onLoad called when a sprite has come */
  constructor(data, onLoad) {
    this.data = data;
    this.onLoad = onLoad;
    this.palette = data.palette;
    this.images = new Map();
  }

  /** Draw a sprite into a square.
  
   * @param {number} turn 0 as drawn, or a direction */
  draw(context, name, color, x, y, size, turn = FORWARD) {
    if (Object.hasOwn(this.data.otherAgents, name)) [name, turn] = ["other_agent", this.data.otherAgents[name]];
    const text = this.data.sprites[name] ?? this.data.sprites.unknown;
    this._put(context, text, color, x, y, size, turn);
    if (color && text.includes("{{fill}}") && !/{{(emblem|sign)}}/.test(text))
      this._put(context, this.data.sprites.mark, color, x, y, size, FORWARD);
  }

  _put(context, text, color, x, y, size, turn) {
    const image = this._image(text, color, size);
    if (!image.complete || !image.naturalWidth) return;
    context.save();
    context.translate(x + size / 2, y + size / 2);
    context.rotate(ANGLES[turn]);
    context.drawImage(image, -size / 2, -size / 2, size, size);
    context.restore();
  }

  _image(text, color, size) {
    const key = `${this.palette} ${color} ${size} ${text}`;
    let image = this.images.get(key);
    if (!image) {
      const shades = this.data.palettes[this.palette][color] ?? this.data.palettes[this.palette][0];
      const filled = text.replace(/{{(\w+)}}/g, (all, shade) => shades[shade] ?? all);
      const sized = `<svg xmlns="http://www.w3.org/2000/svg" width="${size}" height="${size}"`;
      this.images.set(key, (image = new Image()));
      image.onload = this.onLoad;
      image.src = "data:image/svg+xml;utf8," + encodeURIComponent(filled.replace("<svg", sized));
    }
    return image;
  }
}

/** Draw cells into a canvas, as large as fits.

 * @param {any} picture height, width, top, below, lit, agent (y, x, direction) and its color
 @param {number} tall room in CSS pixels */
function drawBoard(canvas, sprites, level, picture, wide, tall) {
  const scale = window.devicePixelRatio || 1, { height, width, top, below, lit, agent, moved } = picture;
  const fit = Math.floor(Math.min((wide * scale) / width, (tall * scale) / height));
  const size = Math.max(fit, Math.round(SMALLEST_CELL * scale), 1);
  const columns = Math.min(width, Math.floor((wide * scale) / size));
  const rows = Math.min(height, Math.floor((tall * scale) / size));
  canvas.width = columns * size;
  canvas.height = rows * size;
  canvas.style.width = `${canvas.width / scale}px`;
  canvas.style.height = `${canvas.height / scale}px`;
  const start = (at, shown, all) => Math.max(0, Math.min(at - (shown - 1) / 2, all - shown));
  const y0 = start(agent[0], rows, height), x0 = start(agent[1], columns, width);
  const context = canvas.getContext("2d");
  const look = ([kind, state, color], y, x) => {
    const { sprites: names } = level.types[kind];
    sprites.draw(context, names[state] ?? names[0], color, (x - x0) * size, (y - y0) * size, size);
  };
  for (let y = Math.floor(y0); y < y0 + rows; y++)
    for (let x = Math.floor(x0); x < x0 + columns; x++) {
      const cell = y * width + x, thing = moved?.get(cell) ? level.floor : top[cell], ground = below?.[cell];
      sprites.draw(context, "floor", 0, (x - x0) * size, (y - y0) * size, size);
      if (ground && ground[0] !== level.floor[0]) look(ground, y, x);
      if (thing[0] !== level.floor[0]) look(thing, y, x);
      if (lit && !lit[cell]) {
        context.globalCompositeOperation = "multiply";
        context.fillStyle = DIM;
        context.fillRect((x - x0) * size, (y - y0) * size, size, size);
        context.globalCompositeOperation = "source-over";
      }
    }
  for (const [, [thing, y, x]] of moved ?? []) look(thing, y, x);
  const [y, x, facing] = agent, name = picture.color ? "own_agent" : "agent";
  if (y >= 0 && y < height && x >= 0 && x < width)
    sprites.draw(context, name, picture.color, (x - x0) * size, (y - y0) * size, size, facing);
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
  /** @type {any[]} */ explored = []; // what each agent has seen, by step
  /** @type {any[]} */ commands = [];
  keys = new Map(); // command by key
  number = 0; // of the level
  agent = 0; // whose view is shown
  view = "both";
  images = new Map(); // starts of memory by level
  asked = 0; // games that were asked for, of which the last counts
  heldButtons = new Map();
  isPolling = false;
  willDraw = false;
  isRunning = false; // whether the policy acts
  speed = 4; // steps of the policy in a second
  due = 0; // steps of the policy

  /** @param {any} code compiled WebAssembly @param {Policy | null} policy */
  constructor(data, code, policy) {
    this.data = data;
    this.code = code;
    this.policy = policy;
    this.sprites = new Sprites(data, () => this.draw());
    this.prepare();
  }

  /** Fill the page, and listen. */
  prepare() {
    const { data } = this, saved = this.load("settings") ?? {};
    get("title").textContent = data.title;
    document.body.classList.toggle("embedded", data.embedded);
    data.levels.forEach((level, k) => get("level").add(new Option("", String(k))));
    get("levels").hidden = data.levels.length < 2;
    for (const name in data.palettes) get("palette").add(new Option(inWords(name), name));
    for (const name in data.themes) get("theme").add(new Option(inWords(name), name));
    get("palette").value = saved.palette in data.palettes ? saved.palette : data.palette;
    get("theme").value = saved.theme in data.themes ? saved.theme : data.theme;
    get("sound").checked = saved.sound ?? !data.embedded;
    const apply = () => {
      this.sprites.palette = get("palette").value;
      for (const [name, color] of Object.entries(data.themes[get("theme").value]))
        document.body.style.setProperty(`--${name}`, String(color));
      document.documentElement.style.colorScheme = get("theme").value; // of scroll bars
      this.draw();
    };
    const keep = () => {
      apply();
      const [palette, theme, sound] = [get("palette").value, get("theme").value, get("sound").checked];
      this.save("settings", { palette, theme, sound });
    };
    const changes = {
      palette: keep, theme: keep, sound: keep, rewind: () => {},
      level: () => this.open(Number(get("level").value)), seed: () => this.begin(get("seed").value),
      who: () => this.showAgent(Number(get("who").value)),
    };
    for (const id in changes)
      get(id).onchange = () => {
        changes[id]();
        get(id).blur(); // so that keys are the level's again
      };
    get("rewind").oninput = () => this.seek(Number(get("rewind").value));
    get("paste").onclick = () => this.askForLine();
    for (const button of /** @type {any} */ (document.querySelectorAll("[data-command]"))) {
      const name = button.dataset.command;
      button.onclick = (event) => {
        this.command(name);
        if (event.detail) button.blur(); // clicked, not chosen by keys
      };
    }
    document.onkeydown = (event) => this.onKey(event);
    document.onpaste = (event) => {
      const text = event.clipboardData?.getData("text").trim() ?? "";
      if (text.startsWith("gv:")) event.preventDefault(), this.openLine(text);
    };
    window.onresize = () => this.draw();
    window.onhashchange = () => this.openAddress();
    get("wall").onclick = (event) => this.openWorld(this.wall.at(event.clientX, event.clientY));
    get("agent").hidden = !this.policy;
    if (this.policy) get("watch").textContent = `Watch ${data.policy.name}`;
    const others = new ResizeObserver(() => this.draw()); // what leaves the boards their room
    for (const id of ["header", "mission", "message", "panel", "actions"]) others.observe(get(id));
    window.addEventListener("gamepadconnected", () => {
      if (!this.isPolling) this.pollGamepad();
    });
    this.listenToTouch(get("boards"));
    apply();
  }

  /** Return what was saved in the browser under a name; null without. */
  load(name) {
    try {
      return JSON.parse(localStorage.getItem(`gv-engine ${name}`) ?? "null");
    } catch {
      return null; // a browser may forbid it
    }
  }

  save(name, value) {
    try {
      localStorage.setItem(`gv-engine ${name}`, JSON.stringify(value));
    } catch {
      // the page plays without
    }
  }

  // ---- levels and games ----

  /** Begin a game of a level with a seed. */
  open(number, seed = this.data.seed) {
    if (!/^\d+$/.test(String(seed)))
      return this.say(`A seed is a whole number from 0 on, found ${seed}`, "loss");
    return this.start(number, (world) => new Game(world, BigInt(seed), this.data.engine));
  }

  /** Begin the game that the address names, and say so if there is none; return whether it has begun. */
  async openAddress() {
    const asked = new URLSearchParams(location.hash.slice(1)), { levels, seed } = this.data, faults = [];
    const name = asked.get("level") ?? String(levels[0].number), own = asked.get("seed") ?? seed;
    const number = levels.findIndex((level) => String(level.number) === name), isSeed = /^\d+$/.test(own);
    const known = levels.map((level) => level.number).join(", ");
    if (number < 0) faults.push(`The address asks for level ${name}, and this page has ${known}.`);
    if (!isSeed) faults.push(`The address asks for seed ${own}: a seed is a whole number from 0 on.`);
    const isOpen = await this.open(Math.max(number, 0), isSeed ? own : seed);
    if (isOpen && faults.length) this.say(faults.join(" "), "loss");
    return isOpen;
  }

  /** Begin a game of this level with a seed. */
  begin(seed) {
    return this.open(this.number, seed);
  }

  /** Show the game that `make` returns for a new world of a level. If that fails, say why, and go on
   * with the game before. Return whether the game is shown. */
  async start(number, make) {
    const asked = ++this.asked, level = this.data.levels[number];
    if (!this.images.has(number)) this.images.set(number, await unpack(level.image));
    if (asked !== this.asked) return false; // another game was asked for meanwhile
    let game;
    try {
      game = make(new World(level, this.code, this.images.get(number), this.data.errors));
    } catch (error) {
      this.say(String(error.message), "loss");
      return false;
    }
    const isSame = level === this.level;
    this.watch(false);
    document.body.classList.remove("walled");
    Object.assign(this, { number, level, game, world: game.world, motion: null });
    this.agent = isSame ? Math.min(this.agent, this.world.present - 1) : 0;
    if (!isSame) {
      const typeOf = (name) => Number(Object.keys(level.types).find((kind) => level.types[kind].name === name));
      [level.floor, level.hidden] = [[typeOf("Floor"), 0, 0], typeOf("Hidden")];
      this.view = level.view || "both";
      get("description").textContent = level.description;
      get("who").replaceChildren(...level.agents.map((name, k) => new Option(name, String(k))));
      get("who").hidden = level.agents.length < 2;
      this.showLevels();
    }
    this.bindKeys();
    this.explored = [this.explore(null)];
    for (let k = 1; this.explored[0] && k <= game.steps.length; k++) {
      game.seek(k);
      this.explored.push(this.explore(this.explored[k - 1]));
    }
    get("seed").value = String(game.seed);
    this.say("");
    this.show();
    return true;
  }

  /** Bind the keys of the level and the view, and show them. */
  bindKeys() {
    const { level, data } = this, own = level.commands;
    const taken = new Set(own.flatMap((command) => command.keys));
    const steering = this.steers ? level.steering : [], replaced = this.steers ? level.steered : [];
    const has = (name) => level.actions.includes(name);
    const usual = data.commands.filter(({ name }) =>
      !replaced.includes(name) && (!/^[A-Z_]+$/.test(name) || has(name) || has(SIDE_STEPS[name])));
    const { commands: acting, wallCommands } = data.policy ?? { commands: [], wallCommands: [] };
    this.commands = this.isWalled ? wallCommands : [...own, ...steering, ...usual, ...acting];
    this.keys = new Map();
    for (const command of this.commands)
      for (const key of command.keys)
        if (this.isWalled || own.includes(command) || !taken.has(key)) this.keys.set(key, command);
    this.showActions();
  }

  /** Take a step with the actions of all agents. */
  step(actions) {
    const { game, world } = this;
    if (world.isOver) return;
    const before = this.shown;
    try {
      game.step(actions);
    } catch (error) {
      return this.say(String(error.message), "loss");
    }
    this.explored.length = game.position;
    this.explored.push(this.explore(this.explored[game.position - 1]));
    this.say("");
    this.show();
    this.animate(before, this.shown);
    this.sound(before);
    if (world.isOver) this.finish();
  }

  /** Take an action of one agent; others do nothing. */
  act(name, agent = this.agent) {
    this.watch(false);
    const actions = Array(this.world?.agents).fill(null), aside = SIDE_STEPS[name];
    actions[agent] = this.level.actions.indexOf(this.level.actions.includes(name) ? name : aside);
    if (actions[agent] >= 0) this.step(actions);
  }

  /** Move an agent in a direction of the screen, as `gv_engine.domains.grid.input_map.Steering`. */
  steer(way) {
    const { level, world } = this, can = (name) => level.actions.includes(name);
    const isValid = (name) => world.outputOf("mask", this.agent)[level.actions.indexOf(name)] === 1;
    const facing = level.relativeMoves ? world.pose(this.agent)[2] : FORWARD;
    const looksFirst = this.view === "explored"; // the agent sees only what is ahead
    const plain = MOVES.findIndex((_, move) => rotate(facing, move) === way);
    const turns = (TURNS[plain] ?? []).filter(can);
    if (!turns.length || (!looksFirst && can(MOVES[plain]) && isValid(MOVES[plain]))) return this.act(MOVES[plain]);
    for (const turn of turns) this.act(turn);
    const faces = world.pose(this.agent)[2] === way, goes = faces && can("MOVE_FORWARD") && isValid("MOVE_FORWARD");
    if (goes && (!looksFirst || this.isSafe(...this.ahead()))) this.act("MOVE_FORWARD");
  }

  /** Return the cell ahead of the agent. @returns {[number, number]} */
  ahead() {
    const [y, x, facing] = this.world.pose(this.agent);
    return [y + stepY(facing), x + stepX(facing)];
  }

  /** Return whether a shown cell has only floor, or an object that can block but does not now. */
  isSafe(y, x) {
    const { width, top, below } = this.shown, cell = y * width + x, [floor] = this.level.floor;
    const [kind, state] = top[cell], { blocks } = this.level.types[kind];
    return !(below?.[cell][0] > floor) && (kind === floor || (blocks.includes(true) && !blocks[state]));
  }

  // ---- a policy ----

  get isWalled() {
    return document.body.classList.contains("walled");
  }

  /** Return the decision of the policy in this state; null without one, or if it fails. */
  decide() {
    if (!this.policy || this.world?.isOver) return null;
    try {
      return this.game.decide(this.policy);
    } catch (error) {
      this.watch(false);
      this.say(String(error.message), "loss");
      return null;
    }
  }

  /** Let the policy act, or stop it. */
  watch(isRunning) {
    if (isRunning && !this.isRunning) requestAnimationFrame((now) => this.run(now, now));
    this.isRunning = isRunning;
    get("watch").setAttribute("aria-pressed", String(isRunning));
    get("speed").textContent = `${this.speed} steps/s`;
  }

  /** Take the steps that are due since the last picture of the screen. */
  run(before, now) {
    if (!this.isRunning) return;
    const count = (Math.min(now - before, 100) / 1000) * this.speed;
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

  /** Change the wall, and say how its worlds have fared. */
  showWall(change) {
    try {
      change();
    } catch (error) {
      this.watch(false);
      this.say(String(error.message), "loss");
    }
    get("fared").textContent = this.wall.describe();
    get("wall").setAttribute("aria-label", this.wall.describe());
  }

  /** Show many worlds, or the game again. */
  toggleWall() {
    if (!this.policy) return;
    const isWalled = document.body.classList.toggle("walled"), { level, number, data, code } = this;
    this.watch(false);
    this.say("");
    if (isWalled && this.wall?.world.level !== level) {
      const world = new World(level, code, this.images.get(number), data.errors);
      this.wall = new Wall(world, this.policy, this.game.seed, get("wall"), this.sprites);
    }
    this.bindKeys();
    this.draw();
    if (isWalled) this.watch(true);
  }

  /** Open a world of the wall as a game, to watch it or to take over. */
  async openWorld(k) {
    const { seed, actions } = this.wall.boards[k];
    const make = (world) => {
      const game = new Game(world, seed, this.data.engine);
      for (const joint of actions) game.step(joint);
      return game;
    };
    if (!(await this.start(this.number, make))) return;
    if (this.world?.isOver) this.finish();
    else this.say(`World ${k + 1} of the wall`);
  }

  showAgent(agent) {
    this.agent = agent;
    this.show();
  }

  /** Say how the game ended, and keep it if it was won. */
  finish() {
    const { world, level, game } = this, won = world.column("success")[this.agent + 1];
    const by = world.column("ended_by")[this.agent + 1], cut = world.outcome === "truncated";
    this.say(level.endings[world.value("member")][by][won ? 1 : 0][cut ? 1 : 0] ?? "", won ? "gain" : "loss");
    if (!won) return;
    const key = `won ${level.identity.digest}`, best = this.load(key) ?? Infinity;
    this.save(key, Math.min(best, game.position));
    this.showLevels();
  }

  seek(position) {
    this.watch(false);
    this.game?.seek(position);
    this.motion = null;
    this.say("");
    this.show();
    if (this.world?.isOver) this.finish();
  }

  /** Run a command by its name. */
  command(name) {
    const { game, data, number } = this, pack = data.levels.length > 1;
    const go = (by) => pack
      ? data.levels[number + by] && this.open(number + by)
      : this.begin(game.seed + BigInt(by) < 0n ? 0n : game.seed + BigInt(by));
    const [agent, action] = name.split(" "), choose = (by) => this.wall.choose(this.wall.chosen + by);
    const commands = {
      undo: () => this.seek(game.position - 1), redo: () => this.seek(game.position + 1),
      first: () => this.seek(0), last: () => this.seek(game.steps.length),
      again: () => this.begin(game.seed), next_level: () => go(1), previous_level: () => go(-1),
      go_on: () => this.world?.isOver && go(1), enter_seed: () => get("seed").select(),
      copy: () => this.copy(), view: () => this.nextView(),
      next_agent: () => this.showAgent((this.agent + 1) % (this.world?.present ?? 1)),
      agent: () => this.watch(!this.isRunning), agent_step: () => { this.watch(false); this.stepPolicy(); },
      agent_faster: () => this.changeSpeed(1), agent_slower: () => this.changeSpeed(-1),
      wall: () => this.toggleWall(), leave: () => this.toggleWall(),
      batch_pause: () => this.watch(!this.isRunning), batch_step: () => { this.watch(false); this.stepPolicy(); },
      batch_faster: () => this.changeSpeed(1), batch_slower: () => this.changeSpeed(-1),
      batch_left: () => choose(-1), batch_right: () => choose(1), batch_up: () => choose(-this.wall.across),
      batch_down: () => choose(this.wall.across), batch_open: () => this.openWorld(this.wall.chosen),
    };
    if (commands[name]) commands[name]();
    else if (action) this.act(action, this.level.agents.indexOf(agent));
    else if (name in STEERING) this.steer(STEERING[name]);
    else this.act(SPOT_TURNS[name] ?? name);
  }

  changeSpeed(by) {
    this.speed = SPEEDS[Math.max(0, Math.min(SPEEDS.indexOf(this.speed) + by, SPEEDS.length - 1))];
    this.watch(this.isRunning);
  }

  /** True if arrows move the agent in their direction on the screen: where it is seen from above. */
  get steers() {
    return this.view !== "observation";
  }

  nextView() {
    const views = ["both", "state", "observation", ...(this.level.view === "explored" ? ["explored"] : [])];
    this.view = views[(views.indexOf(this.view) + 1) % views.length];
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
      get("line").hidden = false;
      get("line").value = line;
      get("line").select();
      this.say("Copy this line");
    }
  }

  askForLine() {
    const line = get("line");
    line.hidden = false;
    line.value = "";
    line.placeholder = "Paste a game here: gv:…";
    line.focus();
    line.oninput = () => this.openLine(line.value);
  }

  /** Open a game as text. */
  async openLine(line) {
    try {
      const replay = await readLine(line), { digest, name } = replay.scenario;
      const number = this.data.levels.findIndex((level) => level.identity.digest === digest);
      if (number < 0)
        throw new ReplayError(`This game belongs to ${name}, or a version of it, that is not on this page.`);
      if (!(await this.start(number, (world) => playReplay(world, replay, this.data.engine)))) return;
      get("line").hidden = true;
      this.say(`A game of ${replay.steps.length} steps`);
      if (this.world?.isOver) this.finish();
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
      const best = this.load(`won ${level.identity.digest}`);
      const won = best ? ` ✓ ${best}${level.par ? ` (par ${level.par})` : ""}` : "";
      get("level").options[k].text = `${level.number}. ${level.title}${won}`;
    });
    get("level").value = String(this.number);
  }

  /** Make the buttons of the actions, and the table of keys. */
  showActions() {
    const { level, commands } = this, all = [...this.data.commands, ...level.commands];
    const known = new Map(all.map(({ name, description }) => [name, description]));
    get("actions").replaceChildren(...level.actions.map((name) => {
      const button = document.createElement("button"), words = inWords(known.get(name) ?? name);
      button.textContent = ARROWS[name] ?? words;
      button.title = words;
      button.onclick = () => this.act(name);
      return button;
    }));
    get("keys").querySelector("tbody").replaceChildren(...commands.map(({ keys, description }) => {
      const row = document.createElement("tr");
      row.insertCell().append(keys.join(", "));
      row.insertCell().append(description);
      return row;
    }));
  }

  /** Return the text of the agent's mission. */
  mission() {
    const { missions } = this.level;
    if (!missions) return "";
    const [wording, ...values] = this.world.outputOf("mission", this.agent);
    const words = Object.fromEntries(missions.fields.map((field, k) => {
      const [low, known] = missions.words[field] ?? [0, []];
      return [field, known[values[k] - low] ?? String(values[k])];
    }));
    for (const [name, phrases] of Object.entries(missions.phrases))
      words[name] = phrases.filter((phrase) => !phrase.when || phrase.when[1].includes(values[phrase.when[0]]))
        .map((phrase) => phrase.words[values[phrase.field]] ?? "").join(" ");
    const text = (missions.texts[wording - 1] ?? "").replace(/{(\w+)}/g, (all, name) => words[name] ?? all);
    return text.split(/\s+/).filter(Boolean).join(" ");
  }

  /** Return what a level of a pack says to players, with the keys of commands in braces. */
  instructions() {
    const known = new Map([...this.data.commands, ...this.level.commands].map((each) => [each.name, each.keys[0]]));
    return this.level.says.replace(/{(\w+)}/g, (all, name) => known.get(name) ?? all);
  }

  /** Show the state: boards, texts and numbers. */
  show() {
    const { world, level, game } = this;
    const count = level.rewards.length, round = (x) => String(Number(x.toFixed(9)));
    const terms = game.terms[game.position].slice(this.agent * count, (this.agent + 1) * count);
    const said = level.rewards.flatMap((name, k) => (terms[k] ? [`${name} ${round(terms[k])}`] : []));
    get("mission").textContent = [this.mission(), this.instructions()].filter(Boolean).join(" ");
    get("steps").textContent = game.position + (world.stepLimit ? ` of ${world.stepLimit}` : "");
    get("total").textContent = round(game.total);
    get("terms").textContent = game.position ? said.join(", ") : "";
    get("rewind").max = String(game.steps.length);
    get("rewind").value = String(game.position);
    const state = world.outputOf("state", this.agent);
    get("numbers").replaceChildren(...level.state.map((number, k) => {
      const label = document.createElement("label");
      label.append(`${number.label} `);
      if (number.bar) {
        const bar = document.createElement("progress");
        [bar.max, bar.value] = [number.high - number.low, state[k] - number.low];
        label.append(bar, " ");
      }
      label.append(round(state[k]));
      return label;
    }));
    const item = world.outputOf("item", this.agent), held = get("held");
    held.replaceChildren();
    if (item[0] > level.hidden) held.append("Holds ", world.words(item));
    for (const option of get("who").options) option.hidden = Number(option.value) >= world.present;
    get("who").value = String(this.agent);
    this.shown = this.picture();
    this.observed = this.observationPicture();
    get("state").setAttribute("aria-label", this.describe());
    const decision = this.decide();
    for (const [k, button] of [...get("actions").children].entries()) {
      button.classList.toggle("muted", world.outputOf("mask", this.agent)[k] !== 1);
      button.classList.toggle("chosen", decision?.actions[this.agent] === k);
      const share = decision?.probabilities[this.agent][k];
      button.style.setProperty("--share", String(share ?? 0));
      button.dataset.share = share === undefined ? "" : `${Math.round(100 * share)} %`;
      button.setAttribute("aria-label", [button.title, button.dataset.share].filter(Boolean).join(", "));
    }
    this.draw();
  }

  /** Return a sentence on where the agent is and what is ahead. */
  describe() {
    const { world, shown: { height, width, top } } = this, [y, x, facing] = world.pose(this.agent);
    if (y < 0) return "The agent has left.";
    const ahead = this.ahead();
    const inside = ahead[0] >= 0 && ahead[1] >= 0 && ahead[0] < height && ahead[1] < width;
    const what = inside ? world.words(top[ahead[0] * width + ahead[1]]) : "the edge";
    const way = ["up", "down", "left", "right"][facing], row = `row ${y + 1} of ${height}`;
    return `Agent in ${row}, column ${x + 1} of ${width}, facing ${way}; ahead: ${what}`;
  }

  sound(before) {
    if (!get("sound").checked) return;
    const { world, level, game, shown: after } = this;
    const moves = MOVES.some((move) => game.steps[game.position - 1][0].endsWith(move));
    const notable = world.outputOf("terms", this.agent).filter((value) => Math.abs(value) > 0.1);
    const total = notable.reduce((a, b) => a + b, 0);
    const changed = before.top.map((cell, k) => String(cell) !== String(after.top[k]));
    const door = before.top.some((cell, k) => changed[k] && cell[0] === after.top[k][0] && cell[1] !== after.top[k][1]);
    const name = world.isOver ? (world.column("success")[this.agent + 1] ? "won" : "over")
      : String(before.item) !== String(after.item) ? (after.item[0] > level.hidden ? "take" : "drop")
      : door ? "door"
      : moves && String(before.agent) === String(after.agent) && !changed.includes(true) ? "bump"
      : total > 0 ? "gain" : total < 0 ? "loss" : "step";
    playTone(this.data.tones[name]);
  }

  // ---- boards ----

  /** Return the cells that the agent sees, with where they are in its view: [cell, i, j] of each. */
  seenCells(agent = this.agent) {
    const { world, level } = this, [rows, columns] = level.area.shape;
    const [y, x, facing] = world.pose(agent), grid = world.outputOf("grid", agent);
    if (y < 0) return []; // it has left
    const up = level.area.turns ? facing : FORWARD, aside = rotate(up, RIGHT);
    const height = world.value("height"), width = world.value("width");
    const found = [];
    for (let i = 0; i < rows; i++)
      for (let j = 0; j < columns; j++) {
        const ahead = level.area.observer[0] - i, right = j - level.area.observer[1];
        const cy = y + ahead * stepY(up) + right * stepY(aside);
        const cx = x + ahead * stepX(up) + right * stepX(aside);
        const isSeen = grid[3 * (i * columns + j)] !== level.hidden;
        if (isSeen && cy >= 0 && cx >= 0 && cy < height && cx < width) found.push([cy * width + cx, i, j]);
      }
    return found;
  }

  /** Return what each agent has seen so far, by cell: its object and its ground. */
  explore(before) {
    if (this.level.view !== "explored") return null;
    return this.level.agents.map((_, agent) => {
      const { top, below } = this.world.cells(agent), known = new Map(before?.[agent]);
      for (const [cell] of this.seenCells(agent)) known.set(cell, [top[cell], below?.[cell]]);
      return known;
    });
  }

  /** Return what the board of the state shows. */
  picture() {
    const { world, level, game } = this, cells = world.cells(this.agent);
    const lit = new Uint8Array(cells.top.length);
    for (const [cell] of this.seenCells()) lit[cell] = 1;
    const known = this.view === "explored" && this.explored[game.position]?.[this.agent];
    if (known) {
      const unknown = [[level.hidden, 0, 0], undefined];
      const shown = cells.top.map((_, k) => known.get(k) ?? unknown);
      cells.top = shown.map((pair) => pair[0]);
      cells.below = cells.below && shown.map((pair) => pair[1] ?? level.floor);
    }
    return { ...cells, lit, agent: world.pose(this.agent), color: world.colorOf(this.agent), item: world.outputOf("item", this.agent) };
  }

  /** Return what the board of the observation shows. */
  observationPicture() {
    const { world, level } = this, [height, width] = level.area.shape, flat = world.outputOf("grid", this.agent);
    const top = Array.from({ length: height * width }, (_, k) => flat.slice(3 * k, 3 * k + 3));
    const { below: ground } = world.cells(this.agent), facing = world.pose(this.agent)[2];
    const up = level.area.turns ? facing : FORWARD, below = ground && top.map(() => level.floor);
    if (ground)
      for (const [cell, i, j] of this.seenCells()) {
        const [kind, state, color] = ground[cell];
        below[i * width + j] = [kind, level.types[kind].oriented ? toRelative(state, up) : state, color];
      }
    const agent = [...level.area.observer, level.area.turns ? FORWARD : facing];
    return { height, width, top, below, lit: null, agent, color: world.colorOf(this.agent) };
  }

  /** Let what moved between two pictures glide. */
  animate(before, after) {
    this.motion = null;
    const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const stays = before.agent[0] >= 0 && after.agent[0] >= 0; // or an agent has come or left
    if (isStill || !stays || before.width !== after.width || before.height !== after.height) return;
    const { width, top } = after, moved = new Map();
    top.forEach((thing, cell) => {
      if (thing[0] === this.level.floor[0] || String(before.top[cell]) === String(thing)) return;
      for (const from of [cell - width, cell + width, cell - 1, cell + 1])
        if (String(before.top[from]) === String(thing) && String(top[from]) !== String(thing))
          return moved.set(cell, [thing, Math.floor(from / width), from % width]);
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
    const room = get("boards").parentElement.clientWidth - 16;
    if (this.isWalled) {
      const rest = get("agent").getBoundingClientRect().bottom - get("wall").offsetHeight;
      return this.wall.arrange(room, window.innerHeight - rest - window.scrollY - 8);
    }
    const picture = { ...this.shown }, { motion } = this;
    const done = motion ? Math.min(1, (performance.now() - motion.start) / GLIDE) : 1;
    if (done < 1) {
      const between = (a, b) => a + (b - a) * done * (2 - done);
      const [y, x, facing] = picture.agent;
      picture.agent = [between(motion.agent[0], y), between(motion.agent[1], x), facing];
      picture.moved = new Map([...motion.moved].map(([cell, [thing, py, px]]) =>
        [cell, [thing, between(py, Math.floor(cell / picture.width)), between(px, cell % picture.width)]]));
      this.draw();
    } else this.motion = null;
    const state = this.view !== "observation", observation = ["both", "observation"].includes(this.view);
    get("state-figure").hidden = !state;
    get("observation-figure").hidden = !observation;
    const wide = room, captions = 64; // pixels, without the gap between boards
    const others = get(this.policy ? "agent" : "actions").getBoundingClientRect().bottom + window.scrollY - get("boards").offsetHeight;
    const tall = Math.max(window.innerHeight / 4, window.innerHeight - others - captions);
    const seen = this.observed, both = state && observation;
    const fits = (board, share) =>
      Math.min((wide * share) / board.width, tall / board.height) >= ASIDE_CELL;
    const isNarrow = wide <= 640; // there one scrolls
    const beside = both && (!isNarrow || (fits(picture, 0.58) && fits(seen, 0.38)));
    const least = (board) => isNarrow ? Math.min((wide * board.height) / board.width, window.innerHeight / 2) : 0;
    /** @returns {[number, number]} */
    const part = (share, board) => beside ? [wide * share, tall]
      : [wide, both ? Math.max(tall * share, (least(board) * share) / 0.58) : Math.max(tall, least(board))];
    if (state) drawBoard(get("state"), this.sprites, this.level, picture, ...part(0.58, picture));
    if (observation) drawBoard(get("observation"), this.sprites, this.level, seen, ...part(0.38, seen));
  }

  // ---- input ----

  onKey(event) {
    const target = event.target, key = nameKey(event);
    const command = this.keys?.get(key) ?? this.keys?.get(key.replace("Shift+", ""));
    const writes = target.tagName === "INPUT" ? target.type !== "checkbox" : ["TEXTAREA", "SELECT"].includes(target.tagName);
    if (writes) {
      if (event.code === "Escape" && target.id === "seed") target.value = String(this.game.seed);
      if (event.code === "Escape" || (event.code === "Enter" && target.id === "seed")) target.blur();
      return;
    }
    const presses = ["BUTTON", "SUMMARY"].includes(target.tagName) && ["Enter", "Space"].includes(event.code);
    if (!command || presses) return;
    if (key === "Ctrl+C" && String(getSelection())) return; // text is selected
    event.preventDefault();
    if (!event.repeat || command.repeats) this.command(command.name);
  }

  /** Steer by swipes, and use what is ahead by taps. */
  listenToTouch(area) {
    let start = null;
    area.onpointerdown = (event) => { start = [event.clientX, event.clientY]; };
    area.onpointerup = (event) => {
      if (!start) return;
      const dx = event.clientX - start[0], dy = event.clientY - start[1];
      start = null;
      if (Math.max(Math.abs(dx), Math.abs(dy)) < 20) {
        const use = USES.find((name) => this.level.actions.includes(name));
        if (use) this.act(use);
        return;
      }
      const way = Math.abs(dx) > Math.abs(dy) ? (dx > 0 ? RIGHT : LEFT) : dy > 0 ? BACKWARD : FORWARD;
      if (this.steers) this.steer(way);
      else this.act(["MOVE_FORWARD", "MOVE_BACKWARD", "TURN_LEFT", "TURN_RIGHT"][way]);
    };
  }

  pollGamepad() {
    const pads = navigator.getGamepads().filter(Boolean), now = performance.now();
    for (const pad of pads)
      pad.buttons.forEach((button, k) => {
        const id = `${pad.index} ${k}`, due = this.heldButtons.get(id);
        const command = this.keys?.get(`Pad ${PAD[k]}`);
        if (!button.pressed) this.heldButtons.delete(id);
        else if (command && (due === undefined || (command.repeats && now > due))) {
          this.heldButtons.set(id, now + REPEAT[due === undefined ? 0 : 1]);
          this.command(command.name);
        }
      });
    this.isPolling = pads.length > 0;
    if (this.isPolling) requestAnimationFrame(() => this.pollGamepad());
  }
}

/** Show an error that ends the play on the page. */
function showFailure(message) {
  get("failure").hidden = false;
  get("failure").textContent = message;
  Object.assign(window, { hasFailed: true });
}

window.addEventListener("error", (event) => showFailure(`The page has a fault: ${event.message}`));

/** Start the player; say why if the page cannot be played. */
async function main() {
  const element = get("data");
  try {
    if (sha256(new TextEncoder().encode(element.textContent)) !== element.dataset.sha256)
      throw new Error("This page is damaged: its checksum does not fit the rest.");
    const data = JSON.parse(element.textContent);
    const policy = data.policy && await Policy.load(data.policy);
    const player = new Player(data, await WebAssembly.compile(await unpack(data.wasm)), policy);
    if (!(await player.openAddress())) throw new Error(get("message").textContent);
    get("failure").hidden = true;
    Object.assign(window, { player });
  } catch (error) {
    showFailure(error.message);
    throw error;
  }
}

main();
