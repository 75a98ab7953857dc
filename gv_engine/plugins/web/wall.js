// Many worlds of a level at once, in all of which a policy acts.
"use strict";

const NUM_WORLDS = 256;
const EDGE = 2; // pixels around each board
const FRAME = 8; // milliseconds of each picture's time that steps may take

/** Boards of worlds with consecutive seeds. A world whose episode is over gets a new seed. */
class Wall {
  won = 0;
  lost = 0;
  steps = 0;
  due = 0;
  next = 0; // world whose step is due
  chosen = 0;
  across = 1; // boards in a row
  cell = 1; // pixels, and of a whole board:
  wide = 1;
  tall = 1;

  /** @param {any} world that plays all of them in turn
   * @param {bigint} seed of the first world */
  constructor(world, policy, seed, canvas, sprites) {
    this.world = world;
    this.policy = policy;
    this.canvas = canvas;
    this.sprites = sprites;
    this.boards = Array.from({ length: NUM_WORLDS }, (_, k) => this._begin(seed + BigInt(k)));
  }

  /** Return a board at the beginning of the episode of a seed. */
  _begin(seed) {
    const { world } = this;
    world.reset(seed);
    const { height, width } = world.cells(-1), decision = this.policy.decide(world, null, seed);
    return { seed, height, width, decision, actions: [], row: world.snapshot(), outcome: "", drawn: [] };
  }

  /** Take the next step of a world, and draw it. */
  step(k) {
    const { world } = this, board = this.boards[k];
    if (board.outcome) this.boards[k] = this._begin(board.seed + BigInt(NUM_WORLDS));
    else {
      const { actions } = board.decision;
      world.load(board.row);
      world.step(actions);
      this.steps++;
      board.actions.push(actions);
      board.row = world.snapshot();
      if (world.isOver) {
        const hasWon = world.column("success").slice(1).includes(1);
        board.outcome = hasWon ? "gain" : "loss";
        this[hasWon ? "won" : "lost"]++;
      } else board.decision = this.policy.decide(world, board.decision, board.seed);
    }
    this.draw(k);
  }

  /** Take a step of all worlds. */
  stepAll() {
    this.boards.forEach((_, k) => this.step(k));
  }

  /** Take the steps that are due, as many as fit into the time of one animation frame.
   * @param {number} count steps of each world, a fraction of one */
  advance(count) {
    const end = performance.now() + FRAME;
    this.due += count * NUM_WORLDS;
    for (; this.due >= 1 && performance.now() < end; this.due--) {
      this.step(this.next);
      this.next = (this.next + 1) % NUM_WORLDS;
    }
    this.due = Math.min(this.due, NUM_WORLDS);
  }

  /** Make the boards as large as fits, and draw all.
   * @param {number} wide room in CSS pixels @param {number} tall */
  arrange(wide, tall) {
    const { canvas, boards } = this, scale = window.devicePixelRatio || 1;
    const rows = Math.max(...boards.map((board) => board.height));
    const columns = Math.max(...boards.map((board) => board.width));
    const sizes = Array.from({ length: NUM_WORLDS }, (_, k) => {
      const down = Math.ceil(NUM_WORLDS / (k + 1));
      return Math.min((wide * scale) / (k + 1) / columns, (tall * scale) / down / rows);
    });
    const best = sizes.indexOf(Math.max(...sizes));
    this.across = best + 1;
    this.cell = Math.max(1, Math.floor(sizes[best] - (2 * EDGE) / Math.min(rows, columns)));
    [this.wide, this.tall] = [columns * this.cell + 2 * EDGE, rows * this.cell + 2 * EDGE];
    canvas.width = this.across * this.wide;
    canvas.height = Math.ceil(NUM_WORLDS / this.across) * this.tall;
    canvas.style.width = `${canvas.width / scale}px`;
    this.redraw();
  }

  /** Draw all boards again, including cells that have not changed. */
  redraw() {
    const style = getComputedStyle(document.body), names = ["accent", "background", "gain", "loss"];
    this.colors = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`)]));
    for (const [k, board] of this.boards.entries()) {
      board.drawn = [];
      this.draw(k);
    }
  }

  /** Draw what has changed on a board. */
  draw(k) {
    const { world, cell, sprites } = this, board = this.boards[k], context = this.canvas.getContext("2d");
    const [x0, y0] = this._corner(k);
    world.load(board.row);
    const { height, width, top, below } = world.cells(-1), { types, agents } = world.level, nothing = [FLOOR, 0, 0];
    const poses = new Map(agents.map((_, agent) => [world.pose(agent), agent]).slice(0, world.present)
      .map(([[y, x, facing], agent]) => [y * width + x, [agents.length > 1 ? "own_agent" : "agent", agent, facing]]));
    for (let at = 0; at < height * width; at++) {
      const ground = below?.[at] ?? nothing, pose = poses.get(at);
      const joins = sprites.joins(types, top, height, width, Math.floor(at / width), at % width);
      const key = `${ground} ${top[at]} ${pose} ${joins}`;
      if (board.drawn[at] === key) continue;
      board.drawn[at] = key;
      const x = x0 + (at % width) * cell, y = y0 + Math.floor(at / width) * cell;
      sprites.drawCell(context, types, ground, top[at], x, y, cell, true, joins);
      if (pose) sprites.draw(context, pose[0], world.colorOf(pose[1]), x, y, cell, pose[2]);
    }
    this._frame(k, board.outcome || "background");
    this._frame(this.chosen, "accent");
  }

  /** Return the place of a board in the canvas. */
  _corner(k) {
    return [(k % this.across) * this.wide + EDGE, Math.floor(k / this.across) * this.tall + EDGE];
  }

  /** Draw the edge around a board in a colour of the theme. */
  _frame(k, color) {
    const context = this.canvas.getContext("2d"), [x, y] = this._corner(k);
    context.strokeStyle = this.colors[color];
    context.lineWidth = EDGE;
    context.strokeRect(x - EDGE / 2, y - EDGE / 2, this.wide - EDGE, this.tall - EDGE);
  }

  /** Choose another world, by its number. */
  choose(k) {
    const before = this.chosen;
    this.chosen = (k + 2 * NUM_WORLDS) % NUM_WORLDS;
    this.draw(before);
    this.draw(this.chosen);
  }

  /** Return the number of the world at a point of the page. */
  at(clientX, clientY) {
    const { left, top, width } = this.canvas.getBoundingClientRect(), scale = this.canvas.width / width;
    const x = Math.floor(((clientX - left) * scale) / this.wide), y = Math.floor(((clientY - top) * scale) / this.tall);
    return Math.max(0, Math.min(y * this.across + Math.min(x, this.across - 1), NUM_WORLDS - 1));
  }

  /** Return a text with the number of steps, and of worlds won and lost. */
  describe() {
    const over = this.won + this.lost, share = over ? `, ${Math.round((100 * this.won) / over)} %` : "";
    return `${NUM_WORLDS} worlds, ${this.steps} steps: ${this.won} won, ${this.lost} lost${share}`;
  }
}
