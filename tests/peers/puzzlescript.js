// Plays games in PuzzleScript's own engine: node puzzlescript.js CHECKOUT < task.json > results.json
//
// The task is {"games": [[source, inputs, number of the level], …] or null for the recorded ones,
// "uniform": [random numbers by number of the loaded level]}. The result has for each game a list
// with the objects of all cells at the start and after each input, and the number of the level.
"use strict";
const fs = require("fs"), path = require("path"), vm = require("vm");
const { createHash } = require("crypto");

const source = path.join(process.argv[2], "src");
const task = JSON.parse(fs.readFileSync(0, "utf8"));
const nothing = () => {};
Object.assign(globalThis, {
  window: globalThis, canvas: null, lastDownTarget: null, levelString: "", inputString: "",
  outputString: "", console_print_raw: nothing, editor: { getValue: () => "" },
  PuzzleScriptTestAssertions: { push: nothing, equal: nothing },
  UnitTestingThrow: (error) => { throw error; },
  document: {
    URL: "test://", getElementById: () => null,
    body: { classList: { contains: () => false }, addEventListener: nothing, removeEventListener: nothing },
    createElement: () => ({ style: {}, innerHTML: "", textContent: "", getContext: () => null }),
  },
});
Object.defineProperty(globalThis, "localStorage", { value: { getItem: () => null, setItem: nothing, removeItem: nothing } });
for (const name of ["canvasResize", "redraw", "forceRegenImages", "consolePrintFromRule", "consolePrint",
  "consoleError", "consoleCacheDump", "addToDebugTimeline", "killAudioButton", "showAudioButton",
  "regenSpriteImages", "jumpToLine", "printLevel", "playSound"]) globalThis[name] = nothing;
console.log = console.warn = console.error = nothing;

const files = ["storagewrapper", "bitvec", "level", "languageConstants", "globalVariables", "debug", "font", "rng",
  "riffwave", "sfxr", "codemirror/stringstream", "colorhelpers", "colors", "engine", "parser", "compiler", "soundbar"]
  .map((name) => path.join("js", `${name}.js`));
const code = [...files, "tests/resources/testdata.js"].map((name) => fs.readFileSync(path.join(source, name), "utf8"));
globalThis.uniform = task.uniform;
vm.runInThisContext(`${code.join("\n")}
let loaded = -1, drawn = 0;
RNG.prototype.uniform = () => uniform[loaded % uniform.length][drawn++ % uniform[0].length];
const load = loadLevelFromLevelDat;
loadLevelFromLevelDat = (state, data, ...rest) => {
  if (data && data.message === undefined) [loaded, drawn] = [loaded + 1, 0];
  return load(state, data, ...rest);
};
function readLevel() {
  const cells = [];
  for (let k = 0; k < level.n_tiles; k++) {
    const cell = level.getCell(k), numbers = [];
    for (let bit = 0; bit < state.objectCount; bit++) if (cell.get(bit)) numbers.push(bit);
    cells.push(numbers.join(" "));
  }
  return [level.height, level.width, ...cells].join(",");
}
function playGame(text, inputs, number) {
  [unitTesting, lazyFunctionGeneration, loaded, drawn] = [true, false, -1, 0];
  resetParserErrorState();
  compile(["loadLevel", number], text, "seed");
  const shown = [], settle = () => { while (againing) { againing = false; processInput(-1); } };
  settle();
  shown.push([readLevel(), curlevel]);
  for (const input of inputs) {
    if (input === "undo") DoUndo(false, true);
    else if (input === "restart") DoRestart();
    else processInput(input === "tick" ? -1 : input);
    settle();
    shown.push([readLevel(), curlevel]);
  }
  return shown;
}
globalThis.playGame = playGame;
globalThis.recorded = testdata.map(([, [text, inputs, , number]]) => [text, inputs, Number(number ?? 0)]);
`);
const hash = (text) => task.plain ? text : createHash("sha256").update(text).digest("hex").slice(0, 16);
const games = task.games ?? recorded;
const results = games.map((game) => {
  try {
    return { game, shown: playGame(...game).map(([text, number]) => [hash(text), number]) };
  } catch (error) {
    return { game, error: String(error) };
  }
});
fs.writeSync(1, JSON.stringify(results));
