// A policy of an exported level: a trained network, or random actions, equal to Python's.
// This file does not use the DOM: tests run it in Node.
"use strict";

/** CRC-32 of the word "policy", which tags the random numbers of policies: see
 * gv_engine.envs.backends.seeding. */
const POLICY = 0xf07d0516n;

/** Return one number for type, state and colour of a cell, which are bytes. */
const numberCell = (kind, state, color) => (kind * 256 + state) * 256 + color;

/** Return the nearest integer, and the even one of two that are as near, as NumPy's `rint`. */
function roundToEven(x) {
  const up = Math.round(x);
  return up - x === 0.5 && up % 2 !== 0 ? up - 1 : up;
}

/** Advance a PCG64 generator, and return a number from 0 to below 1 as NumPy's `random()`.
 * @param {bigint[]} generator state and increment, changed in place */
function drawNumber(generator) {
  const state = BigInt.asUintN(128, generator[0] * PCG_FACTOR + generator[1]);
  generator[0] = state;
  const mixed = (state >> 64n) ^ BigInt.asUintN(64, state), by = state >> 122n;
  const turned = BigInt.asUintN(64, (mixed >> by) | (mixed << (64n - by)));
  return Number(turned >> 11n) / 2 ** 53;
}

/** Return the sums of products of an array with each row of a matrix, plus a bias.
 * @param {Float64Array | number[]} values @param {Float32Array} matrix rows one after the other */
function multiply(matrix, bias, values) {
  const out = Float64Array.from(bias), size = values.length;
  for (let k = 0, at = 0; k < out.length; k++)
    for (let i = 0; i < size; i++) out[k] += matrix[at++] * values[i];
  return out;
}

/** Return the values shifted and scaled to mean 0 and deviation 1. @param {Float64Array} values */
function normalise(values) {
  const mean = values.reduce((a, b) => a + b, 0) / values.length, centered = values.map((x) => x - mean);
  const scale = Math.sqrt(centered.reduce((sum, x) => sum + x * x, 0) / values.length + 1e-5);
  return centered.map((x) => x / scale);
}

/** Return the positive part of a convolution of 3 x 3 cells, by channel, row and column.
 * @param {Float64Array} values by channel, row and column @param {Float32Array} kernels
 * @param {Float32Array} bias of each output channel */
function convolve(values, kernels, bias, height, width) {
  const size = height * width, inputs = values.length / size, out = new Float64Array(bias.length * size);
  for (let k = 0; k < out.length; k++) {
    const channel = Math.floor(k / size), y = Math.floor((k % size) / width), x = k % width;
    let sum = bias[channel];
    for (let i = 0; i < inputs; i++)
      for (let dy = -1; dy <= 1; dy++)
        for (let dx = -1; dx <= 1; dx++)
          if (y + dy >= 0 && y + dy < height && x + dx >= 0 && x + dx < width)
            sum += values[i * size + (y + dy) * width + x + dx] * kernels[(channel * inputs + i) * 9 + dy * 3 + dx + 4];
    out[k] = Math.max(sum, 0);
  }
  return out;
}

const keepPositive = (values) => values.map((x) => Math.max(x, 0));
const squash = (x) => 0.5 + 0.5 * Math.tanh(0.5 * x);

/** Actor of a trained network, as `gv_engine.envs.rollout.policy_file.NumpyNet`. */
class Network {
  /** @param {any} data as gv_engine.plugins.web.policies describes it
   * @param {Uint8Array} bytes weights, float32 one after the other */
  constructor(data, bytes) {
    this.data = data;
    let at = 0;
    this.weights = Object.fromEntries(data.weightSizes.map(([name, count]) => {
      const values = new Float32Array(bytes.buffer.slice(bytes.byteOffset + at, bytes.byteOffset + at + 4 * count));
      at += 4 * count;
      return [name, values];
    }));
    this.hidden = this.weights.first_bias.length;
    this.memorySize = this.hidden * (this.weights["lstm.weight_ih"] ? 2 : 1);
    const { embedding } = this.weights, { sizes, cellSlots } = data;
    const embedded = sizes[0] + sizes.slice(cellSlots).reduce((a, b) => a + b, 0);
    this.width = embedding ? embedding.length / embedded : 0;
    this.pictured = this.weights["picture.weight"] ? cellSlots - 1 : 0; // cells that convolutions read
    this.normalise = data.layerNorm ? normalise : (values) => values;
    this.activate = data.activation === "tanh" ? (values) => values.map(Math.tanh) : keepPositive;
    this.codes = new Map(data.cells.map((cell, code) => [numberCell(...cell), code]));
    this.firstRows = data.sizes.map((_, slot) => data.sizes.slice(0, slot).reduce((a, b) => a + b, 0));
    this.table = new Map(); // product of a code with its part of the first layer, by row
  }

