// Builds the site: `npm install --no-save && npm run build` in this folder, with Go on the PATH. The result is in .vitepress/dist, a
// folder of static files for any file server.
//
// DOCS_BASE is the path of the site on its server, and DOCS_HOST the server, for the sitemap.
//
//   node build.mjs              all of it
//   node build.mjs playground   the playground alone, into public/playground
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import esbuild from 'esbuild';

const here = import.meta.dirname;
const out = join(here, 'public', 'playground');
const maxTransfer = 10e6; // bytes: what the playground may cost a visitor

function run(command, args, env = {}) {
  return execFileSync(command, args, { cwd: here, env: { ...process.env, ...env }, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim();
}

async function playground() {
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  const wasm = join(out, 'fieldlock.wasm');
  // Without inlining, the code to transfer is a sixth smaller, and checks take the same time.
  run('go', ['build', '-trimpath', '-gcflags', 'all=-l', '-ldflags', '-s -w', '-o', wasm, '../cmd/fieldlock/internal/playground/wasm'], { GOOS: 'js', GOARCH: 'wasm' });
  const bytes = readFileSync(wasm);
  const packed = brotliCompressSync(bytes, { params: {
    [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
  } });
  writeFileSync(`${wasm}.br`, packed);
  rmSync(wasm);
  copyFileSync(join(run('go', ['env', 'GOROOT']), 'lib', 'wasm', 'wasm_exec.js'), join(out, 'wasm_exec.js'));
  const define = { PACKED_SIZE: String(packed.length), WASM_SIZE: String(bytes.length) };
  await esbuild.build({
    entryPoints: { app: join(here, 'playground/app.js') }, bundle: true, minify: true, format: 'esm', target: 'es2022', outdir: out, legalComments: 'linked',
  });
  await esbuild.build({
    entryPoints: { worker: join(here, 'playground/worker.js') }, bundle: true, minify: true, format: 'iife', target: 'es2022', outdir: out, define, legalComments: 'linked',
  });
  for (const file of ['index.html', 'app.css']) copyFileSync(join(here, 'playground', file), join(out, file));
  const total = ['fieldlock.wasm.br', 'app.js', 'worker.js', 'wasm_exec.js', 'index.html', 'app.css']
    .reduce((sum, file) => sum + readFileSync(join(out, file)).length, 0);
  console.log(`playground: ${(bytes.length / 1e6).toFixed(1)} MB of WebAssembly, ${(total / 1e6).toFixed(1)} MB to transfer`);
  if (total > maxTransfer) throw new Error(`the playground is larger than ${maxTransfer / 1e6} MB`);
}

await playground();
if (process.argv[2] !== 'playground') {
  for (const file of ['check-light.svg', 'check-dark.svg', 'favicon.svg']) copyFileSync(join(here, file), join(here, 'public', file));
  const { build } = await import('vitepress');
  await build(here);
}
