// The page: what is typed goes to the worker a moment later, and its answer into the panel and onto the lines.
import { decode, encode } from './address.js';
import { goTo, mark, newEditor, setText, textOf } from './editors.js';
import { examples } from './examples.js';
import * as panel from './panel.js';

const $ = (id) => document.getElementById(id);
const tabs = ['check', 'lint', 'locks', 'cel'];
const inputs = ['schema', 'old', 'new'];
const editors = Object.fromEntries(inputs.map((id) => [id, newEditor(id, changed)]));
let tab = 'check';
let ready = false;
let asked = 0;
let timer;

const worker = new Worker('worker.js');
worker.onmessage = ({ data }) => {
  if (data.progress !== undefined) show(panel.progress(data.progress));
  else if (data.failed) show(panel.sentence(`fieldlock could not be loaded: ${data.failed}`));
  else if (data.ready) begin(data.ready);
  else if (data.id === asked) answered(data.answer);
};

function begin({ minors, newest }) {
  ready = true;
  $('minor').replaceChildren(...minors.map((minor) => new Option(minor, minor, minor === newest, minor === newest)));
  if (wanted.minor && minors.includes(wanted.minor)) $('minor').value = wanted.minor;
  $('minor').disabled = false;
  show(panel.sentence('Checking …', 'quiet'));
  run();
}

function changed() {
  clearTimeout(timer);
  timer = setTimeout(run, 150);
}

function run() {
  if (!ready) return;
  const text = Object.fromEntries(inputs.map((id) => [id, textOf(editors[id])]));
  asked++;
  const args = tab === 'check' ? [text.schema, text.old, text.new, $('minor').value] : [text.schema, text.new, $('minor').value];
  worker.postMessage({ id: asked, verb: tab, args });
}

function answered({ error, ...answer }) {
  for (const id of inputs) mark(editors[id], []);
  if (error) return show(panel.sentence(error));
  if (tab === 'check') {
    const lines = [...answer.violations, ...answer.unknown.map((u) => ({ ...u, severity: 'warning' }))];
    mark(editors.new, lines.map(({ line, message, severity = 'error' }) => ({ line, message, severity })));
    for (const { file, line, message } of answer.errors ?? []) {
      if (editors[file]) mark(editors[file], [{ line, message, severity: 'error' }]);
    }
  }
  if (tab === 'lint') mark(editors.schema, answer.findings.map(({ line, message, severity }) => ({ line, message, severity: severity === 'note' ? 'info' : severity })));
  return show(panel[tab === 'check' ? 'verdict' : tab](answer, (line) => goTo(editors.new, line)));
}

function show(nodes) {
  $('panel').replaceChildren(...nodes.filter((node) => node !== ''));
}

function select(name) {
  tab = name;
  for (const each of tabs) {
    $(`tab-${each}`).setAttribute('aria-selected', String(each === name));
    $(`tab-${each}`).tabIndex = each === name ? 0 : -1;
  }
  $('panel').setAttribute('aria-labelledby', `tab-${name}`);
  run();
}

for (const [at, name] of tabs.entries()) {
  $(`tab-${name}`).addEventListener('click', () => select(name));
  $(`tab-${name}`).addEventListener('keydown', ({ key }) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
    if (!step) return;
    const next = tabs[(at + step + tabs.length) % tabs.length];
    select(next);
    $(`tab-${next}`).focus();
  });
}

function load(state) {
  for (const id of inputs) setText(editors[id], state[id] ?? '');
  $('crd').open = Boolean(state.schema);
  if (tabs.includes(state.tab)) select(state.tab);
}

$('examples').replaceChildren(new Option('Choose …', ''), ...examples.map(({ name }, at) => new Option(name, String(at))));
$('examples').addEventListener('change', ({ target }) => {
  if (target.value !== '') load({ tab: 'check', ...examples[Number(target.value)] });
});
$('minor').addEventListener('change', run);
$('share').addEventListener('click', async () => {
  const state = { tab, minor: $('minor').value, ...Object.fromEntries(inputs.map((id) => [id, textOf(editors[id])])) };
  window.history.replaceState(null, '', `#${await encode(state)}`);
  const copied = await navigator.clipboard.writeText(window.location.href).then(() => true, () => false);
  $('said').textContent = copied ? 'The address is copied.' : 'The address holds everything: copy it.';
});

let wanted = {};
show(panel.progress(0));
decode(window.location.hash).then((state) => {
  wanted = state ?? examples[0];
  load(wanted);
}, () => {
  load(examples[0]);
  $('said').textContent = 'The address is damaged; here is an example instead.';
});
