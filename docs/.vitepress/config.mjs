import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitepress';
import { indexOptions, searchOptions } from '../search.mjs';

// The first page shows the beginning of the picture at its own size, which fades out where it does not fit. Commands and messages
// wrap, and so do paths in tables, between their names: on a phone they would be cut off.
const style = `
.VPHero .image { margin: 0; width: 100% }
.VPHero .image-container { width: 100%; height: 190px; margin: 0 0 24px; transform: none }
.VPHero .image-src { position: static; transform: none; width: 100%; height: 100%; max-width: none; max-height: none; border-radius: 8px;
  object-fit: none; object-position: left top; mask-image: linear-gradient(to right, #000 80%, transparent) }
@media (min-width: 960px) {
  .VPHero .image { width: auto }
  .VPHero .image-container { height: 488px; margin: 0 }
}
.vp-doc .language- pre code, .vp-doc .language-text pre code { display: block; width: auto; min-width: 0; white-space: pre-wrap; overflow-wrap: anywhere }
.vp-doc [class*='language-'] > span.lang { color: var(--vp-c-text-2) }
.VPButton.brand, .VPButton.brand:hover { background-color: #3451b2 !important; color: #fff !important }
.DocSearch-Button-Keys { display: none !important }
@media (max-width: 480px) { .vp-doc h1 { font-size: 24px; line-height: 32px } }
`;

// pathsWrap lets inline code break after the dots and slashes of a path, and nowhere else.
function pathsWrap(md) { // and is text to Vue, with the {{ }} of a go-template
  const inline = md.renderer.rules.code_inline;
  md.renderer.rules.code_inline = (...args) =>
    inline(...args).replace('<code', '<code v-pre').replace(/>([^<]*)</, (_, text) => `>${text.replace(/([./])(?=[\w[])/g, '$1<wbr>')}<`);
}

// emptyHeads makes cells of empty heads of tables, which a screen reader would announce as heads.
function emptyHeads(md) {
  md.core.ruler.push('empty-heads', ({ tokens }) => {
    for (const [at, { type }] of tokens.entries()) {
      if (type === 'th_open' && tokens[at + 1].content === '') tokens[at].tag = tokens[at + 2].tag = 'td';
    }
  });
}

// kindsOn lists the links to the pages of kinds below a heading of the page fields.md.
function kindsOn(heading) {
  const text = readFileSync(join(import.meta.dirname, '..', 'fields.md'), 'utf8');
  const section = text.split(/^## /m).find((part) => part.startsWith(heading));
  return [...section.matchAll(/^\| \[([^\]]+)\]\((fields\/[^)]+)\.md\)/gm)].map(([, name, page]) => ({ text: name, link: `/${page}` }));
}

const base = process.env.DOCS_BASE ?? '/';

const forContributors = ['design.md', 'speed.md']; // the search of the site is for users

// describe returns the first paragraph of a page without its markup, for search engines: at most 200 characters, cut between words.
function describe(file) {
  const text = readFileSync(join(import.meta.dirname, '..', file), 'utf8').replace(/^---\n[\s\S]*?\n---\n/, '');
  const paragraph = text.split('\n\n').find((part) => /^(?!```)[A-Za-z`*]/.test(part)) ?? '';
  const plain = paragraph.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/[`*]/g, '').replace(/\s+/g, ' ').trim();
  return plain.length <= 200 ? plain : `${plain.slice(0, 200).replace(/\s\S*$/, '')} …`;
}

const pages = [
  { text: 'Deploy', items: [
    { text: 'Check manifests before deploying', link: '/deploy' },
    { text: 'Required checks in CI', link: '/ci' },
    { text: 'Helm', link: '/helm' },
    { text: 'Argo CD', link: '/argo-cd' },
    { text: 'Flux', link: '/flux' },
    { text: 'kustomize', link: '/kustomize' },
    { text: 'Recipes', link: '/recipes' },
    { text: 'Error messages', link: '/troubleshooting' },
  ] },
  { text: 'Build APIs', items: [
    { text: 'Write immutable CRD fields', link: '/crds' },
    { text: 'Locks and CEL', link: '/cel' },
    { text: 'Embed in servers and webhooks', link: '/servers' },
    { text: 'Parameters', link: '/parameters' },
  ] },
  { text: 'Look things up', items: [
    { text: 'Which fields are immutable?', link: '/fields' },
    { text: 'What operators refuse', link: '/operators' },
    { text: 'What a replacement costs', link: '/replacements' },
    { text: 'Commands', link: '/commands' },
    { text: 'Settings', link: '/settings' },
    { text: 'Reports', link: '/reports' },
    { text: 'Annotations', link: '/annotations' },
    { text: 'Findings of lint', link: '/findings' },
    { text: 'Glossary', link: '/design#glossary' },
  ] },
  { text: 'For contributors', items: [
    { text: 'Design', link: '/design' },
    { text: 'Speed and soundness', link: '/speed' },
  ] },
];

// The pages of kinds have lists of them beside the other pages.
const kinds = [
  { text: 'Kinds of Kubernetes', items: kindsOn('Kubernetes') },
  { text: 'Kinds of operators', collapsed: true, link: '/fields#custom-resources-whose-operators-are-known', items: kindsOn('Custom resources') },
];

// The site is made of the Markdown in this folder. A dead link fails the build.
export default defineConfig({
  title: 'fieldlock',
  description: 'Which of your changes a Kubernetes API server refuses, before you deploy',
  base,
  sitemap: { hostname: (process.env.DOCS_HOST ?? 'https://fieldlock.dev') + base },
  srcExclude: ['node_modules/**', 'playground/**', 'design/**'],
  cleanUrls: false,
  lastUpdated: false,
  metaChunk: true,
  vite: { logLevel: 'warn' },
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    config(md) {
      pathsWrap(md);
      emptyHeads(md);
    },
  },
  transformHtml: (html) => html.replace('class="VPHome"', 'class="VPHome" role="main"'), // the theme has no main part there
  head: [['style', {}, style], ['link', { rel: 'icon', type: 'image/svg+xml', href: `${base}favicon.svg` }]],
  transformPageData(page) {
    if (page.relativePath.startsWith('fields/')) {
      page.frontmatter.prev = page.frontmatter.next = false;
      page.description ||= `${page.title} What may change, what the errors say, and how to make the change anyway.`;
    } else if (page.frontmatter.layout !== 'home') page.description ||= describe(page.filePath);
  },
  themeConfig: {
    search: { provider: 'local', options: { miniSearch: { options: indexOptions, searchOptions }, _render: (text, env, md) => (forContributors.includes(env.relativePath) ? '' : md.render(text, env)) } },
    outline: 'deep',
    nav: [
      { text: 'Deploy', link: '/deploy' },
      { text: 'Write CRDs', link: '/crds' },
      { text: 'Embed', link: '/servers' },
      { text: 'Playground', link: '/playground/index.html', target: '_self' },
    ],
    sidebar: { '/fields/': [...kinds, ...pages], '/': pages },
    socialLinks: [{ icon: 'github', link: 'https://github.com/fieldlock/fieldlock' }],
  },
});
