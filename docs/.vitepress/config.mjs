import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitepress';

// The first page shows the beginning of the picture at its own size, which fades out where it does not fit. Commands and messages
// wrap, as do paths in tables: on a phone they would be cut off.
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
@media (max-width: 480px) { .vp-doc h1 { font-size: 24px; line-height: 32px } }
.vp-doc td code { overflow-wrap: anywhere }
.vp-doc td:first-child:has(code) { min-width: 150px }
`;

const forContributors = ['design.md', 'speed.md']; // the search of the site is for users

// describe returns the first paragraph of a page without its markup, for search engines: at most 200 characters, cut between words.
function describe(file) {
  const text = readFileSync(join(import.meta.dirname, '..', file), 'utf8').replace(/^---\n[\s\S]*?\n---\n/, '');
  const paragraph = text.split('\n\n').find((part) => /^(?!```)[A-Za-z`*]/.test(part)) ?? '';
  const plain = paragraph.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/[`*]/g, '').replace(/\s+/g, ' ').trim();
  return plain.length <= 200 ? plain : `${plain.slice(0, 200).replace(/\s\S*$/, '')} …`;
}

// The site is made of the Markdown in this folder. A dead link fails the build.
export default defineConfig({
  title: 'fieldlock',
  description: 'Which of your changes a Kubernetes API server refuses, before you deploy',
  base: process.env.DOCS_BASE ?? '/',
  srcExclude: ['node_modules/**', 'playground/**', 'design/**'],
  cleanUrls: false,
  lastUpdated: false,
  metaChunk: true,
  vite: { logLevel: 'warn' },
  head: [['style', {}, style]],
  transformPageData(page) { // the sidebar does not have the pages of kinds, so nothing comes before or after them
    if (page.relativePath.startsWith('fields/')) {
      page.frontmatter.prev = page.frontmatter.next = false;
      page.description ||= `${page.title} What may change, what the errors say, and how to make the change anyway.`;
    } else if (page.frontmatter.layout !== 'home') page.description ||= describe(page.filePath);
  },
  themeConfig: {
    search: { provider: 'local', options: { _render: (text, env, md) => (forContributors.includes(env.relativePath) ? '' : md.render(text, env)) } },
    outline: 'deep',
    nav: [
      { text: 'Deploy', link: '/deploy' },
      { text: 'Write CRDs', link: '/crds' },
      { text: 'Embed', link: '/servers' },
      { text: 'Playground', link: '/playground/index.html', target: '_self' },
    ],
    sidebar: [
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
    ],
    socialLinks: [{ icon: 'github', link: 'https://github.com/fieldlock/fieldlock' }],
  },
});
