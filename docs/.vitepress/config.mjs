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
        { text: 'What was tried for speed', link: '/speed-tried' },
        { text: 'The proposals on parameters', link: '/parameters-proposals' },
      ] },
    ],
    socialLinks: [{ icon: 'github', link: 'https://github.com/fieldlock/fieldlock' }],
  },
});
