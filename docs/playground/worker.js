// The worker loads fieldlock, compiled to WebAssembly, and runs it away from the page, so that typing never waits.
// Messages in: {id, verb, input}. Messages out: {progress: 0…1}, {ready}, {failed: text} and {id, answer}.
import { decompress } from 'brotli/decompress';

importScripts('wasm_exec.js');

// fetchWithProgress returns the bytes of url and reports how much of the expected size has arrived. A server that
// decodes .br files on the way sends more than that.
async function fetchWithProgress(url, size) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
  const chunks = [];
  let at = 0;
  for (const reader = response.body.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value);
    at += value.length;
    postMessage({ progress: Math.min(at / size, 1) });
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}

// unpack decompresses with the browser's own decoder where it has one for Brotli, else with the one in this file.
async function unpack(packed) {
  try {
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('brotli'));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  } catch {
    return decompress(packed, WASM_SIZE);
  }
}

async function start() {
  // A file server that knows .br may have decoded it already: then the bytes begin as WebAssembly does.
  let bytes = await fetchWithProgress('fieldlock.wasm.br', PACKED_SIZE);
  const isWasm = bytes[0] === 0 && bytes[1] === 0x61 && bytes[2] === 0x73 && bytes[3] === 0x6d;
  if (!isWasm) bytes = await unpack(bytes);
  const go = new Go();
  const { instance } = await WebAssembly.instantiate(bytes, go.importObject);
  go.run(instance);
  postMessage({ ready: JSON.parse(self.fieldlock.about()) });
}

const started = start().catch((err) => postMessage({ failed: String(err.message || err) }));

onmessage = async ({ data: { id, verb, input } }) => {
  await started;
  if (!self.fieldlock) return;
  postMessage({ id, answer: JSON.parse(self.fieldlock.run(verb, JSON.stringify(input))) });
};
