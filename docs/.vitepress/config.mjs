import { defineConfig } from 'vitepress';

// The site is made of the Markdown in this folder. A dead link fails the build.
export default defineConfig({
  title: 'fieldlock',
  description: 'Which of your changes a Kubernetes API server refuses, before you deploy',
  base: process.env.DOCS_BASE ?? '/',
  srcExclude: ['node_modules/**', 'playground/**'],
  cleanUrls: false,
  lastUpdated: false,
  metaChunk: true,
  vite: { logLevel: 'warn' },
  themeConfig: {
    search: { provider: 'local' },
    outline: 'deep',
    nav: [
      { text: 'You deploy', link: '/deploy' },
      { text: 'You write CRDs', link: '/crds' },
      { text: 'You write servers and operators', link: '/servers' },
      { text: 'Playground', link: '/playground/index.html', target: '_self' },
    ],
    sidebar: [
      { text: 'Where to start', items: [
        { text: 'You deploy', link: '/deploy' },
        { text: 'You write CRDs', link: '/crds' },
        { text: 'You write servers and operators', link: '/servers' },
      ] },
      { text: 'Look things up', items: [
        { text: 'Which fields are immutable?', link: '/fields' },
        { text: 'What a replacement costs', link: '/replacements' },
        { text: 'Annotations', link: '/annotations' },
        { text: 'Findings of lint', link: '/findings' },
        { text: 'Locks and CEL', link: '/cel' },
        { text: 'Parameters', link: '/parameters' },
        { text: 'Recipes', link: '/recipes' },
      ] },
      { text: 'How it works', items: [
        { text: 'Speed and soundness', link: '/speed' },
        { text: 'Design', link: '/design' },
      ] },
    ],
    socialLinks: [{ icon: 'github', link: 'https://github.com/fieldlock/fieldlock' }],
  },
});
