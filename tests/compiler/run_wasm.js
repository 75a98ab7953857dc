// Runs functions of a WebAssembly module; input and output are JSON: the module, the start of its
// memory, and for each call what is written before it, and what is read after it.
"use strict";
const { readFileSync } = require("node:fs");

const input = JSON.parse(readFileSync(0, "utf-8"));
const decode = (text) => new Uint8Array(Buffer.from(text, "base64"));
const image = decode(input.image), stack = input.start;
const memory = new WebAssembly.Memory({ initial: Math.ceil((stack + input.size) / 65536) });
const bytes = new Uint8Array(memory.buffer);
bytes.set(image, stack);
const env = {
  __linear_memory: memory,
  __stack_pointer: new WebAssembly.Global({ value: "i32", mutable: true }, stack),
  __indirect_function_table: new WebAssembly.Table({ element: "anyfunc", initial: 64 }),
};
const module_ = new WebAssembly.Module(decode(input.module));
for (const { name, kind } of WebAssembly.Module.imports(module_))
  if (kind === "function") env[name] = name === "fmod" ? (a, b) => a % b : Math[name];
const code = new WebAssembly.Instance(module_, { env }).exports;
const results = [];
for (const { name, args, writes, reads } of input.calls) {
  for (const [at, text] of writes) bytes.set(decode(text), at);
  code.gv_engine_start();
  let result;
  try {
    result = code[name](...args.map(BigInt));
  } catch (error) {
    result = String(error);
  }
  const read = reads.map(([at, size]) => Buffer.from(bytes.slice(at, at + size)).toString("base64"));
  results.push([typeof result === "bigint" ? Number(result) : result, ...read]);
}
process.stdout.write(JSON.stringify(results));
