// What the tests of the site and of the playground have in common: a file server, a browser, and a list of cases.
import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import { extname, join, normalize } from 'node:path';
import { chromium } from 'playwright-core';

const types = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' };

// serve serves the files of a folder.
export async function serve(root) {
  const server = createServer(async (request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, 'http://localhost').pathname));
    const file = path.endsWith('/') ? join(path, 'index.html') : path;
    try {
      const body = await readFile(join(root, file));
      response.writeHead(200, { 'content-type': types[extname(file)] ?? 'application/octet-stream' }).end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((listening) => { server.listen(0, '127.0.0.1', listening); });
  return { address: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() };
}

export const launch = () => chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});

// runAll runs the cases one after the other, those whose names have part in them, and returns how many fail.
export async function runAll(cases, part = '') {
  let failed = 0;
  for (const [name, run] of Object.entries(cases).filter(([name]) => name.includes(part))) {
    try {
      await run();
      console.log(`ok   ${name}`);
    } catch (err) {
      failed++;
      console.log(`FAIL ${name}\n${err.stack}`);
    }
  }
  return failed;
}
