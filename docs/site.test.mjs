// Tests of the built site: its search, and its main pages in a real browser, for which CHROMIUM names the program.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import MiniSearch from 'minisearch';
import { launch, runAll, serve } from './browser.mjs';
import { indexOptions, searchOptions } from './search.mjs';
import { searches } from './searches.mjs';

const here = import.meta.dirname;
const dist = join(here, '.vitepress', 'dist');
const pages = ['index', 'deploy', 'ci', 'argo-cd', 'crds', 'servers', 'parameters', 'fields', 'fields/deployment', 'troubleshooting', 'playground/index'];

// index is the index that the search of the site loads.
async function index() {
  const chunks = join(dist, 'assets', 'chunks');
  const file = readdirSync(chunks).find((name) => name.startsWith('@localSearchIndexroot'));
  const { default: json } = await import(pathToFileURL(join(chunks, file)));
  return MiniSearch.loadJSON(json, { fields: ['title', 'titles', 'text'], storeFields: ['title', 'titles'], searchOptions, ...indexOptions });
}

const pageOf = (id) => id.replace(/^\//, '').replace(/\.html.*/, '');

const { address, close } = await serve(dist);
const browser = await launch();

async function open(path, options = {}) {
  const page = await (await browser.newContext(options)).newPage();
  await page.goto(`${address}${path}.html`);
  return page;
}

// broken returns the words in tables that a narrow column breaks.
function broken() {
  const found = [];
  for (const cell of document.querySelectorAll('table :is(td, th)')) {
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    for (let text = texts.nextNode(); text; text = texts.nextNode()) {
      for (const word of text.data.matchAll(/[\p{L}\p{N}_]+/gu)) {
        const range = document.createRange();
        range.setStart(text, word.index);
        range.setEnd(text, word.index + word[0].length);
        if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1) found.push(word[0]);
      }
    }
  }
  return found;
}

const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const cases = {
  async 'searches lead to the page that answers'() {
    const asked = await index();
    const wrong = [];
    for (const [words, wanted, answer] of searches) {
      const first = pageOf(asked.search(words)[0]?.id ?? '');
      if (!wanted.split(' ').includes(first)) wrong.push(`${words}: ${first} is first, not ${wanted}`);
      else if (!readFileSync(join(here, `${first}.md`), 'utf8').includes(answer)) wrong.push(`${words}: ${first} does not have ${answer}`);
    }
    assert.deepEqual(wrong, []);
    assert.ok(searches.length >= 25);
  },
  async 'each reader reaches an answer in two clicks from the home page'() {
    const readers = [
      ['Argo CD deployer', ['deploy', 'argo-cd'], 'revert the commit'],
      ['kubebuilder author', ['crds'], '// +immutable'],
      ['API server author', ['servers'], 'apiserver.NewUpdateStrategy'],
      ['platform team', ['deploy', 'ci'], 'fieldlock/fieldlock@v1'],
      ['KUDO author', ['parameters'], 'enablingParameter: MONITORING'],
    ];
    for (const [reader, clicks, answer] of readers) {
      const page = await open('index', { viewport: { width: 390, height: 844 } }); // a phone, without the sidebar
      for (const click of clicks) {
        await page.locator(`main a[href$="/${click}.html"], .VPContent a[href$="/${click}.html"]`).first().click();
        await page.waitForURL(`**/${click}.html`);
      }
      await page.locator('.vp-doc').filter({ hasText: answer }).waitFor({ timeout: 30_000 }).catch(() => assert.fail(`${reader}: no ${answer} on ${clicks.at(-1)}`));
      await page.context().close();
    }
  },
  async 'each page has a description, a favicon and a place in the sitemap'() {
    const sitemap = readFileSync(join(dist, 'sitemap.xml'), 'utf8');
    for (const path of readdirSync(dist, { recursive: true }).filter((name) => name.endsWith('.html') && !/404|playground/.test(name))) {
      const html = readFileSync(join(dist, path), 'utf8');
      assert.match(html, /<meta name="description" content="[^"]{10,}/, path);
      assert.match(html, /<link rel="icon" type="image\/svg\+xml" href="[^"]*favicon\.svg"/, path);
      if (path !== 'index.html') assert.ok(sitemap.includes(`/${path.replaceAll('\\', '/')}<`), `${path} is not in the sitemap`);
    }
    assert.ok(existsSync(join(dist, 'favicon.svg')));
  },
  async 'a kind page marks its place in the sidebar'() {
    for (const [path, name] of [['fields/deployment', 'Deployment'], ['fields/cluster.cluster.x-k8s.io', 'Cluster.cluster.x-k8s.io']]) {
      const page = await open(path, { viewport: { width: 1280, height: 800 } });
      await page.locator('.VPSidebarItem.is-active > .item', { hasText: name }).first().waitFor();
    }
  },
  async 'on a phone no table breaks a word, and no page is wider than the screen'() {
    const wrong = [];
    for (const path of pages) {
      const page = await open(path, { viewport: { width: 390, height: 844 } });
      for (const word of await page.evaluate(broken)) wrong.push(`${path}: ${word}`);
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      if (width > 390) wrong.push(`${path} is ${width} pixels wide`);
      await page.context().close();
    }
    assert.deepEqual(wrong, []);
  },
  async 'axe finds nothing, in light and dark'() {
    const wrong = [];
    for (const path of pages) {
      for (const colorScheme of ['light', 'dark']) {
        const page = await open(path, { colorScheme });
        if (path.startsWith('playground')) await page.locator('.verdict').waitFor({ timeout: 180_000 });
        await page.addScriptTag({ path: axe });
        const { violations } = await page.evaluate(() => window.axe.run());
        for (const { id, nodes } of violations) wrong.push(`${path} (${colorScheme}): ${id}, ${nodes.length} times: ${nodes[0].html.slice(0, 160)}`);
        await page.context().close();
      }
    }
    assert.deepEqual(wrong, []);
  },
};

const failed = await runAll(cases, process.argv[2]);
await browser.close();
close();
process.exit(failed ? 1 : 0);