  /** Return the contribution of one input (`slot`) with the value `code` to the first layer. */
  _row(slot, code) {
    const row = this.firstRows[slot] + code;
    let sums = this.table.get(row);
    if (!sums) {
      const { hidden, width, data, weights: { embedding, first, table } } = this, cells = data.cellSlots;
      if (table) return table.subarray(row * hidden, (row + 1) * hidden);
      // cells share their embeddings; those of the other slots follow
      const from = width * (slot < cells ? code : row - (cells - 1) * data.sizes[0]);
      this.table.set(row, (sums = new Float64Array(hidden)));
      for (let i = 0; i < width; i++)
        for (let k = 0, at = ((slot - this.pictured) * width + i) * hidden; k < hidden; k++)
          sums[k] += embedding[from + i] * first[at + k];
    }
    return sums;
  }

  /** Return the code of each input of an agent, counted from 0. */
  encode(world, agent) {
    const { data } = this, codes = [];
    const cells = [...world.outputOf("grid", agent), ...world.outputOf("item", agent)];
    for (let i = 0; i < cells.length; i += 3) {
      const code = this.codes.get(numberCell(cells[i], cells[i + 1], cells[i + 2]));
      if (code === undefined) {
        const words = world.words(cells.slice(i, i + 3));
        throw new RuleFailed(`The policy was trained on ${data.scenario} and has never seen ${words}`);
      }
      codes.push(code);
    }
    const mission = world.outputOf("mission", agent), state = world.outputOf("state", agent);
    data.mission.forEach((size, k) => codes.push(mission[k] % size));
    data.state.forEach(([low, high, size], k) => {
      const value = Number.isNaN(state[k]) ? 0 : state[k];
      const bin = low === null
        ? Math.sign(value) * Math.log1p(Math.abs(value)) * data.binsPerUnit + Math.floor(size / 2)
        : ((value - low) * (size - 1)) / (high - low);
      codes.push(Math.max(0, Math.min(roundToEven(bin), size - 1)));
    });
    if (data.sizes.length > codes.length) codes.push(agent);
    return codes;
  }

  /** Return how well each cell matches the mission, by attention head. */
  _match(codes) {
    const { data, width, weights: { queries, embedding } } = this, { cellSlots: cells, heads } = data;
    const query = new Float64Array(heads * width), mission = codes.slice(cells, cells + data.mission.length);
    let before = 0;
    mission.forEach((code, k) => {
      for (let i = 0; i < query.length; i++) query[i] += queries[(before + code) * query.length + i];
      before += data.mission[k];
    });
    return Array.from({ length: heads * cells }, (_, k) => {
      const head = Math.floor(k / cells), code = codes[k % cells];
      let score = 0;
      for (let i = 0; i < width; i++) score += query[head * width + i] * embedding[code * width + i];
      return Math.max(score, 0);
    });
  }

  /** Return the contribution of the view, read by convolutions, to the first layer. */
  _picture(codes) {
    const { width, pictured, data: { height }, weights: w } = this;
    let values = new Float64Array(width * pictured);
    for (let i = 0, at = 0; i < width; i++)
      for (let k = 0; k < pictured; k++) values[at++] = w.embedding[codes[k] * width + i];
    for (const name of ["convolution_1", "convolution_2"])
      values = convolve(values, w[`${name}.weight`], w[`${name}.bias`], height, pictured / height);
    return multiply(w["picture.weight"], w["picture.bias"], values);
  }

