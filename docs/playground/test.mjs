// Opens the built playground in a real browser and uses it: `node build.mjs playground && node playground/test.mjs`.
// CHROMIUM names the browser; screenshots go to the folder in SHOTS.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { launch, runAll, serve } from '../browser.mjs';

const { address, close } = await serve(join(import.meta.dirname, '..', 'public', 'playground'));
const browser = await launch();

async function shot(page, name) {
  if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, `${name}.png`) });
}

// open returns a page with the playground loaded; it fails on any request to another host and on any error of the page.
async function open(hash = '', options = {}) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.on('pageerror', (err) => { throw err; });
  page.on('request', (request) => {
    const { protocol, origin } = new URL(request.url());
    if (protocol.startsWith('http') && `${origin}/` !== address) throw new Error(`asks another host: ${request.url()}`);
  });
  await page.goto(address + hash);
  await page.locator('#minor:not([disabled])').waitFor({ timeout: 120_000 });
  return page;
}

async function type(page, editor, text) {
  await page.locator(`#${editor} .cm-content`).click();
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.insertText(text);
}

// verdict waits for a headline with a mark.
const verdict = (page, mark) => page.locator('.verdict', { hasText: mark }).waitFor();

const deployment = (app) => `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  selector:
    matchLabels:
      app: ${app}
  template:
    metadata:
      labels:
        app: ${app}
    spec:
      containers:
      - name: web
        image: nginx
`;

const cases = {
  async 'the first example is refused, with its line marked'() {
    const page = await open();
    await verdict(page, '✗');
    assert.match(await page.locator('#panel').innerText(), /spec\.serviceName/);
    assert.ok(await page.locator('#new .cm-refused-line').count() >= 1);
    await shot(page, 'light');
  },
  async 'a change that is typed is judged'() {
    const page = await open();
    await type(page, 'old', deployment('web'));
    await type(page, 'new', deployment('web'));
    await verdict(page, '✓');
    assert.equal(await page.locator('.cm-refused-line').count(), 0);
    await type(page, 'new', deployment('shop'));
    await verdict(page, '✗');
    assert.match(await page.locator('#panel').innerText(), /spec\.selector[\s\S]*field is immutable/);
    assert.match(await page.locator('#new .cm-refused-line').first().innerText(), /selector|matchLabels|app/);
  },
  async 'the address holds everything'() {
    const page = await open();
    await type(page, 'old', deployment('web'));
    await type(page, 'new', deployment('shared'));
    await page.locator('#share').click();
    await page.waitForFunction(() => window.location.hash.length > 10);
    const again = await open(new URL(page.url()).hash);
    await verdict(again, '✗');
    assert.match(await again.locator('#new .cm-content').innerText(), /shared/);
  },
  async 'a link that is pasted into an open tab loads'() {
    const page = await open();
    await type(page, 'new', deployment('pasted'));
    await page.locator('#applier').selectOption('replace');
    await page.locator('#share').click();
    await page.waitForFunction(() => window.location.hash.length > 10);
    const { hash } = new URL(page.url());
    const other = await open();
    await verdict(other, '✗');
    await other.evaluate((to) => { window.location.hash = to; }, hash);
    await other.locator('#new .cm-content', { hasText: 'pasted' }).waitFor();
    assert.equal(await other.locator('#applier').inputValue(), 'replace');
  },
  async 'who applies can be chosen'() {
    const page = await open();
    await type(page, 'old', deployment('web'));
    await type(page, 'new', deployment('web').replace('spec:', 'spec:\n  strategy: {type: Recreate}'));
    await verdict(page, '?');
    await page.getByText('choose above who applies it').waitFor();
    await page.locator('#applier').selectOption('client-side');
    await verdict(page, '✓');
  },
  async 'the dark switch of the site counts'() {
    const page = await open('', { colorScheme: 'light' });
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await background();
    await page.evaluate(() => localStorage.setItem('vitepress-theme-appearance', 'dark'));
    await page.reload();
    assert.notEqual(await background(), light);
  },
  async 'wrong input shows a sentence'() {
    const page = await open();
    await type(page, 'new', 'a: [\n');
    await page.locator('#panel .refused').first().waitFor();
    assert.doesNotMatch(await page.locator('#panel').innerText(), /undefined|panic|goroutine/);
    const damaged = await open('#!!!');
    await damaged.locator('.verdict').waitFor();
  },
  async 'lint, locks and CEL of a CRD'() {
    const page = await open();
    await page.locator('#examples').selectOption({ label: 'A CRD with a CEL rule that can be got around' });
    await verdict(page, '✗');
    await page.locator('#tab-lint').click();
    await page.getByText('spec.engine').first().waitFor();
    await page.getByText('# create this').first().waitFor();
    await page.locator('button.goto').first().click();
    await page.locator('#crd[open] .cm-focused').waitFor();
    await shot(page, 'lint');
    await page.locator('#examples').selectOption({ label: 'A CRD with locks' });
    await page.locator('#tab-locks').click();
    await page.locator('.report', { hasText: 'region' }).waitFor();
    await page.locator('#tab-cel').click();
    await page.locator('pre[aria-label=CRD]', { hasText: 'self == oldSelf' }).waitFor();
  },
  async 'a built-in kind needs no CRD: its pane is folded, and the locks are those of the kind'() {
    const page = await open();
    assert.equal(await page.locator('#crd').getAttribute('open'), null);
    await type(page, 'new', deployment('web'));
    await page.locator('#tab-locks').click();
    await page.locator('.report', { hasText: 'selector' }).waitFor();
    assert.doesNotMatch(await page.locator('#panel').innerText(), /StatefulSet/);
    await page.locator('#examples').selectOption({ label: 'A CRD with locks' });
    await page.locator('#crd[open] .cm-content').waitFor();
    await shot(page, 'crd');
  },
  async 'without a mouse, in the dark, on a phone'() {
    const page = await open('', { colorScheme: 'dark', viewport: { width: 390, height: 844 } });
    await verdict(page, '✗');
    await page.locator('#tab-check').focus();
    await page.keyboard.press('ArrowRight');
    assert.equal(await page.locator('#tab-lint').getAttribute('aria-selected'), 'true');
    await page.keyboard.press('ArrowLeft');
    await verdict(page, '✗');
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 390, `the page is ${width} pixels wide`);
    await shot(page, 'dark-phone');
  },
};

const failed = await runAll(cases, process.argv[2]);
await browser.close();
close();
process.exit(failed ? 1 : 0);