  /** Return the logits of the actions, and the new state of the recurrent layer. */
  forward(codes, memory) {
    const { weights: w, hidden } = this, sums = Float64Array.from(w.first_bias);
    codes.slice(this.pictured).forEach((code, k) => {
      const slot = k + this.pictured;
      const row = this._row(slot, code);
      for (let k = 0; k < hidden; k++) sums[k] += row[k];
    });
    if (w.queries) multiply(w["match.weight"], w["match.bias"], this._match(codes)).forEach((x, k) => (sums[k] += x));
    if (this.pictured) this._picture(codes).forEach((x, k) => (sums[k] += x));
    const second = multiply(w["second.weight"], w["second.bias"], this.activate(this.normalise(sums)));
    let features = this.activate(this.normalise(second));
    if (w["lstm.weight_ih"]) {
      const own = multiply(w["lstm.weight_ih"], w["lstm.bias_ih"], features), before = memory;
      const kept = multiply(w["lstm.weight_hh"], w["lstm.bias_hh"], before.slice(0, hidden));
      const [input, forget, fresh, output] = [0, 1, 2, 3].map((gate) => (k) => own[gate * hidden + k] + kept[gate * hidden + k]);
      memory = new Float64Array(2 * hidden);
      features = features.map((x, k) => {
        const cell = squash(forget(k)) * before[hidden + k] + squash(input(k)) * Math.tanh(fresh(k));
        memory[hidden + k] = cell;
        memory[k] = squash(output(k)) * Math.tanh(cell);
        return x + memory[k];
      });
    } else if (w["gru.weight_ih"]) {
      const own = multiply(w["gru.weight_ih"], w["gru.bias_ih"], features), before = memory;
      const kept = multiply(w["gru.weight_hh"], w["gru.bias_hh"], before);
      memory = before.map((old, k) => {
        const update = squash(own[hidden + k] + kept[hidden + k]), reset = squash(own[k] + kept[k]);
        const fresh = Math.tanh(own[2 * hidden + k] + reset * kept[2 * hidden + k]);
        return fresh + update * (old - fresh);
      });
      features = features.map((x, k) => x + memory[k]);
    }
    return [multiply(w["actor.weight"], w["actor.bias"], features), memory];
  }
}

/** Policy that acts for all agents of a world, as in a rollout whose seed is that of the game. */
class Policy {
  /** @param {Network | null} network null for random actions */
  constructor(data, network) {
    this.data = data;
    this.network = network;
  }

  /** Return the policy of a page. @param {any} data as gv_engine.plugins.web.policies describes it */
  static async load(data) {
    return new Policy(data, data.weightSizes ? new Network(data, await unpack(data.packedWeights)) : null);
  }

  /** Return the decision of the policy in the current state of a world: for each agent an action,
   * the probabilities of all actions, and the new memory (generator and state of the recurrent layer).
   * @param {any} before the decision in the state before, null at the beginning of an episode
   * @param {bigint} seed of the episode */
  decide(world, before, seed) {
    const agents = Array.from({ length: world.agents }, (_, agent) => {
      const mind = before?.minds[agent] ?? { generator: makeGenerator(seed, POLICY, BigInt(agent)), memory: null };
      return this._decide(world, agent, mind);
    });
    const part = (name) => agents.map((each) => each[name]);
    return { actions: part("action"), probabilities: part("probabilities"), minds: part("mind") };
  }

  _decide(world, agent, { generator: drawn, memory }) {
    const { network, data } = this, generator = [...drawn], mask = world.outputOf("mask", agent);
    const isFree = !data.masks || !mask.includes(1), allowed = mask.map((flag) => isFree || flag === 1);
    if (!network) {
      const count = allowed.filter(Boolean).length, rank = Math.floor(drawNumber(generator) * count);
      const action = allowed.flatMap((flag, k) => (flag ? [k] : []))[rank];
      return { action, probabilities: allowed.map((flag) => Number(flag) / count), mind: { generator, memory } };
    }
    const [logits, after] = network.forward(network.encode(world, agent), memory ?? new Float64Array(network.memorySize));
    const largest = logits.reduce((most, x, k) => (allowed[k] ? Math.max(most, x) : most), -Infinity);
    const parts = Array.from(logits, (x, k) => (allowed[k] ? Math.exp(x - largest) : 0));
    const total = parts.reduce((a, b) => a + b, 0), count = allowed.filter(Boolean).length;
    const best = parts.indexOf(1), { epsilon } = data; // of action values there is one best
    const probabilities = parts.map((x, k) => epsilon === null ? x / total
      : (Number(allowed[k]) * epsilon) / count + Number(k === best) * (1 - epsilon));
    let action = probabilities.indexOf(Math.max(...probabilities));
    if (!data.greedy) {
      const draw = drawNumber(generator);
      let sum = 0;
      const found = probabilities.findIndex((x) => (sum += x) > draw);
      action = found < 0 ? probabilities.findLastIndex((x) => x > 0) : found;
    }
    return { action, probabilities, mind: { generator, memory: after } };
  }
}
